# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls of a kernel's machine code through ctypes, for interpreters without an entry point.

Arrays are copied into buffers with known addresses, which takes a fraction of the time of asking
NumPy for an address; results are copied out of the buffers. As in an entry point, arguments that do
not match exactly what the kernel takes are handed unchanged to a slow path.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from dynamics_ros.kernels.cpython.arguments import FLOAT64, Array, address
from dynamics_ros.kernels.graph.trace import Trace, Variable


def direct_call(
    code: int, trace: Trace, slow_path: Callable[..., Any], bound: Array | None
) -> Callable[..., Any]:
    """Return a Python function that calls the machine code of a trace.

    Args:
        code: address of ``batch`` (see ``LlvmBackend.code``), which must outlive the function.
        slow_path: called with arguments that do not match.
        bound: value of the trace's bound input; None if it has none.
    """
    variables, taken = [*trace.arguments, *trace.outputs], len(trace.arguments)
    fixed = [] if bound is None else [address(bound)]
    strides = (ctypes.c_int64 * (len(trace.inputs) + len(trace.outputs)))()

    # Arguments are converted to ctypes beforehand, which would take half of a call.
    def buffers() -> tuple[Any, ...]:
        arrays = [np.empty(x.shape) for x in variables]
        places = [address(x) for x in arrays]
        places[taken:taken] = fixed
        pointers = (ctypes.c_void_p * len(places))(*places)
        return (*arrays, ctypes.byref(pointers))

    namespace = {
        'array_type': np.ndarray,
        'float64': FLOAT64,
        'numbers': (float, np.float64),
        'run': ctypes.PYFUNCTYPE(ctypes.c_int64)(code),
        'one': ctypes.c_int64.from_param(1),
        'strides': ctypes.byref(strides),
        'array': np.array,
        'missing': object(),
        # Pool of buffers: each call takes one and returns it, so that no two threads share one.
        'free': [buffers()],
        'buffers': buffers,
        'slow_path': slow_path,
        'bound': bound,
    }
    exec(compile(_source(trace), f'<call of {trace.name}>', 'exec'), namespace)
    function: Callable[..., Any] = namespace['call']  # type: ignore[assignment]
    function.__name__ = function.__qualname__ = trace.name
    function.__doc__ = trace.description
    return function


def _source(trace: Trace) -> str:
    inputs = [f'x{i}' for i in range(len(trace.arguments))]
    outputs = [f'y{i}' for i in range(len(trace.outputs))]
    parameters = [*(f'{name}=missing' for name in inputs), *(['/'] if inputs else [])]
    taken = [_taken(name, variable) for name, variable in zip(inputs, trace.arguments)]
    results = [
        f'array({name})' if variable.shape else f'{name}[()]'
        for name, variable in zip(outputs, trace.outputs)
    ]
    held = ', '.join([*(f'into_{name}' for name in inputs), *outputs, 'pointers'])
    lines = [
        f'def call({", ".join([*parameters, "*more", "**named"])}):',
        f'    if {" and ".join(["not more", "not named", *taken])}:',
        '        try:',
        '            held = free.pop()',
        '        except IndexError:',
        '            held = buffers()',
        f'        {held}, = held' if held == 'pointers' else f'        {held} = held',
        *(f'        into_{name}[...] = {name}' for name in inputs),
        '        good = run(one, pointers, strides) == 1',
        f'        answer = {results[0] if len(results) == 1 else ", ".join(results) or "()"}',
        '        free.append(held)',
        '        if good:',
        '            return answer',
        f'    given = [x for x in [{", ".join(inputs)}] if x is not missing]',
        '    return slow_path(*given, *more, **named)',
    ]
    return '\n'.join(lines)


def _taken(name: str, variable: Variable) -> str:
    if not variable.shape:
        return f'type({name}) in numbers'
    return (
        f'type({name}) is array_type and {name}.dtype is float64 and {name}.shape == '
        f'{variable.shape!r}'
    )
