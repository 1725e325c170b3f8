"""A trace as text: Python, which can be called, or C.

May import ``kernels.graph``.
"""
