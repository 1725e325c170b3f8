# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of traces to machine code: for one state, for batches, at once or in the background.

A `Compilation` runs a trace in plain Python until its `LlvmBackend` is compiled and tested, and is
shared by the kernels that run it. `BatchCode` computes one state in each vector lane; it is
compiled when a batch first asks for it.
"""

from __future__ import annotations

import ctypes
import logging
import math
import os
import time
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from dynamics_ros.kernels import arguments, calls
from dynamics_ros.kernels.arguments import Array, address
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.graph.tracing import collector_paused
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError, Platform
from dynamics_ros.kernels.llvm.dialect import DOUBLE, SINGLE
from dynamics_ros.kernels.llvm.source import emit as trace_module
from dynamics_ros.kernels.llvm.source import emit_batch, scratch_size
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.kernels.process import compile_queue as background
from dynamics_ros.kernels.python_backend import PythonBackend
from dynamics_ros.kernels.trace_cache import TOLERANCE, agree, flat, trial

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
        arrays, wanted = trial(trace)
        results = [np.full(x.shape, np.nan) for x in trace.outputs]
        accepted = self.run(arrays, (), results)
        if wanted is None or (trace.finite_results and not np.isfinite(wanted).all()):
            # The function has no value at this point, so there is nothing to compare with.
            return
        if not accepted or not agree(flat(results), wanted):
            raise RuntimeError('the machine code disagrees with the plain trace')


BATCH_STATES = 32
"""Smaller batches run state by state: they save too little time to pay for compilation."""

TOLERANCES = {DOUBLE: TOLERANCE, SINGLE: 1e-2}
"""Largest relative error in the self test, which tells wrong code from rounding errors."""

RunStates = Callable[[int, Sequence[int], Sequence[int]], int]
"""Takes the number of states, addresses and strides; returns the number of states computed."""

_log = logging.getLogger('dynamics_ros.kernels')


class BatchCode:
    """Machine code of one trace that computes one state in each vector lane.

    Attributes:
        dtype: dtype of inputs, results and arithmetic.
    """

    def __init__(
        self,
        trace: Trace,
        platform: Platform,
        compile_later: Callable[[Callable[[], None]], None],
    ) -> None:
        """Store what is needed to compile later.

        Args:
            platform: target of the compilation; its dialect sets the precision.
            compile_later: schedules a function that compiles.
        """
        number = platform.dialect.number
        self.dtype = np.dtype(f'f{number.size}')
        self._tolerance = TOLERANCES[number]
        self._trace = trace
        self._platform = platform
        self._compile_later = compile_later
        self._scratch_size = 0
        # Keyed by process: a forked process does not have the thread that compiles.
        self._requested_by = 0 if platform.processor.lanes > 1 else None
        self._code: llvm_compiler.MachineCode | None = None
        self._function: Any = None

    def function(self, states: int) -> RunStates | None:
        """Return the function that computes a batch of this size, or None while there is none."""
        if self._function is None:
            if states < BATCH_STATES:
                return None
            if self._is_first_request():
                self._compile_later(self._compile)
            if self._function is None:
                return None
        return self._run

    def _is_first_request(self) -> bool:
        process = os.getpid()
        if self._requested_by in (None, process):
            return False
        with background.changed:
            before, self._requested_by = self._requested_by, process
        return before != process

    def _compile(self) -> None:
        if self._function is not None:
            return
        dialect, processor = self._platform
        self._scratch_size = processor.lanes * scratch_size(self._trace)
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        )
        try:
            with collector_paused():
                ir = emit_batch(self._trace, dialect, processor)
            self._code = llvm_compiler.compile_module(ir, ['batch'])
            function = prototype(self._code.address('batch'))
            self._self_test(function)
        except (RuntimeError, OSError, MemoryError) as reason:
            _log.warning('%s computes a batch state by state: %s', self._trace.name, reason)
            return
        self._function = function

    def _self_test(self, function: Any) -> None:
        """Compare each vector lane, and a leftover state, with the plain trace.

        Raises:
            RuntimeError: a result differs.
        """
        trace, states = self._trace, self._platform.processor.lanes + 1
        one, wanted = trial(trace)
        arrays = [np.array([x] * states, self.dtype) for x in one]
        results = [np.full((states, *x.shape), np.nan, self.dtype) for x in trace.outputs]
        described = [*arrays, *results]
        done = self._call(
            function, states, [address(x) for x in described], [x.strides[0] for x in described]
        )
        if wanted is None or (trace.finite_results and not np.isfinite(wanted).all()):
            return
        rows = [flat([x[i] for x in results]) for i in range(states)]
        if done != states or not all(agree(row, wanted, self._tolerance) for row in rows):
            raise RuntimeError('the machine code disagrees with the plain trace')

    def _run(self, states: int, starts: Sequence[int], strides: Sequence[int]) -> int:
        """Compute states by vector lanes; return the number of states computed."""
        return self._call(self._function, states, starts, strides)

    def _call(
        self, function: Any, states: int, starts: Sequence[int], strides: Sequence[int]
    ) -> int:
        lanes, count = self._platform.processor.lanes, len(starts)
        scratch = np.empty(self._scratch_size + lanes, self.dtype)
        start = address(scratch)
        aligned = start + -start % (scratch.itemsize * lanes)
        return int(
            function(
                states,
                (ctypes.c_void_p * count)(*starts),
                (ctypes.c_int64 * count)(*strides),
                aligned,
            )
        )


WAIT_OPERATIONS = 5000
"""Traces of up to this many operations (about 0.15 s) are compiled before their first use."""


class Compilation:
    """Runner of a trace: plain Python at first, machine code once it is compiled.

    Attributes:
        trace: the trace to run.
        backend: the requested backend: 'llvm', 'python' or 'auto'.
        plain: the plain Python function, used until there is machine code.
        runner: the function or machine code that runs the trace now.
        seconds: duration of the compilation [s]; 0 until it is finished.
    """

    def __init__(self, trace: Trace, backend: str, wait: bool | None) -> None:
        """Start the compilation, or schedule it.

        Args:
            trace: the trace to compile.
            backend, wait: as for ``Kernel``.
        """
        self.trace = trace
        self.backend = backend
        self.plain = PythonBackend(trace)
        self.runner: LlvmBackend | PythonBackend = self.plain
        self.seconds = 0.0
        self._wait = True if wait is None and backend == 'llvm' else wait
        self._finished = backend == 'python'
        self._methods: list[weakref.WeakMethod[Callable[[], None]]] = []
        self._callbacks: list[Callable[[], None]] = []
        if not self._finished:
            job = _compiling(weakref.ref(self))
            if is_kept(trace) and not background.is_busy():
                job()  # the compiler has nothing to do
            else:
                self._run_when_fit(job)

    @property
    def finished(self) -> bool:
        """Whether the compilation is over, so that ``runner`` no longer changes."""
        self.resume()
        return self._finished

    def resume(self) -> None:
        """Ensure that the compiler thread runs, also in a forked process."""
        if not self._finished:
            background.resume()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the compilation is finished; return whether it is.

        Args:
            timeout: longest time to wait [s]; None waits without limit.
        """
        if not self.finished:
            with background.changed:
                background.changed.wait_for(lambda: self._finished, timeout)
        return self._finished

    def before_finished(self, method: Callable[[], None]) -> None:
        """Register a bound method to call just before the compilation counts as finished.

        The method's object is held by a weak reference. After the end of the compilation this does
        nothing.
        """
        with background.changed:
            if not self._finished:
                self._methods.append(weakref.WeakMethod(method))

    def on_finished(self, callback: Callable[[], None]) -> None:
        """Call a function from the compiler thread when finished; now if finished already."""
        with background.changed:
            if not self.finished:
                self._callbacks.append(callback)
                return
        callback()

    def _run_when_fit(self, job: Callable[[], None]) -> None:
        """Run a compilation job, now or in the background."""
        wait = self._wait
        if wait is None:
            wait = self.trace.operation_count <= WAIT_OPERATIONS and not background.is_busy()
        if wait:
            job()
        else:
            background.submit(self.trace.operation_count, job)

    def compile(self) -> None:
        """Replace plain Python by machine code where this is possible."""
        started = time.perf_counter()
        try:
            runner = LlvmBackend(self.trace, self._run_when_fit)
        except CompilerUnavailableError as reason:
            _warn_once(f'kernels run as plain Python, which is slower: {reason}')
        except Exception as reason:
            # Any failure leaves plain Python, which is correct; the compiler thread must go on.
            _warn_once(f'{self.trace.name} runs as plain Python, which is slower: {reason}')
        else:
            if calls.native is None:
                _warn_once(f'kernels are called through ctypes, slower: {calls.why_not_native}')
            self.runner = runner
            # Frees the memory of the plain functions that machine code has replaced.
            self.plain = PythonBackend(self.trace)
        self.seconds = time.perf_counter() - started
        with background.changed:
            for reference in self._methods:
                method = reference()
                if method is not None:
                    method()
            self._methods.clear()
            self._finished = True
            callbacks, self._callbacks = self._callbacks, []
            background.changed.notify_all()
        for callback in callbacks:
            callback()


def _compiling(compilation: weakref.ref[Compilation]) -> Callable[[], None]:
    """Return a compilation job that does nothing once the compilation is garbage collected."""

    def job() -> None:
        alive = compilation()
        if alive is not None:
            alive.compile()

    return job


@lru_cache(maxsize=1024)
def _warn_once(message: str) -> None:
    _log.warning(message)
