"""Runs a trace as machine code."""

from __future__ import annotations

import ctypes
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamics_ros.kernels import arguments, entry_source, interpreter_layout, llvm_compiler
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.entry_point import builtin
from dynamics_ros.kernels.interpreter_layout import UnknownLayoutError
from dynamics_ros.kernels.llvm_source import Dialect
from dynamics_ros.kernels.llvm_source import emit as trace_module
from dynamics_ros.kernels.trace import Trace

SELF_TEST_TOLERANCE = 1e-6
"""Largest error of machine code against the plain trace, relative to the largest result.

It tells wrong code from right, so it stays clear of what rounding can do in an ill-conditioned
function; accuracy is for the tests.
"""

_log = logging.getLogger('dynamics_ros.kernels')


class LlvmBackend:
    """A trace compiled for this processor."""

    def __init__(self, trace: Trace) -> None:
        """Compile and try a trace.

        Raises:
            CompilerUnavailableError: there is no compiler.
            RuntimeError: it cannot be compiled, or the machine code is wrong.
        """
        self._trace = trace
        dialect = Dialect(llvm_compiler.has_opaque_pointers())
        ir = trace_module(trace, dialect)
        functions = ['batch']
        try:
            ir += entry_source.emit(trace, dialect, interpreter_layout.addresses())
            functions.append('entry')
        except UnknownLayoutError as reason:
            _log.info('%s is called through ctypes: %s', trace.name, reason)
        self._code = llvm_compiler.compile_module(ir, functions)
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
        )
        self._batch = prototype(self._code.address('batch'))
        self._has_entry = 'entry' in functions
        self._self_test()

    def run(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> bool:
        """Fill the result arrays; return whether all inputs are finite.

        The GIL is free meanwhile.

        Args:
            arrays: one an input, trailing axes contiguous, leading axes to be broadcast.
            leading: the broadcast shape of the leading axes.
            results: one an output, C-contiguous, apart from all others.
        """
        states = math.prod(leading)
        described = [
            arguments.over_states(x, leading, len(variable.shape))
            for x, variable in zip(arrays, self._trace.inputs)
        ]
        described += [
            (x, x.itemsize * variable.size) for x, variable in zip(results, self._trace.outputs)
        ]
        count = len(described)
        addresses = (ctypes.c_void_p * count)(*[x.ctypes.data for x, _ in described])
        strides = (ctypes.c_int64 * count)(*[stride for _, stride in described])
        return bool(self._batch(states, addresses, strides) == states)

    def bind(self, slow_path: Callable[..., Any]) -> Callable[..., Any]:
        """Return the compiled entry point with a slow path, or that alone where there is none."""
        if not self._has_entry:
            return slow_path
        address = self._code.address('entry')
        trace = self._trace
        return builtin(address, slow_path, trace.name, trace.description, self._code)

    def _self_test(self) -> None:
        """Compare machine code with the plain trace, and the entry point with machine code."""
        inputs, outputs = self._trace.inputs, self._trace.outputs
        angles = iter(range(sum(x.size for x in inputs)))
        arrays = [
            np.array([0.3 + 0.4 * math.sin(1.7 * next(angles)) for _ in range(x.size)]).reshape(
                x.shape
            )
            for x in inputs
        ]
        results = [np.full(x.shape, np.nan) for x in outputs]
        finite = self.run(arrays, (), results)
        computed = np.concatenate([np.zeros(0), *[x.ravel() for x in results]])
        try:
            elements = [x for array in arrays for x in array.ravel().tolist()]
            expected = np.array(self._trace.interpret(elements))
        except (ArithmeticError, ValueError):
            # The function has no value at this point, so there is nothing to compare with.
            expected = computed
        largest = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
        if not finite or not np.allclose(
            computed, expected, rtol=0.0, atol=SELF_TEST_TOLERANCE * largest, equal_nan=True
        ):
            raise RuntimeError('the machine code disagrees with the plain trace')
        if self._has_entry:
            scalars = [x if x.shape else float(x) for x in arrays]
            answer = self.bind(_no_answer)(*scalars)
            pieces = answer if len(outputs) != 1 else (answer,)
            self._has_entry = len(pieces) == len(results) and all(
                np.array_equal(x, y, equal_nan=True) for x, y in zip(pieces, results)
            )
            if not self._has_entry:
                _log.warning('%s is called through ctypes: wrong entry point', self._trace.name)


def _no_answer(*_: object) -> tuple[object, ...]:
    return ()
