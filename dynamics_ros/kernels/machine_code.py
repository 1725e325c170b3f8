# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Backend that runs a trace as machine code compiled by LLVM."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dynamics_ros.kernels import arguments, calls, self_test
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.batch_code import BatchCode
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.graph.tracing import collector_paused
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError
from dynamics_ros.kernels.llvm.dialect import SINGLE
from dynamics_ros.kernels.llvm.source import emit as trace_module
from dynamics_ros.kernels.process import compile_process

QUICK_OPERATIONS = 100_000
"""Longer traces are compiled without optimization, which would take half a minute or more on a busy
machine. Optimized code takes about 0.7 of the run time.
"""


def assemble(trace: Trace) -> bytes:
    """Return the object file of a trace, which has the function ``batch``.

    Raises:
        CompilerUnavailableError: there is no compiler.
        RuntimeError: compilation failed.
    """
    dialect, processor = llvm_compiler.platform()

    def ir() -> str:
        with collector_paused():
            return trace_module(trace, dialect, processor)

    # Equal traces give equal modules, so a module need not be printed to be found on disk.
    if trace.origin:
        return llvm_compiler.object_code(ir, trace.origin, _quickly(trace))
    text = ir()
    return llvm_compiler.object_code(lambda: text, text, _quickly(trace))


def is_kept(trace: Trace) -> bool:
    """Return whether the object file of a trace is on disk."""
    if not trace.origin:
        return False
    try:
        return llvm_compiler.is_kept(trace.origin, _quickly(trace))
    except CompilerUnavailableError:
        return False


def _quickly(trace: Trace) -> bool:
    return trace.operation_count > QUICK_OPERATIONS


class LlvmBackend:
    """Trace compiled for this processor.

    Attributes:
        code: its function ``batch`` is a C function of a number of states, the addresses of the
            arrays and their strides in bytes; it returns the number of states computed.
    """

    def __init__(self, trace: Trace, compile_later: Callable[[Callable[[], None]], None]) -> None:
        """Compile and test a trace.

        Args:
            compile_later: schedules a function that compiles.

        Raises:
            CompilerUnavailableError: there is no compiler.
            RuntimeError: compilation failed, or the machine code is wrong.
        """
        self._trace = trace
        platform = llvm_compiler.platform()
        code = compile_process.run(partial(assemble, trace))
        self.code = llvm_compiler.linked(code, ['batch'])
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
        )
        self._one_by_one = prototype(self.code.address('batch'))
        self._batches = {np.dtype(np.float64): BatchCode(trace, platform, compile_later)}
        self._compile_later = compile_later
        self._self_test()

    def run(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> bool:
        """Fill the result arrays; return whether the trace allows all inputs and results.

        Releases the GIL. Float32 is for batches only: returns False if there is no code for it.

        Args:
            arrays: one per input, trailing axes contiguous, leading axes to be broadcast.
            leading: the broadcast shape of the leading axes.
            results: one per output, C-contiguous, not overlapping any other, all of the dtype of
                the inputs.
        """
        states = math.prod(leading)
        described = [
            arguments.over_states(x, leading, len(variable.shape))
            for x, variable in zip(arrays, self._trace.inputs)
        ]
        described += [
            (x, x.itemsize * variable.size) for x, variable in zip(results, self._trace.outputs)
        ]
        starts = [arguments.address(x) for x, _ in described]
        strides = [stride for _, stride in described]
        dtype = results[0].dtype if results else np.dtype(np.float64)
        run_some = self.batch_code(dtype).function(states)
        if run_some is None:
            if dtype != np.float64:
                return False
            run_some = self._run_one_by_one
        return run_some(states, starts, strides) == states

    def batch_code(self, dtype: np.dtype[Any]) -> BatchCode:
        """Return the batch code for float64 or float32."""
        code = self._batches.get(dtype)
        if code is None:
            platform = llvm_compiler.platform(SINGLE)
            made = BatchCode(self._trace, platform, self._compile_later)
            code = self._batches.setdefault(dtype, made)
        return code

    def run_in_turn(
        self, arrays: Sequence[Array], bound: Sequence[Array], results: Sequence[Array]
    ) -> int:
        """Compute states in sequence, where results may be inputs of the next state.

        Args:
            arrays: one per argument, trailing axes contiguous; a leading axis of states, or none
                if all states share it.
            bound: value of the bound input, if there is one.
            results: one per output, C-contiguous, with a leading axis of states.

        Returns:
            The number of states computed; less than all if one is refused.
        """
        given = [*arrays, *bound]
        strides = [
            x.strides[0] if x.ndim > len(variable.shape) else 0
            for x, variable in zip(given, self._trace.inputs)
        ]
        starts = [arguments.address(x) for x in (*given, *results)]
        return self._run_one_by_one(
            len(results[0]), starts, [*strides, *(x.strides[0] for x in results)]
        )

    def _run_one_by_one(self, states: int, starts: Sequence[int], strides: Sequence[int]) -> int:
        """Compute states one by one; return the number computed."""
        count = len(starts)
        return int(
            self._one_by_one(
                states, (ctypes.c_void_p * count)(*starts), (ctypes.c_int64 * count)(*strides)
            )
        )

    def bind(self, slow_path: Callable[..., Any], bound: Array | None = None) -> Callable[..., Any]:
        """Return the machine code as a function with a slow path.

        Args:
            bound: value of the trace's bound input; None if it has none.
        """
        return calls.call_of(self.code, self._trace, slow_path, bound)

    def _self_test(self) -> None:
        """Compare machine code with the plain trace."""
        trace = self._trace
        arrays, wanted = self_test.trial(trace)
        results = [np.full(x.shape, np.nan) for x in trace.outputs]
        accepted = self.run(arrays, (), results)
        if wanted is None or (trace.finite_results and not np.isfinite(wanted).all()):
            # The function has no value at this point, so there is nothing to compare with.
            return
        if not accepted or not self_test.agree(self_test.flat(results), wanted):
            raise RuntimeError('the machine code disagrees with the plain trace')
