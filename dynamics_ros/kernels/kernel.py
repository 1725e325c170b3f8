# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trace ready to be called with NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.autodiff.derivative import derivative, hessian, pullback
from dynamics_ros.kernels.compilation import Compilation
from dynamics_ros.kernels.cpython import arguments
from dynamics_ros.kernels.cpython.arguments import FLOAT32, FLOAT64, Array
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.llvm.compiler import MachineCode
from dynamics_ros.kernels.machine_code import LlvmBackend
from dynamics_ros.kernels.python_backend import PythonBackend

BACKENDS = ('auto', 'llvm', 'python')


class Kernel:
    """A compiled trace: a function of float64 arrays that broadcasts over leading axes.

    Attributes:
        trace: what it computes.
        bound: what the bound input of the trace is bound to, read-only; None where there is none.
        call: the same as calling the kernel, with less overhead; another one once it is ready.
    """

    def __init__(self, trace: Trace, backend: str = 'auto', wait: bool | None = None) -> None:
        """Make a kernel; one of a trace with a bound input is bound to zeros.

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
        bound = _fixed(np.zeros(trace.inputs[-1].shape)) if trace.bound else None
        self._use(Compilation(trace, backend, wait), bound)

    def _use(self, compilation: Compilation, bound: Array | None) -> None:
        self.trace = compilation.trace
        self.bound = bound
        self._compilation = compilation
        # The machine code's slow path knows nothing of this object: so there is no cycle.
        self._general = GeneralCall(compilation, bound)
        self.call: Callable[..., Any] = self._general
        compilation.tell(self._take)
        if compilation.finished:
            self._take()

    def _take(self) -> None:
        """Let ``call`` be the machine code from now on, where the compilation has made some."""
        runner = self._compilation.runner
        if not isinstance(runner, PythonBackend):
            self._general.entry = runner.bind(_not_taken, self.bound)
            self.call = runner.bind(self._general, self.bound)

    def bound_to(self, values: Array) -> Kernel:
        """The same machine code with its bound input bound to other numbers; nothing is compiled.

        Args:
            values: as many as the bound input has; they are copied.

        Raises:
            InvalidArgumentError: another shape, or the trace has no bound input.
        """
        variable = self.trace.inputs[-1] if self.trace.bound else None
        if variable is None or np.shape(values) != variable.shape:
            problem, expected = f'shape {np.shape(values)}', 'a kernel with a bound input'
            if variable is not None:
                expected = f'shape {variable.shape}'
            raise InvalidArgumentError('values', problem, expected)
        other: Kernel = object.__new__(type(self))
        other._use(self._compilation, _fixed(np.array(values, dtype=np.float64)))
        return other

    def derivative(self, by: str, of: str = 'result', mode: str = 'auto') -> Kernel:
        """Return the kernel of the derivative of one output by one input.

        The derivative of that one is the second derivative; of a cost ``hessian`` is shorter.

        Args:
            by: name of an input.
            of: name of an output.
            mode: 'forward', 'reverse' or 'auto', as for ``kernels.jacobian``.

        Returns:
            A kernel of the same inputs; its result has the shape of the output followed by the
            shape of the input. It is by coordinates: of a quaternion by its four numbers.

        Raises:
            InvalidArgumentError: no such input or output, or it is computed by what has no
                derivative, such as a loop.
        """
        return self._of(derivative(self.trace, by, of, mode))

    def hessian(self, by: str, of: str = 'result') -> Kernel:
        """Return the kernel of the second derivative of a scalar output by one input.

        It takes fewer operations than the derivative of the derivative: the order of the sweeps is
        chosen by what they come to, and entries that are the same are computed once.

        Args:
            by: name of an input.
            of: name of an output.

        Returns:
            A kernel of the same inputs; its result has the shape of the input twice.

        Raises:
            InvalidArgumentError: as for ``derivative``, or an output that is no scalar.
        """
        return self._of(hessian(self.trace, by, of))

    def pullback(self) -> Kernel:
        """Return the kernel of the gradients of weighted results: dy/dx^T w for each input x.

        Returns:
            A kernel of the same inputs, followed by weights w of the shape of each output; it
            returns the gradient by each input.

        Raises:
            InvalidArgumentError: an output is computed by what has no derivative, such as a loop.
        """
        return self._of(pullback(self.trace))

    def _of(self, traced: Trace) -> Kernel:
        """Return the kernel of a trace with the same bound input, bound as this one is."""
        made = Kernel(traced, self._compilation.backend)
        return made if self.bound is None else made.bound_to(self.bound)

    @property
    def name(self) -> str:
        """Name of the traced function."""
        return self.trace.name

    @property
    def operation_count(self) -> int:
        """Number of scalar operations of one state."""
        return self.trace.operation_count

    @property
    def backend(self) -> str:
        """What runs, ``'llvm'`` (machine code) or ``'python'``."""
        return 'python' if isinstance(self._compilation.runner, PythonBackend) else 'llvm'

    @property
    def compile_seconds(self) -> float:
        """How long it took to make; 0 until it is ready."""
        return self._compilation.seconds

    @property
    def ready(self) -> bool:
        """Whether it will run no faster than it does: it is not being compiled any more."""
        return self._compilation.finished

    @property
    def runner(self) -> LlvmBackend | PythonBackend:
        """What computes it now; another one once it is ready."""
        return self._compilation.runner

    @property
    def machine_code(self) -> MachineCode | None:
        """The compiled functions (see ``LlvmBackend.code``); None where plain Python runs."""
        runner = self._compilation.runner
        return None if isinstance(runner, PythonBackend) else runner.code

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the kernel is ready; return whether it is.

        Args:
            timeout: how long at most [s]; None for as long as it takes.
        """
        return self._compilation.wait(timeout)

    def on_ready(self, callback: Callable[[], None]) -> None:
        """Call a function when the kernel is ready, from the thread that compiles; or now."""
        self._compilation.on_finished(callback)

    def __copy__(self) -> Kernel:
        return self  # nothing of it changes

    def __deepcopy__(self, _: Any) -> Kernel:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code stays in its process; a copy in another one makes its own.
        return _remade, (type(self), self.trace, self._compilation.backend, self.bound)

    def __repr__(self) -> str:
        inputs = ', '.join(f'{x.name}{x.shape}' for x in self.trace.arguments)
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

    def float32(self, *values: Any, out: Any = None) -> Any:
        """Compute the outputs of many states in single precision: twice as many at once.

        Fewer than 32 states, and states that single precision refuses, are computed as by the
        kernel itself and rounded; so are all until the code for many states is there. What is
        computed in single precision is off by some 1e-6 of the largest result, times the condition
        number of what is solved.

        Args:
            values: one array an input, as for a call; float32 arrays are taken as they are.
            out: a float32 array to fill and return, or one for each of several outputs.

        Returns:
            float32 array (..., output shape), a tuple of them for several outputs. A number beyond
            3.4e38 is infinite.

        Raises:
            InvalidArgumentError, TypeError, Exception: as for a call.
        """
        return self._general.single(values, out)

    def bind(
        self, slow_path: Callable[..., Any], method: Callable[..., Any] | None = None
    ) -> Callable[..., Any]:
        """Return the kernel as a function with a slow path of your own.

        Args:
            slow_path: called with all arguments as they came, wherever these are not exactly one
                C-contiguous float64 array of the right shape an input (a float for a scalar one)
                and at most ``out=``, where a number is not finite, and where the trace does not
                allow an input or a result.
            method: a bound method that the function is to look like.

        Returns:
            A builtin function without any Python between the caller and the machine code; where
            there is none, or none yet, ``slow_path`` itself.
        """
        runner = self._compilation.runner
        if isinstance(runner, PythonBackend):
            return slow_path
        return runner.bind(slow_path, self.bound, method)


