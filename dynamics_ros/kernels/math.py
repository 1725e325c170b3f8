# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mathematical functions of numbers, arrays and traced values, for use with ``compile``.

On numbers each function equals NumPy's function of the same meaning, so that code written with them
also runs on arrays. NumPy's own functions (``np.sin``, ``np.maximum``, ``np.where``) accept the
inputs of a traced function and values computed from them; the functions here also accept plain
lists and arrays that mix traced values and numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.operations import ELEMENTARY
from dynamics_ros.kernels.graph.symbols import apply, is_symbolic, norm, symbols, where

__all__ = sorted([*(row.name for row in ELEMENTARY), 'array', 'atan', 'inv', 'maximum', 'minimum'])
__all__ += ['norm', 'sign', 'solve', 'where']


LARGEST = 12
"""Most rows of a traced matrix that ``solve`` takes: 12 rows take 6,000 operations."""


def _elementwise(ufunc: Any, meaning: str) -> Callable[..., Any]:
    """Return a function that broadcasts as NumPy's does, also over traced values."""

    def function(*values: Any) -> Any:
        if any(map(is_symbolic, values)):
            return apply(ufunc, '__call__', values, {})
        return ufunc(*values)

    function.__doc__ = meaning
    return function


for _row in ELEMENTARY:
    globals()[_row.name] = _elementwise(_row.ufunc, _row.meaning)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...


def __dir__() -> list[str]:
    return sorted(__all__)


atan = _elementwise(np.arctan, 'Arc tangent in rad.')
sign = _elementwise(np.sign, '1 above zero, -1 below, 0 at zero.')
minimum = _elementwise(np.minimum, 'The smaller of two values.')
maximum = _elementwise(np.maximum, 'The larger of two values.')


def solve(A: Any, b: Any) -> Any:
    """Return the solution x of A x = b, by elimination with partial pivoting ([GolubVanLoan] 3.4).

    Args:
        A: (n, n), regular; with traced values n is at most ``LARGEST``.
        b: (n), or (n, m) for several right sides.

    Raises:
        InvalidArgumentError: traced arrays of other shapes.
        numpy.linalg.LinAlgError: A is singular, if that is known when the function is traced.
    """
    if not (is_symbolic(A) or is_symbolic(b)):
        return np.linalg.solve(A, b)
    matrix, right = np.array(A, dtype=object), np.array(b, dtype=object)
    n = len(matrix)
    if matrix.shape != (n, n) or n > LARGEST:
        expected = f'(n, n) with n of at most {LARGEST}'
        raise InvalidArgumentError('A', f'shape {matrix.shape}', expected)
    if right.ndim not in (1, 2) or len(right) != n:
        raise InvalidArgumentError('b', f'shape {right.shape}', f'({n}), or ({n}, m)')
    rows = [symbols(row) for row in np.hstack([matrix, right.reshape(n, -1)])]
    for k in range(n):
        for i in range(k + 1, n):
            larger = abs(rows[i][k]) > abs(rows[k][k])
            rows[k], rows[i] = where(larger, rows[i], rows[k]), where(larger, rows[k], rows[i])
        if not is_symbolic(rows[k][k]) and rows[k][k] == 0.0:
            raise np.linalg.LinAlgError('Singular matrix')
        rows[k] = rows[k] / rows[k][k]
        for i in range(n):
            if i != k:
                rows[i] = rows[i] - rows[i][k] * rows[k]
    return symbols(np.array([row[n:] for row in rows], dtype=object).reshape(right.shape))


def inv(A: Any) -> Any:
    """Return the inverse of a regular matrix (n, n); see ``solve``."""
    return solve(A, np.eye(len(A))) if is_symbolic(A) else np.linalg.inv(A)


def array(values: Any) -> Any:
    """Return an array of numbers and traced values that NumPy's functions accept."""
    return symbols(values) if is_symbolic(values) else np.asarray(values, dtype=np.float64)
