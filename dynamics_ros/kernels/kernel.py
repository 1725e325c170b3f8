"""A trace ready to be called with NumPy arrays."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import arguments
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.requirement import unmet
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError, MachineCode
from dynamics_ros.kernels.machine_code import LlvmBackend
from dynamics_ros.kernels.process import compile_queue as background
from dynamics_ros.kernels.source.python_backend import PythonBackend

BACKENDS = ('auto', 'llvm', 'python')

WAIT_OPERATIONS = 5000
"""Up to so many operations, some 0.15 s, a kernel is compiled before it is first used."""

_log = logging.getLogger('dynamics_ros.kernels')


class Kernel:
    """A compiled trace: a function of float64 arrays that broadcasts over leading axes.

    Attributes:
        trace: what it computes.
        backend: what runs, ``'llvm'`` (machine code) or ``'python'``.
        compile_seconds: how long it took to make; 0 until it is ready.
        call: the same as calling the kernel, with less overhead; another one once it is ready.
    """

    def __init__(self, trace: Trace, backend: str = 'auto', wait: bool | None = None) -> None:
        """Make a kernel.

        Args:
            trace: what it computes.
            backend: ``'llvm'``, ``'python'``, or ``'auto'``: llvm where it can be had. Where it
                cannot, the plain Python function runs and one log line says why.
            wait: True to compile now; False to compile in the background while the plain Python
                function answers; None to wait for all with ``'llvm'``, and else for small traces
                unless the compiler is busy with a large one.

        Raises:
            InvalidArgumentError: an unknown back end.
        """
        if backend not in BACKENDS:
            raise InvalidArgumentError('backend', repr(backend), f'one of {BACKENDS}')
        if wait is None and backend == 'llvm':
            wait = True
        self.trace = trace
        self.backend = 'python'
        self.compile_seconds = 0.0
        self._runner: LlvmBackend | PythonBackend = PythonBackend(trace)
        self._entry: Callable[..., Any] = _not_taken
        self.call: Callable[..., Any] = self._call_general
        self._wait = wait
        self._ready = backend == 'python'
        self._callbacks: list[Callable[[], None]] = []
        if not self._ready:
            self._compile_when_fit(_compiling(weakref.ref(self)))

    @property
    def name(self) -> str:
        """Name of the traced function."""
        return self.trace.name

    @property
    def operation_count(self) -> int:
        """Number of scalar operations of one state."""
        return self.trace.operation_count

    @property
    def ready(self) -> bool:
        """Whether it will run no faster than it does: it is not being compiled any more."""
        if not self._ready:
            background.resume()
        return self._ready

    @property
    def machine_code(self) -> MachineCode | None:
        """The compiled functions (see ``LlvmBackend.code``); None where plain Python runs."""
        runner = self._runner
        return None if isinstance(runner, PythonBackend) else runner.code

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the kernel is ready; return whether it is.

        Args:
            timeout: how long at most [s]; None for as long as it takes.
        """
        if not self.ready:
            with background.changed:
                background.changed.wait_for(lambda: self._ready, timeout)
        return self._ready

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Call a function when the kernel is ready, from the thread that compiles; or now."""
        with background.changed:
            if not self.ready:
                self._callbacks.append(callback)
                return
        callback()

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
            Exception: what the trace says about inputs and results that it does not allow.
        """
        return self.call(*values) if out is None else self.call(*values, out=out)

    def bind(
        self, slow_path: Callable[..., Any], method: Callable[..., Any] | None = None
    ) -> Callable[..., Any]:
        """Return the kernel as a function with a slow path of your own.

        Args:
            slow_path: called with all arguments as they came, wherever these are not exactly one
                C-contiguous float64 array of the right shape an input (a float for a scalar one)
                and at most ``out=``, where a number is not finite, and where the trace does not
                allow an input or a result.
            method: a bound method that the function is to look like; it then takes no ``out=``.

        Returns:
            A builtin function without any Python between the caller and the machine code; where
            there is none, or none yet, ``slow_path`` itself.
        """
        runner = self._runner
        return slow_path if isinstance(runner, PythonBackend) else runner.bind(slow_path, method)

    def _compile_when_fit(self, job: Callable[[], None]) -> None:
        """Run a job that compiles, now or in the background."""
        wait = self._wait
        if wait is None:
            wait = self.operation_count <= WAIT_OPERATIONS and not background.is_busy()
        if wait:
            job()
        else:
            background.submit(self.operation_count, job)

    def _compile(self) -> None:
        """Put machine code in the place of plain Python, where that can be done."""
        started = time.perf_counter()
        try:
            runner = LlvmBackend(self.trace, self._compile_when_fit)
        except CompilerUnavailableError as reason:
            _warn_once(f'kernels run as plain Python, which is slower: {reason}')
        except Exception as reason:
            # Whatever went wrong: plain Python is right, and who compiles must go on.
            _warn_once(f'{self.name} runs as plain Python, which is slower: {reason}')
        else:
            self._entry = runner.bind(_not_taken)
            self._runner = runner
            self.call = runner.bind(self._call_general)
            self.backend = 'llvm'
            self.trace.forget_functions()
        self.compile_seconds = time.perf_counter() - started
        with background.changed:
            self._ready = True
            callbacks, self._callbacks = self._callbacks, []
            background.changed.notify_all()
        for callback in callbacks:
            callback()

    def _call_general(self, *values: Any, out: Any = None) -> Any:
        """Compute for arguments of any kind: convert, broadcast, or raise the clear error."""
        if not self._ready:
            background.resume()
        variables = self.trace.inputs
        if len(values) != len(variables):
            names = ', '.join(x.name for x in variables)
            raise TypeError(
                f'{self.name}() takes {len(variables)} arrays ({names}), got {len(values)}'
            )
        arrays = [arguments.as_input(x, value) for x, value in zip(variables, values)]
        leading = arguments.leading_shape(variables, arrays)
        if not leading and out is None:
            # Converted to what the entry point takes, unless a number is not allowed.
            answer = self._entry(*[x if x.ndim else float(x) for x in arrays])
            if answer is not NotImplemented:
                return answer
        results, work = arguments.as_outputs(self.trace.outputs, leading, out, arrays)
        if 0 in leading:
            # Where no state is computed, numbers that all states share are still looked at.
            arguments.refuse_non_finite(variables, arrays)
        if not self._runner.run(arrays, leading, work):
            arguments.refuse_non_finite(variables, arrays)
            raise self._refusal(arrays, leading)
        for result, computed in zip(results, work):
            if result is not computed:
                result[...] = computed
        if out is None:
            results = [x if x.ndim else x[()] for x in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _refusal(self, arrays: list[Array], leading: tuple[int, ...]) -> Exception:
        """Return the error of a call whose inputs are finite."""
        error = unmet(self.trace, arrays, leading)
        if error is None and self.trace.finite_results is not None:
            error = self.trace.finite_results()
        return error or RuntimeError(f'{self.name} refused what it allows')


def _compiling(kernel: weakref.ref[Kernel]) -> Callable[[], None]:
    """Return a job that compiles a kernel, unless nobody needs it any more."""

    def job() -> None:
        alive = kernel()
        if alive is not None:
            alive._compile()

    return job


@lru_cache(maxsize=1024)
def _warn_once(message: str) -> None:
    _log.warning(message)


def _not_taken(*_: Any) -> Any:
    return NotImplemented
