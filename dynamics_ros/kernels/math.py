# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of a user as kernels, and mathematical functions of numbers, arrays and traced values.

On numbers each mathematical function equals NumPy's function of the same meaning, so that code
written with them also runs on arrays. NumPy's own functions (``np.sin``, ``np.maximum``,
``np.where``) accept the inputs of a traced function and values computed from them; the functions
here also accept plain lists and arrays that mix traced values and numbers.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.operations import ELEMENTARY
from dynamics_ros.kernels.graph.symbols import apply, is_symbolic, norm, symbols, where
from dynamics_ros.kernels.graph.trace import Shape, trace
from dynamics_ros.kernels.kernel import Kernel

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


def compile(
    function: Callable[..., Any],
    inputs: Mapping[str, int | Shape],
    name: str = '',
    *,
    backend: str = 'auto',
    wait: bool | None = None,
) -> Kernel:
    """Trace and compile a function of arrays.

    The function is called once, with arrays of symbols. It may use operators, indexing, ``@``,
    sums, NumPy's elementwise functions, those of ``dynamics_ros.kernels.math``, and the methods of
    a robot that have a kernel. It cannot branch on a symbol (use ``where``). Values that it reads
    from outside its arguments become constants.

    Args:
        function: takes one argument per input, in order: a scalar for the shape (), else an array.
            Returns a scalar, an array or nested lists, or a dict of these by output name.
        inputs: shape of each input by name; an int n is the shape (n,).
        name: a Python identifier, for errors and printed code; '' takes the function's own name.
        backend, wait: as for ``Kernel``.

    Returns:
        A function of float64 arrays that broadcasts over leading axes. Its ``derivative`` returns
        another such function; ``c_source(kernel.trace)`` prints it as C.

    Raises:
        TypeError: the function branches on a traced value, or calls code that does not accept one;
            the error names its line.
        InvalidArgumentError: a name or shape cannot be printed, or the results are ragged or not
            numbers.
        TooLargeError: the function takes more operations than a trace may have.
    """
    if not callable(function):
        raise InvalidArgumentError('function', f'a {type(function).__name__}', 'a function')
    own = getattr(function, '__name__', '')
    label = name or (own if own.isidentifier() else 'function')
    shapes = list(inputs.values()) if isinstance(inputs, Mapping) else []

    def of_symbols(*values: Any) -> Any:
        result = function(*map(_array, values, shapes))
        if isinstance(result, Mapping) and not result:
            raise InvalidArgumentError('outputs', 'none', 'at least one')
        for key in result if isinstance(result, Mapping) else ():
            if not (isinstance(key, str) and key.isidentifier()):
                raise InvalidArgumentError('outputs', f'{key!r} given', 'Python identifiers')
        return result

    try:
        traced = trace(of_symbols, inputs, label)
    except (TypeError, ValueError) as error:
        raise TypeError(_with_line(error)) from error
    return Kernel(traced, backend, wait)


def _with_line(error: TypeError | ValueError) -> str:
    """Return the message of an error with its line; other ValueErrors than of linalg are raised."""
    message, lines = str(error), traceback.extract_tb(error.__traceback__)
    names = (
        f'{found[1]}.linalg.{frame.f_code.co_name}'
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if (found := re.search(r'(numpy|scipy).linalg.[^/]*$', frame.f_code.co_filename))
        and any(map(is_symbolic, frame.f_locals.values()))
    )
    if name := next(names, ''):
        # A few are computed by operators, so that a shape may be the reason.
        message = (
            f'{name} takes no traced values of this kind ({message}); norm, solve, inv of '
            'dynamics_ros.kernels.math do'
        )
    elif isinstance(error, ValueError):
        raise error
    elif 'has no callable' in message:
        message = (
            'an array that mixes traced values and numbers: functions of NumPy take it if it is '
            'made by dynamics_ros.kernels.math.array'
        )
    elif 'Expression' in message:  # an operator or a method that a traced value does not have
        message = f'a traced value has no number yet: {message} (see docs/kernels.md)'
    libraries = (str(Path(__file__).parents[1]), str(Path(np.__file__).parents[1]))
    # Compiled modules name files that are not there.
    own = [x for x in lines if x.line and not x.filename.startswith(libraries)]
    if not own:
        return message
    last = own[-1]
    return f'{message} (line {last.lineno} of {Path(last.filename).name}: {last.line})'


def _array(values: Any, shape: int | Shape) -> Any:
    """Return an input as an array of the given shape, also if it has no elements."""
    array = symbols(values)
    return array.reshape(shape) if isinstance(array, np.ndarray) else array
