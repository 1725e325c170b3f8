# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls of a kernel's machine code: through the extension module `_native`, or through ctypes.

The extension module is optional: a package that was installed without a C compiler, or whose
extension is of another NumPy, calls machine code through ctypes, which takes some microseconds.

Either way, arguments that do not match exactly what the kernel takes are handed unchanged to a slow
path.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.kernels.arguments import FLOAT64, Array, address
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.llvm.compiler import MachineCode

VERSION = 2
"""Version of `_native` that this module calls."""

_Function = TypeVar('_Function', bound=Callable[..., Any])


def _loaded() -> tuple[Any, str]:
    """Return the extension module or None, and why there is none."""
    try:
        module = importlib.import_module('dynamics_ros.kernels._native')
    except (ImportError, RuntimeError) as error:
        # NumPy raises a RuntimeError for an extension that was built for another NumPy.
        return None, f'the extension module dynamics_ros.kernels._native is not used: {error}'
    if module.VERSION != VERSION:
        return None, 'the extension module dynamics_ros.kernels._native is of another version'
    return module, ''


native, why_not_native = _loaded()


def call_path() -> str:
    """Return how machine code is called: 'extension module', or 'ctypes', which is slower."""
    return 'ctypes' if native is None else 'extension module'


def call_of(
    code: MachineCode, trace: Trace, slow_path: Callable[..., Any], bound: Array | None
) -> Callable[..., Any]:
    """Return a function that calls the machine code of a trace.

    Args:
        code: has the function ``batch`` (see ``Compilation.code``); the result keeps it in memory.
        slow_path: called with arguments that do not match.
        bound: value of the trace's bound input; None if it has none.
    """
    variables = [*trace.arguments, *trace.outputs]
    if native is None:
        return _through_ctypes(code, trace, slow_path, bound)
    if len(variables) >= native.MAX_ARRAYS or any(
        len(x.shape) > native.MAX_RANK for x in variables
    ):
        return slow_path
    call: Callable[..., Any] = native.Call(
        code.address('batch'),
        tuple(x.shape for x in trace.arguments),
        tuple(x.shape for x in trace.outputs),
        bound,
        slow_path,
        trace.name,
        trace.description,
        code.token,
    )
    return call


def method_of(function: _Function) -> _Function:
    """Return a method that looks for machine code before it runs its function.

    The object has a dictionary ``_direct_calls`` with the results of `call_of` by name of the
    method. For a method with a parameter ``frame`` there is a dictionary by name of the frame
    instead, and in that one, if an argument follows, one by that (None where it is not given).
    Machine code takes the arguments before the frame; calls that it does not take go unchanged to
    the function. Without the extension module the method is the function.
    """
    if native is None:
        return function
    names = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name == 'frame' or parameter.default is not parameter.empty:
            break
        names.append(parameter.name)
    method: _Function = native.Method(function, len(names))
    return method


def run_of(
    steps: Sequence[tuple[MachineCode | None, Sequence[NDArray[Any]]]],
) -> Callable[[], bool]:
    """Return a function without arguments that runs machine code and copies on fixed arrays.

    It returns whether all numbers were accepted; what follows a refusal is not run.

    Args:
        steps: machine code with the arrays of its inputs and outputs, or None with the source and
            the target of a copy. Arrays are C-contiguous and of the right size; the target of a
            copy may be of uint8.
    """
    if native is not None:
        program: Callable[[], bool] = native.Program(
            tuple(
                (code.address('batch') if code else 0, tuple(arrays), code and code.token)
                for code, arrays in steps
            )
        )
        return program
    made = [(code, arrays, _on(code, arrays) if code else None) for code, arrays in steps]

    def run_all() -> bool:
        for _, arrays, run in made:
            if run is None:
                arrays[1][...] = arrays[0].reshape(arrays[1].shape)
            elif not run():
                return False
        return True

    return run_all


def _on(code: MachineCode, arrays: Sequence[NDArray[Any]]) -> Callable[[], bool]:
    """Return a function that computes one state, while code and arrays are kept."""
    places = [address(x) for x in arrays]
    pointers = ctypes.byref((ctypes.c_void_p * len(places))(*places))
    strides = ctypes.byref((ctypes.c_int64 * len(places))())
    run, one = (
        ctypes.PYFUNCTYPE(ctypes.c_int64)(code.address('batch')),
        ctypes.c_int64.from_param(1),
    )
    return lambda: run(one, pointers, strides) == 1


def _through_ctypes(
    code: MachineCode, trace: Trace, slow_path: Callable[..., Any], bound: Array | None
) -> Callable[..., Any]:
    """Return a Python function as `call_of` does.

    Arrays are copied into buffers and out of them, which takes a fraction of the time of asking
    NumPy for an address.
    """
    fixed = [] if bound is None else [bound]
    taken = [x.shape for x in trace.arguments]
    # Each call takes buffers and returns them, so that no two threads share them.
    free: list[tuple[list[Array], list[Array], Any]] = []

    def buffers() -> tuple[list[Array], list[Array], Any]:
        inputs, outputs = [np.empty(x) for x in taken], [np.empty(x.shape) for x in trace.outputs]
        return inputs, outputs, _on(code, [*inputs, *fixed, *outputs])

    def fits(value: Any, shape: tuple[int, ...]) -> bool:
        if not shape:
            return type(value) is float or type(value) is np.float64
        return type(value) is np.ndarray and value.dtype is FLOAT64 and value.shape == shape

    def call(*values: Any, **named: Any) -> Any:
        if not named and len(values) == len(taken) and all(map(fits, values, taken)):
            try:
                held = free.pop()
            except IndexError:
                held = buffers()
            for into, value in zip(held[0], values):
                into[...] = value
            good = held[2]()
            found = [x.copy() if x.ndim else x[()] for x in held[1]]
            free.append(held)
            if good:
                return found[0] if len(found) == 1 else tuple(found)
        return slow_path(*values, **named)

    call.kept = code, bound  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = trace.name
    call.__doc__ = trace.description
    return call
