# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels: traces that are compiled, and called with NumPy arrays.

A `Compilation` runs a trace in plain Python until there is machine code, and is shared by the
kernels that run it. The extension module `_native` calls machine code. Arguments that do not match
exactly what the kernel takes are handed unchanged to a slow path. The extension module is optional:
for a package that was installed without a C compiler, or whose extension is of another NumPy, the
slow path takes all calls. It converts arguments in Python and calls machine code through ctypes,
which takes some ten microseconds.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import math
import os
import time
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import attrgetter, is_
from typing import Any, TypeVar

import numpy as np

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import arguments
from dynamics_ros.kernels.arguments import Array, address
from dynamics_ros.kernels.autodiff import derivative, hessian, pullback
from dynamics_ros.kernels.graph.trace import Trace, collector_paused
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import CompilerUnavailableError, MachineCode
from dynamics_ros.kernels.llvm.source import emit as trace_module
from dynamics_ros.kernels.llvm.source import emit_batch
from dynamics_ros.kernels.process import background
from dynamics_ros.kernels.source import PlainFunction

BACKENDS = ('auto', 'llvm', 'python')

QUICK_OPERATIONS = 100_000
"""Longer traces are compiled without optimization, which would take half a minute or more on a busy
machine. Optimized code takes about 0.7 of the run time.
"""

WAIT_OPERATIONS = 5000
"""Traces of up to this many operations (about 0.15 s) are compiled before their first use."""

BATCH_STATES = 32
"""Smaller batches run state by state: they save too little time to pay for compilation."""

VERSION = 2
"""Version of `_native` that this module calls."""

SHAPE = attrgetter('shape')

_log = logging.getLogger('dynamics_ros.kernels')

_Method = TypeVar('_Method', bound=Callable[..., Any])


def _loaded() -> tuple[Any, str]:
    """Return the extension module or None, and why there is none."""
    try:
        module = importlib.import_module('dynamics_ros.kernels._native')
    except (ImportError, RuntimeError) as error:
        # NumPy raises a RuntimeError for an extension that was built for another NumPy.
        return None, f'the extension module dynamics_ros.kernels._native is not used: {error}'
    if module.VERSION != VERSION:
        return None, 'the extension module dynamics_ros.kernels._native is of another version'
    return module, ''


native, why_not_native = _loaded()


def call_path() -> str:
    """Return how machine code is called: 'extension module', or 'ctypes', which is slower."""
    return 'ctypes' if native is None else 'extension module'


def method_of(function: _Method) -> _Method:
    """Return a method that looks for machine code before it runs its function.

    The object has a dictionary ``_direct_calls`` with the calls of ready kernels by name of the
    method. For a method with a parameter ``frame`` there is a dictionary by name of the frame
    instead, and in that one, if an argument follows, one by that (None where it is not given).
    Machine code takes the arguments before the frame; calls that it does not take go unchanged to
    the function. Without the extension module the method is the function.
    """
    if native is None:
        return function
    names = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name == 'frame' or parameter.default is not parameter.empty:
            break
        names.append(parameter.name)
    method: _Method = native.Method(function, len(names))
    return method


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


