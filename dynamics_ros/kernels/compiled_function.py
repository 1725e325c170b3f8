# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of a user's function of NumPy arrays."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.symbols import symbols
from dynamics_ros.kernels.graph.trace import Shape
from dynamics_ros.kernels.graph.tracing import trace
from dynamics_ros.kernels.kernel import Kernel


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
    except TypeError as error:
        raise TypeError(_with_line(error)) from error
    return Kernel(traced, backend, wait)


def _with_line(error: TypeError) -> str:
    """Return the message of an error with the line of the user's function that has raised it."""
    message = str(error)
    if 'has no callable' in message:
        message = (
            'an array that mixes traced values and numbers: functions of NumPy take it if it is '
            'made by dynamics_ros.kernels.math.array'
        )
    libraries = (str(Path(__file__).parents[1]), str(Path(np.__file__).parent))
    lines = traceback.extract_tb(error.__traceback__)
    own = [x for x in lines if not x.filename.startswith(libraries)]
    if not own:
        return message
    last = own[-1]
    return f'{message} (line {last.lineno} of {Path(last.filename).name}: {last.line})'


def _array(values: Any, shape: int | Shape) -> Any:
    """Return an input as an array of the given shape, also if it has no elements."""
    array = symbols(values)
    return array.reshape(shape) if isinstance(array, np.ndarray) else array
