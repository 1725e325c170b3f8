"""A trace ready to be called with NumPy arrays."""

from __future__ import annotations

import ctypes
import logging
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import arguments, llvm_compiler
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.llvm_compiler import CompilerUnavailableError, MachineCode
from dynamics_ros.kernels.trace import Trace

BACKENDS = ('auto', 'llvm', 'python')

ARRAY_STATES = 16
"""From so many states on the plain Python function is faster on arrays than state by state."""

_log = logging.getLogger('dynamics_ros.kernels')


class Kernel:
    """A compiled trace: a function of float64 arrays that broadcasts over leading axes.

    Attributes:
        trace: what it computes.
        backend: what runs, ``'llvm'`` (machine code) or ``'python'``.
        compile_seconds: how long it took to make.
    """

    def __init__(self, trace: Trace, backend: str = 'auto') -> None:
        """Make a kernel.

        Args:
            trace: what it computes.
            backend: ``'llvm'``, ``'python'``, or ``'auto'``: llvm where it can be had. Where it
                cannot, the plain Python function runs and one log line says why.

        Raises:
            InvalidArgumentError: an unknown back end.
        """
        if backend not in BACKENDS:
            raise InvalidArgumentError('backend', repr(backend), f'one of {BACKENDS}')
        self.trace = trace
        started = time.perf_counter()
        self._code = None if backend == 'python' else _machine_code(trace)
        self.backend = 'llvm' if self._code else 'python'
        self._batch = _batch_function(self._code) if self._code else None
        self.compile_seconds = time.perf_counter() - started

    @property
    def name(self) -> str:
        """Name of the traced function."""
        return self.trace.name

    @property
    def operation_count(self) -> int:
        """Number of scalar operations of one state."""
        return self.trace.operation_count

    def __repr__(self) -> str:
        inputs = ', '.join(f'{x.name}{x.shape}' for x in self.trace.inputs)
        return (
            f'<Kernel {self.name}({inputs}): {self.operation_count} operations, {self.backend}>'
        )

    def __call__(self, *values: Any, out: Any = None) -> Any:
        """Compute the outputs of one state, or of many over leading axes.

        Args:
            values: one array an input, shape (..., input shape); leading axes broadcast.
            out: an array to fill and return, or one for each of several outputs.

        Returns:
            float64 array (..., output shape), a tuple of them for several outputs; a scalar output
            without leading axes is a NumPy float.

        Raises:
            InvalidArgumentError: an argument of wrong shape or type, or one that is not finite.
            TypeError: a wrong number of arguments.
        """
        variables = self.trace.inputs
        if len(values) != len(variables):
            names = ', '.join(x.name for x in variables)
            raise TypeError(
                f'{self.name}() takes {len(variables)} arrays ({names}), got {len(values)}'
            )
        arrays = [arguments.as_input(x, value) for x, value in zip(variables, values)]
        leading = arguments.leading_shape(variables, arrays)
        results, work = arguments.as_outputs(self.trace.outputs, leading, out, arrays)
        if self._batch is not None:
            finite = self._run_machine_code(arrays, leading, work)
        else:
            finite = all(bool(np.isfinite(x).all()) for x in arrays)
            if finite:
                self._run_python(arrays, leading, work)
        if not finite:
            arguments.refuse_non_finite(variables, arrays)
        for result, computed in zip(results, work):
            if result is not computed:
                result[...] = computed
        if out is None:
            results = [x if x.ndim else x[()] for x in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _run_machine_code(
        self, arrays: Sequence[Array], leading: tuple[int, ...], work: Sequence[Array]
    ) -> bool:
        """Fill the arrays of results; return whether all inputs are finite."""
        states = math.prod(leading)
        described = [
            arguments.over_states(x, leading, len(variable.shape))
            for x, variable in zip(arrays, self.trace.inputs)
        ]
        described += [
            (x, x.itemsize * variable.size) for x, variable in zip(work, self.trace.outputs)
        ]
        count = len(described)
        addresses = (ctypes.c_void_p * count)(*[x.ctypes.data for x, _ in described])
        strides = (ctypes.c_int64 * count)(*[stride for _, stride in described])
        return bool(self._batch(states, addresses, strides) == states)

    def _run_python(
        self, arrays: Sequence[Array], leading: tuple[int, ...], work: Sequence[Array]
    ) -> None:
        """Fill the arrays of results by the plain Python function."""
        states = math.prod(leading)
        columns = [
            np.broadcast_to(x, leading + variable.shape).reshape(states, variable.size)
            for x, variable in zip(arrays, self.trace.inputs)
        ]
        targets = [
            x.reshape(states, variable.size) for x, variable in zip(work, self.trace.outputs)
        ]
        if states >= ARRAY_STATES:
            self._run_python_on_arrays(columns, targets)
            return
        scalars = [variable.shape == () for variable in self.trace.inputs]
        for i in range(states):
            state = [
                x[i].item() if scalar else x[i].tolist() for x, scalar in zip(columns, scalars)
            ]
            try:
                values = self.trace.evaluate(*state)
            except (ArithmeticError, ValueError):
                # Machine code answers inf or NaN here, as IEEE 754 says; so do arrays.
                one = slice(i, i + 1)
                self._run_python_on_arrays([x[one] for x in columns], [x[one] for x in targets])
                continue
            if len(targets) == 1:
                values = (values,)
            for target, value in zip(targets, values):
                target[i] = value

    def _run_python_on_arrays(
        self, columns: Sequence[Array], targets: Sequence[Array]
    ) -> None:
        arrays = [
            x[:, 0] if variable.shape == () else list(x.T)
            for x, variable in zip(columns, self.trace.inputs)
        ]
        with np.errstate(all='ignore'):
            values = self.trace.evaluate_arrays(*arrays)
        if len(targets) == 1:
            values = (values,)
        for target, variable, value in zip(targets, self.trace.outputs, values):
            elements = [value] if variable.shape == () else value
            for i, element in enumerate(elements):
                target[:, i] = element


def _machine_code(trace: Trace) -> MachineCode | None:
    """Return the compiled trace; None, and a line in the log, where it cannot be compiled."""
    try:
        binding = llvm_compiler.load()
        ir = trace.llvm_ir(llvm_compiler.has_opaque_pointers(binding))
        return llvm_compiler.compile_module(ir, ('single', 'batch'), trace.operation_count)
    except (CompilerUnavailableError, RuntimeError, OSError, MemoryError) as error:
        _log.warning('%s runs as plain Python, which is slower: %s', trace.name, error)
        return None


def _batch_function(code: MachineCode) -> Any:
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    return prototype(code.address('batch'))
