# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls of a kernel's machine code through the extension module `_native`.

Arguments that do not match exactly what the kernel takes are handed unchanged to a slow path. The
extension module is optional: for a package that was installed without a C compiler, or whose
extension is of another NumPy, the slow path takes all calls. It converts arguments in Python and
calls machine code through ctypes, which takes some ten microseconds.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from dynamics_ros.kernels.arguments import Array
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
    """Return a function that calls the machine code of a trace; the slow path if nothing can.

    Args:
        code: has the function ``batch`` (see ``Compilation.code``); the result keeps it in memory.
        slow_path: called with arguments that do not match.
        bound: value of the trace's bound input; None if it has none.
    """
    if native is None:
        return slow_path
    variables = [*trace.arguments, *trace.outputs]
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
