"""What a node says about itself: its log, result codes, faults, counts and rates.

Imports ``wire``.
"""
