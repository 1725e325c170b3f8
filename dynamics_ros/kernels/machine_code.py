# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Backend that runs a trace as machine code compiled by LLVM."""

from __future__ import annotations

import ctypes
import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from dynamics_ros.kernels import self_test, threads
from dynamics_ros.kernels.batch_code import BatchCode
from dynamics_ros.kernels.cpython import arguments, entry_source, entry_test
from dynamics_ros.kernels.cpython.arguments import Array
from dynamics_ros.kernels.cpython.ctypes_call import direct_call
from dynamics_ros.kernels.cpython.entry_point import OUT, builtin, like_method
from dynamics_ros.kernels.cpython.interpreter import provide_interpreter
from dynamics_ros.kernels.cpython.layout import UnknownLayoutError
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.graph.tracing import collector_paused
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError
from dynamics_ros.kernels.llvm.dialect import SINGLE
from dynamics_ros.kernels.llvm.source import emit as trace_module
from dynamics_ros.kernels.process import compile_process

QUICK_OPERATIONS = 300_000
"""Longer traces, counting each routine once, are compiled without optimization, which would take
half
a minute or more on a busy machine. Optimized code takes about 0.7 of the run time.
"""

_log = logging.getLogger('dynamics_ros.kernels')


def assemble(trace: Trace) -> tuple[bytes, list[str]]:
    """Return the object file of a trace, and its functions: ``batch``, and ``entry`` if any.

    Raises:
        CompilerUnavailableError: there is no compiler.
        RuntimeError: compilation failed.
    """
    dialect, processor = llvm_compiler.platform()
    functions = _functions(trace)

    def ir() -> str:
        with collector_paused():
            text = trace_module(trace, dialect, processor)
            return text + entry_source.emit(trace, dialect) if 'entry' in functions else text

    # Equal traces give equal modules, so a module need not be printed to be found on disk.
    if trace.origin:
        code = llvm_compiler.object_code(ir, _origin(trace, functions), _quickly(trace))
    else:
        text = ir()
        code = llvm_compiler.object_code(lambda: text, text, _quickly(trace))
    return code, functions


def is_kept(trace: Trace) -> bool:
    """Return whether the object file of a trace is on disk."""
    if not trace.origin:
        return False
    try:
        return llvm_compiler.is_kept(_origin(trace, _functions(trace)), _quickly(trace))
    except CompilerUnavailableError:
        return False


def _functions(trace: Trace) -> list[str]:
    try:
        provide_interpreter()
    except UnknownLayoutError as reason:
        _log.info('%s is called through ctypes: %s', trace.name, reason)
        return ['batch']
    return ['batch', 'entry']


def _origin(trace: Trace, functions: list[str]) -> str:
    return f'{trace.origin} {" ".join(functions)}'


def _quickly(trace: Trace) -> bool:
    return trace.written_count > QUICK_OPERATIONS


class LlvmBackend:
    """Trace compiled for this processor.

    Attributes:
        code: its function ``batch`` is a C function of a number of states, the addresses of the
            arrays
            and their strides in bytes; it returns the number of states computed.
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
        code, functions = compile_process.run(partial(assemble, trace))
        if 'entry' in functions:
            provide_interpreter()
        self.code = llvm_compiler.linked(code, functions)
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
        )
        self._one_by_one = prototype(self.code.address('batch'))
        self._has_entry = 'entry' in functions
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
                the
                inputs.
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
        count = threads.useful_threads(states * (self._trace.operation_count + 1))
        if count == 1:
            return run_some(states, starts, strides) == states
        cuts = [states * i // count for i in range(count + 1)]
        jobs = [
            partial(run_some, b - a, [x + a * y for x, y in zip(starts, strides)], strides)
            for a, b in pairwise(cuts)
        ]
        return sum(threads.run(jobs)) == states

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

    def bind(
        self,
        slow_path: Callable[..., Any],
        bound: Array | None = None,
        method: Callable[..., Any] | None = None,
    ) -> Callable[..., Any]:
        """Return the compiled entry point with a slow path, or a ctypes call if there is none.

        Args:
            bound: value of the trace's bound input; None if it has none.
            method: a bound method whose signature and documentation the function shows.
        """
        if not self._has_entry:
            if method is not None:
                return slow_path
            function = direct_call(self.code.address('batch'), self._trace, slow_path, bound)
            vars(function)['code'] = self.code
            return function
        address = self.code.address('entry')
        trace, token = self._trace, self.code.token
        if method is not None:
            return like_method(address, method, token, table=bound)
        texts = (trace.name, trace.description)
        return builtin(address, slow_path, *texts, token, keyword=OUT, table=bound)

    def _self_test(self) -> None:
        """Compare machine code with the plain trace, and the entry point with machine code."""
        trace = self._trace
        arrays, wanted = self_test.trial(trace)
        results = [np.full(x.shape, np.nan) for x in trace.outputs]
        accepted = self.run(arrays, (), results)
        if wanted is None or (trace.finite_results and not np.isfinite(wanted).all()):
            # The function has no value at this point, so there is nothing to compare with.
            return
        if not accepted or not self_test.agree(self_test.flat(results), wanted):
            raise RuntimeError('the machine code disagrees with the plain trace')
        if self._has_entry:
            bound = arrays.pop() if trace.bound else None
            try:
                fault = entry_test.fault(partial(self.bind, bound=bound), trace, arrays, results)
            except Exception as error:
                fault = f'it raises {error!r}'
            if fault is not None:
                self._has_entry = False
                _log.warning('%s is called through ctypes: entry point: %s', trace.name, fault)