class GeneralCall:
    """A kernel for arguments of any kind: converts, broadcasts, or raises the clear error.

    Attributes:
        entry: the entry point of the machine code, once it is there.
    """

    def __init__(self, compilation: Compilation, bound: Array | None) -> None:
        self._compilation = compilation
        self._bound = () if bound is None else (bound,)
        self.entry: Callable[..., Any] = _not_taken

    def _inputs(self, values: Sequence[Any], dtype: Any) -> tuple[list[Array], tuple[int, ...]]:
        """Return the arguments as arrays, and the broadcast shape of their leading axes."""
        trace, taken = self._compilation.trace, self._compilation.trace.arguments
        if len(values) != len(taken):
            names = ', '.join(x.name for x in taken)
            raise TypeError(
                f'{trace.name}() takes {len(taken)} arrays ({names}), got {len(values)}'
            )
        arrays = [arguments.as_input(x, value, dtype) for x, value in zip(taken, values)]
        return arrays, arguments.leading_shape(taken, arrays)

    def single(self, values: Sequence[Any], out: Any = None) -> Any:
        """Compute in single precision: as ``Kernel.float32``."""
        compilation = self._compilation
        compilation.resume()
        outputs, runner = compilation.trace.outputs, compilation.runner
        with np.errstate(over='ignore'):
            arrays, leading = self._inputs(values, FLOAT32)
        arrays += [x.astype(FLOAT32) for x in self._bound]
        results, work = arguments.as_outputs(outputs, leading, out, arrays, FLOAT32)
        if isinstance(runner, PythonBackend) or not runner.run(arrays, leading, work):
            # Double precision computes it, or says what is wrong.
            exact = self(*values)
            work = [np.asarray(x) for x in (exact if len(outputs) > 1 else (exact,))]
        with np.errstate(over='ignore'):
            return _returned(results, work, out)

    def __call__(self, *values: Any, out: Any = None) -> Any:
        """Compute: as ``Kernel.__call__``."""
        compilation = self._compilation
        compilation.resume()
        trace = compilation.trace
        arrays, leading = self._inputs(values, FLOAT64)
        if not leading and out is None:
            # Converted to what the entry point takes, unless a number is not allowed.
            answer = self.entry(*[x if x.ndim else float(x) for x in arrays])
            if answer is not NotImplemented:
                return answer
        arrays += self._bound
        results, work = arguments.as_outputs(trace.outputs, leading, out, arrays)
        if 0 in leading:
            # Where no state is computed, numbers that all states share are still looked at.
            arguments.refuse_non_finite(trace.inputs, arrays)
        if not compilation.runner.run(arrays, leading, work):
            arguments.refuse_non_finite(trace.inputs, arrays)
            raise _refusal(compilation, arrays, leading)
        return _returned(results, work, out)


