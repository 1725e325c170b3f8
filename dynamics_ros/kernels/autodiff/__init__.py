"""Derivatives of expressions and of traces, by sweeps over the graph.

May import ``kernels.graph``.
"""