class Compilation:
    """Runner of a trace: plain Python at first, machine code once it is compiled.

    Code for batches, which computes one state in each vector lane, is compiled when a batch first
    asks for it.

    Attributes:
        trace: the trace to run.
        backend: the requested backend: 'llvm', 'python' or 'auto'.
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
        self.code: MachineCode | None = None
        self.seconds = 0.0
        self._on_disk: bytes | None = None
        self._batches: MachineCode | None = None
        self._requested = 0
        self._wait = True if wait is None and backend == 'llvm' else wait
        self._finished = backend == 'python'
        if not self._finished:
            # The compiler has nothing to do for what is on disk.
            self._on_disk = llvm_compiler.kept_code(trace.origin, _quickly(trace))
            self._run_when_fit(self.compile, self._on_disk is not None)

    @computed_once
    def plain(self) -> PlainFunction:
        """The plain Python function, used until there is machine code."""
        return PlainFunction(self.trace)

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
        code = self.code
        if code is None:
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
            code = self._batch() or code
        starts = [address(x) for x, _ in described]
        return code.run(starts, [stride for _, stride in described], states) == states

    def _batch(self) -> MachineCode | None:
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
            made, self._on_disk = self._on_disk or background.run(partial(assemble, trace)), None
            self.code = llvm_compiler.linked(made, ['batch'])
        except CompilerUnavailableError as reason:
            warn_once(f'kernels run as plain Python, which is slower: {reason}')
        except Exception as reason:
            # Any failure leaves plain Python, which is correct; the compiler thread must go on.
            warn_once(f'{trace.name} runs as plain Python, which is slower: {reason}')
        else:
            # Frees the memory of the plain functions that machine code has replaced.
            vars(self).pop('plain', None)
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
            self._batches = llvm_compiler.linked(llvm_compiler.object_code(lambda: ir), ['batch'])
        except (CompilerUnavailableError, RuntimeError, OSError, MemoryError) as reason:
            _log.warning('%s computes a batch state by state: %s', trace.name, reason)


@lru_cache(maxsize=1024)
def warn_once(message: str) -> None:
    """Log a warning that was not logged before."""
    _log.warning(message)


class Kernel:
    """Compiled trace: a function of float64 arrays that broadcasts over leading axes.

    Attributes:
        trace: the compiled trace.
        compilation: what runs it, shared by kernels with other bound values.
        bound: read-only value of the trace's bound input; None if it has none.
        call: same as calling the kernel, with less overhead; replaced once the kernel is ready.
    """

    def __init__(self, trace: Trace, backend: str = 'auto', wait: bool | None = None) -> None:
        """Compile a trace; a bound input is bound to zeros.

        Args:
            trace: the trace to compile.
            backend: ``'llvm'``, ``'python'``, or ``'auto'``: llvm if available, else the plain
                Python function and one log line with the reason.
            wait: True compiles now; False compiles in the background while the plain Python
                function answers; None waits for every trace with ``'llvm'``, otherwise only for
                small traces, unless the compiler is busy with a large one.

        Raises:
            InvalidArgumentError: the backend is unknown.
        """
        if backend not in BACKENDS:
            raise InvalidArgumentError('backend', repr(backend), f'one of {BACKENDS}')
        bound = _fixed(np.zeros(trace.inputs[-1].shape)) if trace.bound else None
        self._use(Compilation(trace, backend, wait), bound)

    def _use(self, compilation: Compilation, bound: Array | None) -> None:
        self.trace = compilation.trace
        self.compilation = compilation
        self.bound = bound
        self._general = GeneralCall(self)
        self.call: Callable[..., Any] = self._general
        if compilation.finished:
            self._take()

    def _take(self) -> None:
        """Set ``call`` to the machine code, if the compilation has made some."""
        if self.compilation.code is not None and self.call is self._general:
            if native is None:
                warn_once(f'kernels are called through ctypes, slower: {why_not_native}')
            self.call = self.bind(self._general.not_taken)

    def bound_to(self, values: Array) -> Kernel:
        """Return a kernel of the same machine code with other values of its bound input.

        Nothing is compiled.

        Args:
            values: array of the bound input's shape; it is copied.

        Raises:
            InvalidArgumentError: the shape is wrong, or the trace has no bound input.
        """
        variable = self.trace.inputs[-1] if self.trace.bound else None
        if variable is None or np.shape(values) != variable.shape:
            expected = f'shape {variable.shape}' if variable else 'a kernel with a bound input'
            raise InvalidArgumentError('values', f'shape {np.shape(values)}', expected)
        other: Kernel = object.__new__(type(self))
        other._use(self.compilation, _fixed(np.array(values, dtype=np.float64)))
        return other

    def derivative(self, by: str, of: str = 'result', mode: str = 'auto') -> Kernel:
        """Return the kernel of the derivative of one output with respect to one input.

        The derivative of that kernel is the second derivative; for a scalar cost, ``hessian`` is
        shorter.

        Args:
            by: name of an input.
            of: name of an output.
            mode: 'forward', 'reverse' or 'auto', as for ``kernels.jacobian``.

        Returns:
            A kernel of the same inputs; its result has the shape of the output followed by the
            shape of the input. The derivative is with respect to coordinates: for a quaternion, its
            four numbers.

        Raises:
            InvalidArgumentError: there is no such input or output, or the output is computed by an
                operation without a derivative, such as a loop.
        """
        return self._of(derivative(self.trace, by, of, mode))

    def hessian(self, by: str, of: str = 'result') -> Kernel:
        """Return the kernel of the Hessian of a scalar output with respect to one input.

        It takes fewer operations than the derivative of the derivative: it uses the cheapest order
        of the sweeps, and computes equal entries once.

        Args:
            by: name of an input.
            of: name of an output.

        Returns:
            A kernel of the same inputs; its result has the shape of the input twice.

        Raises:
            InvalidArgumentError: as for ``derivative``, or the output is not a scalar.
        """
        return self._of(hessian(self.trace, by, of))

    def pullback(self) -> Kernel:
        """Return the kernel of the vector-Jacobian product: dy/dx^T w for each input x.

        Returns:
            A kernel of the same inputs, followed by weights w of the shape of each output; it
            returns the gradient with respect to each input.

        Raises:
            InvalidArgumentError: an output is computed by an operation without a derivative, such
                as a loop.
        """
        return self._of(pullback(self.trace))

    def _of(self, traced: Trace) -> Kernel:
        """Return the kernel of a trace with the same bound input, bound to this kernel's values."""
        made = Kernel(traced, self.compilation.backend)
        # A derivative may not depend on the bound input.
        return made.bound_to(self.bound) if self.bound is not None and traced.bound else made

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
        """The running backend, ``'llvm'`` (machine code) or ``'python'``."""
        return 'python' if self.compilation.code is None else 'llvm'

    @property
    def compile_seconds(self) -> float:
        """Compile time [s]; 0 until the kernel is ready."""
        return self.compilation.seconds

    @property
    def ready(self) -> bool:
        """Whether compilation is over, so that ``call`` is final."""
        finished = self.compilation.finished
        if finished:
            self._take()
        return finished

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the kernel is ready; return whether it is.

        Args:
            timeout: longest time to wait [s]; None waits without limit.
        """
        self.compilation.wait(timeout)
        return self.ready

    def __copy__(self) -> Kernel:
        return self  # kernels are immutable

    def __deepcopy__(self, _: Any) -> Kernel:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code belongs to its process; an unpickled kernel compiles its own.
        return _remade, (type(self), self.trace, self.compilation.backend, self.bound)

    def __repr__(self) -> str:
        inputs = ', '.join(f'{x.name}{x.shape}' for x in self.trace.arguments)
        return f'<Kernel {self.name}({inputs}): {self.operation_count} operations, {self.backend}>'

    def __call__(self, *values: Any, out: Any = None) -> Any:
        """Compute the outputs of one state, or of many over leading axes.

        Args:
            values: one array per input, shape (..., input shape); leading axes broadcast.
            out: an array to fill and return, or one for each of several outputs.

        Returns:
            float64 array (..., output shape), a tuple of them for several outputs; a scalar output
            without leading axes is a NumPy float.

        Raises:
            InvalidArgumentError: an argument has a wrong shape or type, or is not finite.
            TypeError: the number of arguments is wrong.
            Exception: the error of the trace for inputs and results that it does not allow.
        """
        return self.call(*values) if out is None else self.call(*values, out=out)

    def bind(self, slow_path: Callable[..., Any]) -> Callable[..., Any]:
        """Return the kernel as a function with the caller's slow path.

        Args:
            slow_path: called with all arguments unchanged unless each is a C-contiguous float64
                array of the right shape (a float for a scalar input) with at most ``out=`` as
                keyword, all numbers are finite, and the trace allows inputs and results.

        Returns:
            A function that runs machine code without Python in between; ``slow_path`` itself while
            there is no machine code, without the extension module, and for more arrays or axes than
            that takes.
        """
        code, trace = self.compilation.code, self.trace
        if native is None or code is None:
            return slow_path
        shapes = [tuple(map(SHAPE, variables)) for variables in (trace.arguments, trace.outputs)]
        made_of = self.bound, slow_path, trace.name, trace.description, code.token
        try:
            call: Callable[..., Any] = native.Call(code.addresses['batch'], *shapes, *made_of)
        except ValueError:
            return slow_path
        return call


class GeneralCall:
    """General call of a kernel: converts and broadcasts arguments, or raises a clear error.

    Machine code calls it with what it does not take; a reference to the kernel would be a cycle.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = weakref.ref(kernel)
        self._compilation = kernel.compilation
        self._bound = () if kernel.bound is None else (kernel.bound,)

    def _inputs(self, values: Sequence[Any]) -> tuple[list[Array], tuple[int, ...]]:
        """Return the arguments as arrays, and the broadcast shape of their leading axes."""
        trace, taken = self._compilation.trace, self._compilation.trace.arguments
        if len(values) != len(taken):
            names = ', '.join(x.name for x in taken)
            raise TypeError(
                f'{trace.name}() takes {len(taken)} arrays ({names}), got {len(values)}'
            )
        arrays = [arguments.as_input(x, value) for x, value in zip(taken, values)]
        return arrays, arguments.leading_shape(taken, arrays)

    def __call__(self, *values: Any, out: Any = None) -> Any:
        """Compute, as ``Kernel.__call__``."""
        return self._answer(values, out, True)

    def not_taken(self, *values: Any, out: Any = None) -> Any:
        """Compute what machine code does not take as it is."""
        return self._answer(values, out, False)

    def _answer(self, values: Sequence[Any], out: Any, untried: bool) -> Any:
        compilation, kernel = self._compilation, self._kernel()
        trace = compilation.trace
        arrays, leading = self._inputs(values)
        if not leading and out is None and kernel is not None:
            # Converted to what machine code takes, unless that has refused just these.
            exact = [
                y if type(y) is float else x if x.ndim else float(x) for x, y in zip(arrays, values)
            ]
            untried = (untried and kernel.ready) or not all(map(is_, exact, values))
            if untried and kernel.call is not self:
                return kernel.call(*exact)
        arrays += self._bound
        results, work = arguments.as_outputs(trace.outputs, leading, out, arrays)
        if 0 in leading:
            # With zero states, check the inputs that all states share.
            arguments.refuse_non_finite(trace.inputs, arrays)
        if compilation.run(arrays, leading, work):
            return _returned(results, work, out)
        arguments.refuse_non_finite(trace.inputs, arrays)
        unmet = compilation.plain.unmet(arrays)
        if unmet is not None:
            raise unmet
        if trace.finite_results is None:
            raise RuntimeError(f'machine code of {trace.name} rejects a state that it allows')
        raise trace.finite_results({x.name: array for x, array in zip(trace.inputs, arrays)})


def _returned(results: list[Array], work: list[Array], out: Any) -> Any:
    """Return the results, after copying those that were computed in separate arrays.

    Args:
        results: the array to return for each output.
        work: the array that was filled for each output, the same one or another.
        out: the caller's ``out``; None if scalars are returned as numbers.
    """
    for result, computed in zip(results, work):
        if result is not computed:
            result[...] = computed
    if out is None:
        results = [x if x.ndim else x[()] for x in results]
    return results[0] if len(results) == 1 else tuple(results)


def _remade(kind: type[Kernel], trace: Trace, backend: str, bound: Array | None) -> Kernel:
    kernel = kind(trace, backend)
    return kernel if bound is None else kernel.bound_to(bound)


def _fixed(values: Array) -> Array:
    """Return an array made read-only, because several kernels may share it."""
    values.setflags(write=False)
    return values
