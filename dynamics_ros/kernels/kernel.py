"""A trace ready to be called with NumPy arrays."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import arguments
from dynamics_ros.kernels.llvm_backend import LlvmBackend
from dynamics_ros.kernels.llvm_compiler import CompilerUnavailableError
from dynamics_ros.kernels.python_backend import PythonBackend
from dynamics_ros.kernels.trace import Trace

BACKENDS = ('auto', 'llvm', 'python')

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
        self._runner: LlvmBackend | PythonBackend = PythonBackend(trace)
        self.backend = 'python'
        if backend != 'python':
            try:
                self._runner = LlvmBackend(trace)
                self.backend = 'llvm'
            except CompilerUnavailableError as reason:
                _warn_once(f'kernels run as plain Python, which is slower: {reason}')
            except (RuntimeError, OSError, MemoryError) as reason:
                _warn_once(f'{trace.name} runs as plain Python, which is slower: {reason}')
        self._entry = self.bind(_not_taken)
        self.call = self.bind(self._call_general)
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
        return f'<Kernel {self.name}({inputs}): {self.operation_count} operations, {self.backend}>'

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
        return self.call(*values) if out is None else self.call(*values, out=out)

    def bind(self, slow_path: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel as a function with a slow path of your own.

        Args:
            slow_path: called with all arguments as they came, wherever these are not exactly one
                C-contiguous float64 array of the right shape an input (a float for a scalar one)
                and at most ``out=``, or where a number is not finite.

        Returns:
            A builtin function without any Python between the caller and the machine code; where
            there is none, ``slow_path`` itself.
        """
        if isinstance(self._runner, PythonBackend):
            return slow_path
        return self._runner.bind(slow_path)

    def _call_general(self, *values: Any, out: Any = None) -> Any:
        """Compute for arguments of any kind: convert, broadcast, or raise the clear error."""
        variables = self.trace.inputs
        if len(values) != len(variables):
            names = ', '.join(x.name for x in variables)
            raise TypeError(
                f'{self.name}() takes {len(variables)} arrays ({names}), got {len(values)}'
            )
        arrays = [arguments.as_input(x, value) for x, value in zip(variables, values)]
        leading = arguments.leading_shape(variables, arrays)
        if not leading and out is None:
            # Converted to what the entry point takes, unless a number is not finite.
            answer = self._entry(*[x if x.ndim else float(x) for x in arrays])
            if answer is not NotImplemented:
                return answer
        results, work = arguments.as_outputs(self.trace.outputs, leading, out, arrays)
        if not self._runner.run(arrays, leading, work):
            arguments.refuse_non_finite(variables, arrays)
        for result, computed in zip(results, work):
            if result is not computed:
                result[...] = computed
        if out is None:
            results = [x if x.ndim else x[()] for x in results]
        return results[0] if len(results) == 1 else tuple(results)


@lru_cache(maxsize=1024)
def _warn_once(message: str) -> None:
    _log.warning(message)


def _not_taken(*_: Any) -> Any:
    return NotImplemented
