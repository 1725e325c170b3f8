# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The kernels of one robot: traced and compiled when first used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel, Requirement, Trace, Unanswered, trace, trace_cache
from dynamics_ros.kernels.kernel import BACKENDS
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.kernels.process.forks import FreshLock
from dynamics_ros.model import Model

from .definitions import DEFINITIONS, Key, define
from .definitions.definition import Options
from .parameters import FOLDED, INPUT, Folded

HUGE = 1e100
"""Positions [m or rad] beyond it are what overflows; a singular mass matrix needs none."""

MANY = 128
"""Kernels that are kept of those of which there may be any number: one for each set of frames with
wrenches, of prescribed joints, or of constraints. The oldest go; who asks again has them made anew,
mostly from the disk."""

UNIT_QUATERNION_TOLERANCE = 1e-6
"""Largest error of a quaternion's squared length; beyond it the rotation would not be one."""


@dataclass(frozen=True)
class KernelInfo:
    """How a kernel runs.

    Attributes:
        backend: 'llvm' or 'python'; 'python' too while the machine code is being made.
        operation_count: scalar operations of the trace.
        compile_seconds: time from the trace to a callable.
    """

    backend: str
    operation_count: int
    compile_seconds: float


class CompiledKernels:
    """What kernel sets share whose models differ in nothing but their parameters.

    Attributes:
        names: of the kernels that are there, as ``KernelSet.info`` has them.
        kernels: by key, bound to nothing yet.
    """

    def __init__(self, model: Model, backend: str, parameters: Folded) -> None:
        """Start without kernels.

        Args:
            model: what is traced.
            backend: 'llvm', 'python' or 'auto'.
            parameters: what of it is an input.
        """
        self.names: set[str] = set()
        self.kernels: dict[Key, Kernel] = {}
        self._model = model
        self._backend = backend
        self._parameters = parameters
        self._many: list[Key] = []
        self._lock = FreshLock()

    def kernel(self, key: Key) -> Kernel:
        """The kernel of a key, compiled now if it is the first time."""
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
    """The trace of a kernel, from the disk if it is there."""
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
    """The function of a kernel, whose last argument is the parameters."""
    return define(parameters.model(model, values[-1]), key).function(*values[:-1])


def _requirements(model: Model, names: Sequence[str], *symbols: Any) -> Iterator[Requirement]:
    """Quaternions of the configurations among the inputs have unit length."""
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


class KernelSet:
    """Kernels of a model by key (name, *options); may be used from several threads.

    What a kernel requires of its inputs, finite numbers and unit quaternions, is checked by the
    kernel itself, in machine code.

    Attributes:
        model: whose kernels.
        backend: 'llvm', 'python' or 'auto'.
        parameters: what of the model is an input of its kernels.
        calls: the kernels that are compiled for good, as functions of their inputs.
    """

    def __init__(
        self,
        model: Model,
        backend: str,
        parameters: Folded = FOLDED,
        compiled: CompiledKernels | None = None,
    ) -> None:
        """Make a set.

        Args:
            model, backend, parameters: as above.
            compiled: what another model with the same parameters has compiled; None for nothing.

        Raises:
            InvalidArgumentError: an unknown back end.
        """
        if backend not in BACKENDS:
            raise InvalidArgumentError('backend', repr(backend), f'one of {BACKENDS}')
        self.model = model
        self.backend = backend
        self.parameters = parameters
        self.calls: dict[Key, Callable[..., Any]] = {}
        self._kernels: dict[Key, Kernel] = {}
        self._many: list[Key] = []
        self._numbers = parameters.numbers(model)
        self._compiled = compiled or CompiledKernels(model, backend, parameters)

    @property
    def names(self) -> set[str]:
        """The kernels that are there, as ``info`` has them."""
        return self._compiled.names

    def of(self, model: Model) -> KernelSet:
        """The set of another model, with what is compiled here where only parameters differ."""
        fits = self.parameters.fits(self.model, model)
        return KernelSet(model, self.backend, self.parameters, self._compiled if fits else None)

    def shares(self, other: KernelSet) -> bool:
        """Whether both run the same machine code."""
        return self._compiled is other._compiled

    def call(self, key: Key) -> Callable[..., Any]:
        """The kernel as a function of its inputs; kept in ``calls`` once it is final.

        Raises:
            UnknownFrameError, InvalidArgumentError: an option that the model does not know.
            SingularError: a joint that moves nothing with mass or inertia, whatever q is.
        """
        kernel = self.kernel(key)
        if kernel.ready:
            self.calls[key] = kernel.call
        return kernel.call

    def kernel(self, key: Key) -> Kernel:
        """The kernel itself, compiled now if it is the first time; raises as ``call`` does."""
        try:
            kernel = self._kernels.get(key)
        except (TypeError, ValueError):
            # A frame or reference that cannot be a key: the definition says which.
            define(self.model, key)
            raise
        if kernel is not None:
            return kernel  # who needs this one does not wait while another is traced
        kernel = self._compiled.kernels.get(key) or self._compiled.kernel(key)
        if kernel.bound is not None and self._numbers is not None:
            kernel = kernel.bound_to(self._numbers)
        for old in _beyond(self._many, key):
            self._kernels.pop(old, None)
            self.calls.pop(old, None)
        return self._kernels.setdefault(key, kernel)

    def info(self) -> dict[str, KernelInfo]:
        """What has been compiled so far: 'name(options)' to how it runs."""
        # Without the lock, which is held while a kernel is traced: whoever asks should not wait.
        kernels = sorted(self._compiled.kernels.copy().items())
        return {
            _told(key): KernelInfo(kernel.backend, kernel.operation_count, kernel.compile_seconds)
            for key, kernel in kernels
        }


def _beyond(many: list[Key], key: Key) -> list[Key]:
    """Note a key of which there may be any number; return those for which there is no room."""
    name, *options = key
    kind = DEFINITIONS[name].options
    if not options or kind in (Options.NONE, Options.FRAME, Options.FRAME_AND_REFERENCE):
        return []
    many.append(key)
    old = many[:-MANY]
    del many[: len(old)]
    return old


def _told(key: Key) -> str:
    """A key in one word, as users see it."""
    return f'{key[0]}({", ".join(key[1:])})'


def _no_unit_quaternion(name: str, squared: float) -> InvalidArgumentError:
    problem = f'quaternion of length {math.sqrt(squared):.6g}'
    return InvalidArgumentError(name, problem, 'a unit quaternion (x, y, z, w)')


def overflow_or_singular(state: Unanswered) -> Exception:
    """The error of a state whose results are not finite.

    A mass matrix does not depend on velocities, accelerations, torques and wrenches. So it is not
    singular where the same configuration has an answer at rest.

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
