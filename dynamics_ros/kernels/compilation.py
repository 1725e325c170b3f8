# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compilation of traces to machine code: for one state, for batches, at once or in the background.

A `Compilation` runs a trace in plain Python until there is machine code, and is shared by the
kernels that run it.
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

import numpy as np

from dynamics_ros.kernels import arguments
from dynamics_ros.kernels.arguments import Array, address
from dynamics_ros.kernels.graph.trace import Trace, collector_paused
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError, MachineCode
from dynamics_ros.kernels.llvm.source import emit as trace_module
from dynamics_ros.kernels.llvm.source import emit_batch, scratch_size
from dynamics_ros.kernels.process import background
from dynamics_ros.kernels.python_backend import PlainFunction

QUICK_OPERATIONS = 100_000
"""Longer traces are compiled without optimization, which would take half a minute or more on a busy
machine. Optimized code takes about 0.7 of the run time.
"""

WAIT_OPERATIONS = 5000
"""Traces of up to this many operations (about 0.15 s) are compiled before their first use."""

BATCH_STATES = 32
"""Smaller batches run state by state: they save too little time to pay for compilation."""

PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
"""Type of ``batch`` in modules of `llvm.source`; that for one state ignores the scratch memory."""

_log = logging.getLogger('dynamics_ros.kernels')


def assemble(trace: Trace) -> bytes:
    """Return the object file of a trace, which has the function ``batch``.

    Raises:
        CompilerUnavailableError: there is no compiler.
        RuntimeError: compilation failed.
    """
    target = llvm_compiler.platform()

    @collector_paused()
    def ir() -> str:
        return trace_module(trace, target)

    # Equal traces give equal modules.
    return llvm_compiler.object_code(ir, trace.origin, _quickly(trace))


def _quickly(trace: Trace) -> bool:
    return trace.operation_count > QUICK_OPERATIONS


class _Function:
    """Machine code of a trace that computes one state, or one in each vector lane, at a time."""

    def __init__(self, trace: Trace, code: MachineCode, lanes: int) -> None:
        self.code = code
        self._function = PROTOTYPE(code.address('batch'))
        self._lanes = lanes
        self._scratch = lanes * (scratch_size(trace) + 1) if lanes > 1 else 0

    def __call__(self, starts: Sequence[int], strides: Sequence[int], states: int) -> int:
        """Compute states at some addresses; return the number of states computed."""
        count, scratch = len(starts), 0
        if self._scratch:
            memory = np.empty(self._scratch)
            start = address(memory)
            scratch = start + -start % (memory.itemsize * self._lanes)
        pointers, steps = (ctypes.c_void_p * count)(*starts), (ctypes.c_int64 * count)(*strides)
        return int(self._function(states, pointers, steps, scratch))


class Compilation:
    """Runner of a trace: plain Python at first, machine code once it is compiled.

    Code for batches, which computes one state in each vector lane, is compiled when a batch first
    asks for it.

    Attributes:
        trace: the trace to run.
        backend: the requested backend: 'llvm', 'python' or 'auto'.
        plain: the plain Python function, used until there is machine code.
        code: the machine code; None if there is none. Its function ``batch`` is a C function of a
            number of states, the addresses of the arrays and their strides in bytes; it returns the
            number of states computed.
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
        self.plain = PlainFunction(trace)
        self.code: MachineCode | None = None
        self.seconds = 0.0
        self._one_by_one: _Function | None = None
        self._batches: _Function | None = None
        self._requested = 0
        self._wait = True if wait is None and backend == 'llvm' else wait
        self._finished = backend == 'python'
        if not self._finished:
            # The compiler has nothing to do for what is on disk.
            self._run_when_fit(self.compile, llvm_compiler.is_kept(trace.origin, _quickly(trace)))

    @property
    def finished(self) -> bool:
        """Whether the compilation is over, so that ``code`` no longer changes."""
        if not self._finished:
            background.resume()  # in a forked process there is no thread that compiles
        return self._finished

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the compilation is finished; return whether it is.

        Args:
            timeout: longest time to wait [s]; None waits without limit.
        """
        if not self.finished:
            with background.changed:
                background.changed.wait_for(lambda: self._finished, timeout)
        return self._finished

    def run(
        self,
        arrays: Sequence[Array],
        leading: tuple[int, ...],
        results: Sequence[Array],
        in_turn: bool = False,
    ) -> bool:
        """Fill the result arrays; return whether the trace allows all inputs and results.

        Machine code releases the GIL.

        Args:
            arrays: one per input, trailing axes contiguous, leading axes to be broadcast.
            leading: the broadcast shape of the leading axes.
            results: one per output, C-contiguous, not overlapping any other.
            in_turn: whether states are computed one after the other, as where results are inputs of
                the next state; only for machine code.
        """
        function = self._one_by_one
        if function is None:
            return self.plain.run(arrays, leading, results)
        states = math.prod(leading)
        described = [
            arguments.over_states(x, leading, len(variable.shape))
            for x, variable in zip(arrays, self.trace.inputs)
        ]
        described += [
            (x, x.itemsize * variable.size) for x, variable in zip(results, self.trace.outputs)
        ]
        if states >= BATCH_STATES and not in_turn:
            function = self._batch() or function
        starts = [address(x) for x, _ in described]
        return function(starts, [stride for _, stride in described], states) == states

    def _batch(self) -> _Function | None:
        """Return the code for batches; None while there is none."""
        process = os.getpid()  # a forked process does not have the thread that compiles
        if self._batches is None and self._requested != process:
            self._requested = process
            self._run_when_fit(self._compile_batch)
        return self._batches

    def _run_when_fit(self, job: Callable[[], None], short: bool = False) -> None:
        """Run a compilation job, now or in the background unless it is no longer of use."""
        if self._wait is None:
            short = short or self.trace.operation_count <= WAIT_OPERATIONS
        if self._wait or (short and not background.is_busy()):
            job()
        else:
            alive = weakref.WeakMethod(job)
            background.submit(
                self.trace.operation_count, lambda: None if (found := alive()) is None else found()
            )

    def compile(self) -> None:
        """Replace plain Python by machine code where this is possible."""
        trace, started = self.trace, time.perf_counter()
        try:
            llvm_compiler.platform()
            code = llvm_compiler.linked(background.run(partial(assemble, trace)), ['batch'])
            self._one_by_one = _Function(trace, code, 1)
        except CompilerUnavailableError as reason:
            warn_once(f'kernels run as plain Python, which is slower: {reason}')
        except Exception as reason:
            # Any failure leaves plain Python, which is correct; the compiler thread must go on.
            warn_once(f'{trace.name} runs as plain Python, which is slower: {reason}')
        else:
            self.code = code
            # Frees the memory of the plain functions that machine code has replaced.
            self.plain = PlainFunction(trace)
        self.seconds = time.perf_counter() - started
        with background.changed:
            self._finished = True
            background.changed.notify_all()

    def _compile_batch(self) -> None:
        trace = self.trace
        try:
            target = llvm_compiler.platform()
            if target.lanes == 1 or self._batches is not None:
                return
            with collector_paused():
                ir = emit_batch(trace, target)
            code = llvm_compiler.linked(llvm_compiler.object_code(lambda: ir), ['batch'])
            self._batches = _Function(trace, code, target.lanes)
        except (CompilerUnavailableError, RuntimeError, OSError, MemoryError) as reason:
            _log.warning('%s computes a batch state by state: %s', trace.name, reason)


@lru_cache(maxsize=1024)
def warn_once(message: str) -> None:
    """Log a warning that was not logged before."""
    _log.warning(message)
