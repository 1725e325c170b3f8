# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of one robot, traced and compiled when first used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from dynamics_ros.algorithms.quantity import (
    DEFAULT_REFERENCE,
    DEFINITIONS,
    Key,
    Options,
    define,
)
from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel, Requirement, Trace, Unanswered, trace, trace_cache
from dynamics_ros.kernels.kernel import BACKENDS
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.kernels.process.forks import FreshLock
from dynamics_ros.model import Model

from .parameters import FOLDED, INPUT, Folded

HUGE = 1e100
"""Positions [m or rad] beyond this may overflow; smaller ones point to a singular mass matrix."""

MANY = 128
"""Largest number of kept kernels with unlimited variants: one for each set of frames with wrenches,
of prescribed joints, or of constraints. The oldest are dropped; a later request rebuilds them,
mostly from the disk cache.
"""

UNIT_QUATERNION_TOLERANCE = 1e-6
"""Largest error of a quaternion's squared length."""


@dataclass(frozen=True)
class KernelInfo:
    """How a kernel runs.

    Attributes:
        backend: 'llvm' or 'python'; also 'python' while the machine code is being compiled.
        operation_count: scalar operations of the trace.
        compile_seconds: time from the trace to a callable.
    """

    backend: str
    operation_count: int
    compile_seconds: float


class CompiledKernels:
    """Kernels shared by sets whose models differ only in their parameters.

    Attributes:
        names: names of the compiled kernels, as in ``KernelSet.info``.
        kernels: by key, not bound to parameters yet.
    """

    def __init__(self, model: Model, backend: str, parameters: Folded) -> None:
        """Create the object without kernels.

        Args:
            model: the model to trace.
            backend: 'llvm', 'python' or 'auto'.
            parameters: the parameters that are kernel inputs.
        """
        self.names: set[str] = set()
        self.kernels: dict[Key, Kernel] = {}
        self._model = model
        self._backend = backend
        self._parameters = parameters
        self._many: list[Key] = []
        self._lock = FreshLock()

    def kernel(self, key: Key) -> Kernel:
        """Return the kernel of a key; compiles it the first time."""
        with self._lock:
            kernel = self.kernels.get(key)
            if kernel is None:
                kernel = self.kernels[key] = self._compile(key)
                self.names.add(_told(key))
                for old in _beyond(self._many, key):
                    self.kernels.pop(old, None)
                    self.names.discard(_told(old))
            return kernel

    def _compile(self, key: Key) -> Kernel:
        traced = compile_process.run(partial(_traced, self._model, self._parameters, key))
        return Kernel(traced, self._backend)


def _traced(model: Model, parameters: Folded, key: Key) -> Trace:
    """Return the trace of a kernel, from the disk cache if possible."""
    if any(x in DEFINITIONS and not DEFINITIONS[x].is_of_package for x in key[:2]):
        return _traced_anew(model, parameters, key)  # the digest covers this package alone
    made_of = parameters.rest(model), parameters, key
    return trace_cache.kept(made_of, partial(_traced_anew, model, parameters, key))


def _traced_anew(model: Model, parameters: Folded, key: Key) -> Trace:
    formula = define(model, key)
    definition = DEFINITIONS[key[0]]
    function, inputs = formula.function, dict(formula.inputs)
    shape = parameters.shape(model)
    if shape is not None:
        function, inputs[INPUT] = partial(_with_parameters, model, parameters, key), shape
    return trace(
        function,
        inputs,
        key[0],
        f'{model.name}: {" ".join(key)}',
        requirements=partial(_requirements, model, tuple(inputs)),
        finite_results=overflow_or_singular if definition.finite_results else None,
        bound=parameters.bound,
    )


def _with_parameters(model: Model, parameters: Folded, key: Key, *values: Any) -> Any:
    """Return the function of a kernel, whose last argument is the parameters."""
    return define(parameters.model(model, values[-1]), key).function(*values[:-1])


def _requirements(model: Model, names: Sequence[str], *symbols: Any) -> Iterator[Requirement]:
    """Require unit quaternions in the configurations among the inputs."""
    quaternions = [
        joint.q_indices[joint.kind.quaternion]
        for joint in model.joints
        if joint.kind.quaternion is not None
    ]
    for name, symbol in zip(names, symbols, strict=True):
        if not name.startswith('q'):
            continue
        for part in quaternions:
            x, y, z, w = (symbol[i] for i in part)
            yield Requirement(
                x * x + y * y + z * z + w * w,
                1.0 - UNIT_QUATERNION_TOLERANCE,
                1.0 + UNIT_QUATERNION_TOLERANCE,
                partial(_no_unit_quaternion, name),
            )


@cache
def kernel_without_robot(name: str) -> Kernel:
    """Return the kernel of a quantity that depends on no robot, such as a step of a setpoint.

    Waits for the compilation, because there is no time for it once an arm moves.
    """
    formula = DEFINITIONS[name].formula(None)
    return Kernel(trace(formula.function, formula.inputs, name), wait=True)