def _returned(results: list[Array], work: list[Array], out: Any) -> Any:
    """Return the results, into which what was computed elsewhere is copied.

    Args:
        results: of each output the array that is returned.
        work: of each output the array that was filled, the same one or another.
        out: what the caller gave; None where scalars are returned as numbers.
    """
    for result, computed in zip(results, work):
        if result is not computed:
            result[...] = computed
    if out is None:
        results = [x if x.ndim else x[()] for x in results]
    return results[0] if len(results) == 1 else tuple(results)


def _refusal(compilation: Compilation, arrays: list[Array], leading: tuple[int, ...]) -> Exception:
    """Return the error of a call whose inputs are finite."""
    trace = compilation.trace
    error = compilation.plain.unmet(arrays, leading)
    if error is None and trace.finite_results is not None:
        error = trace.finite_results(compilation.plain.unanswered(arrays, leading))
    return error or RuntimeError(f'{trace.name} refused what it allows')


def _remade(kind: type[Kernel], trace: Trace, backend: str, bound: Array | None) -> Kernel:
    kernel = kind(trace, backend)
    return kernel if bound is None else kernel.bound_to(bound)


def _fixed(values: Array) -> Array:
    """Make an array read-only: several kernels may be bound to it."""
    values.setflags(write=False)
    return values


def _not_taken(*_: Any) -> Any:
    return NotImplemented
