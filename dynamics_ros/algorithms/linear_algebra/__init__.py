"""Factorizations, matrices and eigenvalues as straight lines over any scalar.

May import ``spatial`` and ``errors``.
"""
