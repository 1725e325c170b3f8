"""Parameters as frozen dataclasses, one file a node, and how they are declared and checked.

Imports ``wire``.
"""
