# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Vectorized machine code for batches of states, compiled when a batch first asks for it."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamics_ros.kernels import self_test
from dynamics_ros.kernels.arguments import address
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.graph.tracing import collector_paused
from dynamics_ros.kernels.llvm import batch as llvm_batch
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import Platform
from dynamics_ros.kernels.llvm.dialect import DOUBLE, SINGLE
from dynamics_ros.kernels.process import compile_queue as background

BATCH_STATES = 32
"""Smaller batches run state by state: they save too little time to pay for compilation."""

TOLERANCES = {DOUBLE: self_test.TOLERANCE, SINGLE: 1e-2}
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
        self._scratch_size = processor.lanes * llvm_batch.scratch_size(self._trace)
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        )
        try:
            with collector_paused():
                ir = llvm_batch.emit(self._trace, dialect, processor)
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
        one, wanted = self_test.trial(trace)
        arrays = [np.array([x] * states, self.dtype) for x in one]
        results = [np.full((states, *x.shape), np.nan, self.dtype) for x in trace.outputs]
        described = [*arrays, *results]
        done = self._call(
            function, states, [address(x) for x in described], [x.strides[0] for x in described]
        )
        if wanted is None or (trace.finite_results and not np.isfinite(wanted).all()):
            return
        rows = [self_test.flat([x[i] for x in results]) for i in range(states)]
        if done != states or not all(self_test.agree(row, wanted, self._tolerance) for row in rows):
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
