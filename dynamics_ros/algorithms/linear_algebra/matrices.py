"""Products of matrices that are lists of rows of any scalars, or arrays of numbers.

Small matrices of symbols become straight lines of code. Large ones of numbers go to NumPy: the same
formula, without a trace that grows with the cube of their size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import where_less

Matrix = Any
"""Rows of scalars, or a NumPy array of two axes."""


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    if isinstance(A, np.ndarray):
        return A @ B
    of_B = transposed(B)
    return [[dot(row, column) for column in of_B] for row in A]


def transposed(A: Matrix) -> Matrix:
    """A^T."""
    return A.T if isinstance(A, np.ndarray) else [list(column) for column in zip(*A, strict=True)]


def scaled_columns(A: Matrix, factors: Any) -> Matrix:
    """A diag(factors)."""
    if isinstance(A, np.ndarray):
        return A * factors
    return [[x * f for x, f in zip(row, factors, strict=True)] for row in A]


def beside(*matrices: Matrix) -> Matrix:
    """Matrices of as many rows, side by side."""
    if isinstance(matrices[0], np.ndarray):
        return np.hstack(matrices)
    return [[x for row in rows for x in row] for rows in zip(*matrices, strict=True)]


def columns(A: Matrix, chosen: slice) -> Matrix:
    """Some columns."""
    return A[:, chosen] if isinstance(A, np.ndarray) else [row[chosen] for row in A]


def squared_lengths(A: Matrix) -> Any:
    """Of each row."""
    if isinstance(A, np.ndarray):
        return np.square(A).sum(axis=1)
    return [dot(row, row) for row in A]


def times_transposed(A: Matrix) -> Matrix:
    """A A^T, each of its entries computed once."""
    if isinstance(A, np.ndarray):
        return A @ A.T
    n = len(A)
    return [[dot(A[max(i, j)], A[min(i, j)]) for j in range(n)] for i in range(n)]


def each(function: Callable[..., Scalar], *vectors: Any) -> Any:
    """A function of scalars entry by entry, on arrays all at once."""
    if isinstance(vectors[0], np.ndarray):
        return function(*vectors)
    return [function(*entries) for entries in zip(*vectors, strict=True)]


def descending(values: Any) -> Any:
    """Sorted, by a network of exchanges where they are symbols."""
    if isinstance(values, np.ndarray):
        return np.sort(values)[::-1]
    result = list(values)
    for last in reversed(range(1, len(result))):
        for i in range(last):
            a, b = result[i], result[i + 1]
            result[i], result[i + 1] = where_less(a, b, b, a), where_less(a, b, a, b)
    return result


def like(A: Sequence[Sequence[Scalar]], other: Matrix) -> Matrix:
    """Rows of scalars as what another matrix is."""
    return np.array(A) if isinstance(other, np.ndarray) else A


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Sum of the products."""
    result: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        result = result + x * y
    return result
