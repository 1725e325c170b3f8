"""A trace printed as Python or as C.

May import ``kernels.graph``.
"""
