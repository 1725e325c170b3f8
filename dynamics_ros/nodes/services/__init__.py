"""Requests to a node: the state that they are about, their answers and refusals.

Imports ``robot``.
"""