class KernelSet:
    """Kernels of a model by key (name, *options); may be used from several threads.

    The kernel itself checks its requirements, finite numbers and unit quaternions, in machine code.

    Attributes:
        model: the model.
        backend: 'llvm', 'python' or 'auto'.
        parameters: the model parameters that are kernel inputs.
        calls: the kernels whose compilation is over, as functions of their inputs.
        direct_calls: those of them that methods find by name, frame and reference, as
            ``kernels.calls.method_of`` wants them.
    """

    def __init__(
        self,
        model: Model,
        backend: str,
        parameters: Folded = FOLDED,
        compiled: CompiledKernels | None = None,
    ) -> None:
        """Create a set.

        Args:
            model, backend, parameters: as above.
            compiled: kernels compiled for another model with the same parameters; None for none.

        Raises:
            InvalidArgumentError: the backend is unknown.
        """
        if backend not in BACKENDS:
            raise InvalidArgumentError('backend', repr(backend), f'one of {BACKENDS}')
        self.model = model
        self.backend = backend
        self.parameters = parameters
        self.calls: dict[Key, Callable[..., Any]] = {}
        self.direct_calls: dict[str, Any] = {}
        self._kernels: dict[Key, Kernel] = {}
        self._many: list[Key] = []
        self._numbers = parameters.numbers(model)
        self._compiled = compiled or CompiledKernels(model, backend, parameters)

    @property
    def names(self) -> set[str]:
        """Names of the compiled kernels, as in ``info``."""
        return self._compiled.names

    def of(self, model: Model) -> KernelSet:
        """Return the set of another model; shares compiled kernels if only parameters differ."""
        fits = self.parameters.fits(self.model, model)
        return KernelSet(model, self.backend, self.parameters, self._compiled if fits else None)

    def shares(self, other: KernelSet) -> bool:
        """Return whether both run the same machine code."""
        return self._compiled is other._compiled

    def call(self, key: Key) -> Callable[..., Any]:
        """Return the kernel as a function of its inputs; kept in ``calls`` once it is final.

        Raises:
            UnknownFrameError, InvalidArgumentError: an option that the model does not know.
            SingularError: a joint moves neither mass nor inertia, whatever q is.
        """
        kernel = self.kernel(key)
        if kernel.ready:
            self.calls[key] = kernel.call
            self._add_direct_call(key, kernel.call)
        return kernel.call

    def _add_direct_call(self, key: Key, call: Callable[..., Any]) -> None:
        name, *names = key
        kind = DEFINITIONS[name].options
        if not names:
            self.direct_calls[name] = call
        elif kind is Options.FRAME:
            frames = self.direct_calls.setdefault(name, {})
            frames[names[0]] = call
            if names[0] == self.model.tool_frame:
                frames[None] = call
        elif kind is Options.FRAME_AND_REFERENCE and len(names) == 2:
            frame, reference = names
            frames = self.direct_calls.setdefault(name, {})
            calls = frames.setdefault(frame, {})
            calls[reference] = call
            if frame == self.model.tool_frame:
                frames[None] = calls
            if reference == DEFAULT_REFERENCE:
                calls[None] = call

    def kernel(self, key: Key) -> Kernel:
        """Return the kernel; compiles it the first time. Raises as ``call`` does."""
        try:
            kernel = self._kernels.get(key)
        except (TypeError, ValueError):
            # A frame or reference that cannot be part of a key: the definition raises the error.
            define(self.model, key)
            raise
        if kernel is not None:
            return kernel  # does not wait while another kernel is traced
        kernel = self._compiled.kernels.get(key) or self._compiled.kernel(key)
        if kernel.bound is not None and self._numbers is not None:
            kernel = kernel.bound_to(self._numbers)
        for old in _beyond(self._many, key):
            self._kernels.pop(old, None)
            self.calls.pop(old, None)
        return self._kernels.setdefault(key, kernel)

    def info(self) -> dict[str, KernelInfo]:
        """Return information about the kernels compiled so far, by 'name(options)'."""
        # Without the lock, which is held while a kernel is traced, so that the caller does not
        # wait.
        kernels = sorted(self._compiled.kernels.copy().items())
        return {
            _told(key): KernelInfo(kernel.backend, kernel.operation_count, kernel.compile_seconds)
            for key, kernel in kernels
        }


def _beyond(many: list[Key], key: Key) -> list[Key]:
    """Record a key with unlimited variants; return the keys that exceed the limit."""
    name, *options = key
    kind = DEFINITIONS[name].options
    if not options or kind in (Options.NONE, Options.FRAME, Options.FRAME_AND_REFERENCE):
        return []
    many.append(key)
    old = many[:-MANY]
    del many[: len(old)]
    return old


def _told(key: Key) -> str:
    """Return a key in the notation for users."""
    return f'{key[0]}({", ".join(key[1:])})'


def _no_unit_quaternion(name: str, squared: float) -> InvalidArgumentError:
    problem = f'quaternion of length {math.sqrt(squared):.6g}'
    return InvalidArgumentError(name, problem, 'a unit quaternion (x, y, z, w)')


def overflow_or_singular(state: Unanswered) -> Exception:
    """Return the error of a state whose results are not finite.

    A mass matrix does not depend on velocities, accelerations, torques and wrenches. It is
    therefore not singular if the same configuration at rest has a finite result.

    Args:
        state: inputs by name; those that begin with q are configurations.
    """
    fixed = {x for x in state.inputs if x.startswith('q') or x == INPUT}
    at_rest = {name: x if name in fixed else np.zeros_like(x) for name, x in state.inputs.items()}
    largest = {name: float(np.abs(x).max(initial=0.0)) for name, x in state.inputs.items()}
    if max((largest[name] for name in fixed), default=0.0) < HUGE and not state.has_answer(at_rest):
        return SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    blamed = max(largest, key=largest.__getitem__)
    return InvalidArgumentError(
        blamed, f'numbers up to {largest[blamed]:.3g}', 'smaller ones: the results overflow'
    )
