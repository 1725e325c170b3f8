# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of one robot, traced and compiled when first used.

Model parameters, such as gravity and inertias, are constants of the kernels (`Parameters`) or their
last input.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.quantity import DEFAULT_REFERENCE, DEFINITIONS, Key, Options, define
from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel, NonFiniteState, Requirement, Trace, trace, trace_cache
from dynamics_ros.kernels.kernel import BACKENDS
from dynamics_ros.kernels.process import compile_process
from dynamics_ros.kernels.process.system import FreshLock
from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Inertia, Matrix3, Scalar, Transform, Vector3, exp_matrix

Array = NDArray[np.float64]

INPUT = 'parameters'
"""Name of the last input of kernels that have parameters."""

INERTIA = 10
"""Numbers of the inertia of a body."""


@dataclass(frozen=True)
class Parameters:
    """Parameters that are inputs of kernels; of this class none: all are constants.

    Attributes:
        bound: whether a robot passes their numbers.
    """

    bound = False

    def shape(self, model: Model) -> tuple[int, ...] | None:
        """Return the shape of the input; None if kernels have none."""
        return None

    def numbers(self, model: Model) -> Array | None:
        """Return the value of the input for a model."""
        return None

    def model(self, model: Model, parameters: Any) -> Model:
        """Return the model with its numbers replaced by parameters."""
        return model

    def rest(self, model: Model) -> Model:
        """Return the model without the numbers that parameters replace."""
        return model

    def fits(self, model: Model, other: Model) -> bool:
        """Return whether kernels of one model also compute the other, with its own parameters."""
        return False

    def moved(self, places: Mapping[int, int]) -> Parameters:
        """Return the same parameters after bodies were renumbered or removed."""
        return self


NO_PARAMETERS = Parameters()


@dataclass(frozen=True)
class Adjustable(Parameters):
    """Gravity, and the inertias of some bodies, bound to numbers of the robot.

    The numbers are gravity (3) and for each body m, c (3), Ixx Ixy Iyy Ixz Iyz Izz about c. This
    form needs no division, so a massless body is no exception.

    Attributes:
        bodies: indices of the bodies.
    """

    bodies: tuple[int, ...]
    bound = True

    def including(self, body: int) -> Adjustable:
        """Return the parameters with one more body, unless it is the root, which never moves."""
        return Adjustable(tuple(sorted({*self.bodies, body} - {ROOT})))

    def shape(self, model: Model) -> tuple[int, ...]:
        """Return the shape of the input."""
        return (3 + INERTIA * len(self.bodies),)

    def numbers(self, model: Model) -> Array:
        """Return the numbers of a model."""
        found: list[Scalar] = [*model.gravity]
        for body in self.bodies:
            inertia = model.inertias[body]
            upper = [inertia.rotational[x] for x in _UPPER]
            found += [inertia.mass, *inertia.center, *upper]
        return np.array(found, dtype=np.float64)

    def model(self, model: Model, parameters: Sequence[Scalar]) -> Model:
        """Return the model with these numbers."""
        inertias = list(model.inertias)
        for i, body in enumerate(self.bodies):
            start = 3 + INERTIA * i
            mass, x, y, z, xx, xy, yy, xz, yz, zz = parameters[start : start + INERTIA]
            rotational = Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            inertias[body] = Inertia(mass, Vector3(x, y, z), rotational)
        return replace(model, gravity=Vector3(*parameters[:3]), inertias=tuple(inertias))

    def rest(self, model: Model) -> Model:
        """Return the model with zeros."""
        return self.model(model, [0.0] * self.shape(model)[0])

    def fits(self, model: Model, other: Model) -> bool:
        """Return whether all else is equal."""
        if model.joints is not other.joints or model.frames is not other.frames:
            return False
        pairs = enumerate(zip(model.inertias, other.inertias, strict=True))
        return all(a is b for i, (a, b) in pairs if i not in self.bodies)

    def moved(self, places: Mapping[int, int]) -> Adjustable:
        """Return the parameters of the bodies that remain."""
        bodies = {places[body] for body in self.bodies if body in places}
        return Adjustable(tuple(sorted(bodies - {ROOT})))


_UPPER = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


@dataclass(frozen=True)
class _Explicit(Parameters):
    """Numbers of the model as an input that callers pass.

    Attributes:
        size: numbers of a row.
        change: function of a model and of the input that returns the model with these numbers.
        of_bodies: whether there is a row for each body.
    """

    size: int
    change: Callable[[Model, Any], Model]
    of_bodies: bool = True

    def shape(self, model: Model) -> tuple[int, ...]:
        """Return the shape of the input."""
        return (len(model.joints), self.size) if self.of_bodies else (self.size,)

    def model(self, model: Model, parameters: Any) -> Model:
        """Return the model with these numbers."""
        return self.change(model, parameters)

    def rest(self, model: Model) -> Model:
        """Return the model with zeros."""
        return self.change(model, np.zeros(self.shape(model)).tolist())


def _with_inertias(model: Model, rows: Sequence[Sequence[Scalar]]) -> Model:
    return replace(model, inertias=tuple(Inertia.of_parameters(x) for x in rows))


def _with_gravity(model: Model, gravity: Sequence[Scalar]) -> Model:
    return replace(model, gravity=Vector3(*gravity))


def _with_placements(model: Model, rows: Sequence[Sequence[Scalar]]) -> Model:
    """Return the model with its joint frames moved: link lengths and angles between axes.

    Args:
        model: the robot.
        rows: for each joint frame, in its own axes: a translation [m], then a rotation vector
            [rad].
    """
    moves = [Transform(exp_matrix(Vector3(*x[3:])), Vector3(*x[:3])) for x in rows]
    joints = [
        replace(joint, placement=joint.placement @ move)
        for joint, move in zip(model.joints, moves, strict=True)
    ]
    moved = dict(zip(model.body_names, moves, strict=True))
    frames = [
        replace(frame, origin=frame.origin @ moved[frame.name]) if frame.name in moved else frame
        for frame in model.frames
    ]
    return replace(model, joints=tuple(joints), frames=tuple(frames))


EXPLICIT: dict[str, Parameters] = {
    'inertias': _Explicit(INERTIA, _with_inertias),
    'gravity': _Explicit(3, _with_gravity, of_bodies=False),
    'placements': _Explicit(6, _with_placements),
}
"""Parameters that ``RigidBodySystem.kernel`` accepts, by name."""


def explicit(name: str) -> Parameters:
    """Return the parameters with a given name.

    Raises:
        InvalidArgumentError: the name is unknown.
    """
    if not isinstance(name, str) or name not in EXPLICIT:
        raise InvalidArgumentError('parameters', repr(name), f'one of {tuple(EXPLICIT)}')
    return EXPLICIT[name]


HUGE = 1e100
"""Positions [m or rad] beyond this may overflow; smaller ones point to a singular mass matrix."""

ROOMS = ('spatial', 'model', 'algorithms', 'multibody')
"""Folders of this package with the code of traces."""

MANY = 128
"""Largest number of kept kernels of a quantity with unlimited variants: one for each set of frames
with wrenches, of prescribed joints, or of constraints. The oldest of the same quantity are dropped;
a later request rebuilds them, mostly from the disk cache.
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


class _Compiled:
    """Kernels shared by sets whose models differ only in their parameters.

    Attributes:
        kernels: by key, not bound to parameters yet.
        many: those with unlimited variants, the oldest first.
        lock: held while a kernel is traced.
    """

    def __init__(self) -> None:
        self.kernels: dict[Key, Kernel] = {}
        self.many: list[Key] = []
        self.lock = FreshLock()


def _traced(model: Model, parameters: Parameters, key: Key) -> Trace:
    """Return the trace of a kernel, from the disk cache if possible."""
    if any(x in DEFINITIONS and not DEFINITIONS[x].is_of_package for x in key[:2]):
        return _traced_anew(model, parameters, key)  # the digest covers this package alone
    depends_on = parameters.rest(model), parameters, key
    return trace_cache.cached(depends_on, ROOMS, partial(_traced_anew, model, parameters, key))


def _traced_anew(model: Model, parameters: Parameters, key: Key) -> Trace:
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


def _with_parameters(model: Model, parameters: Parameters, key: Key, *values: Any) -> Any:
    """Return the function of a kernel, whose last argument is the parameters."""
    return define(parameters.model(model, values[-1]), key).function(*values[:-1])


def _requirements(model: Model, names: Sequence[str], *symbols: Any) -> Iterator[Requirement]:
    """Require unit quaternions in the configurations among the inputs."""
    quaternions = [
        joint.q_indices[joint.kind.quaternion]
        for joint in model.joints
        if joint.kind.quaternion is not None
    ]
    for place, (name, symbol) in enumerate(zip(names, symbols, strict=True)):
        if not name.startswith('q'):
            continue
        for part in quaternions:
            x, y, z, w = (symbol[i] for i in part)
            yield Requirement(
                x * x + y * y + z * z + w * w,
                1.0 - UNIT_QUATERNION_TOLERANCE,
                1.0 + UNIT_QUATERNION_TOLERANCE,
                partial(_no_unit_quaternion, name),
                ((x, -0.5 if place else 0.5), (y, 0.5), (z, 0.5), (w, 0.5)),
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
        kernels: those that were asked for, by key.
        direct_calls: those that are ready, as methods find them by name, frame and reference: see
            ``kernels.calls.method_of``.
    """

    def __init__(
        self,
        model: Model,
        backend: str,
        parameters: Parameters = NO_PARAMETERS,
        compiled: _Compiled | None = None,
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
        self.direct_calls: dict[str, Any] = {}
        self.kernels: dict[Key, Kernel] = {}
        self._many: list[Key] = []
        self._numbers = parameters.numbers(model)
        self._compiled = compiled or _Compiled()

    def has(self, keys: Iterable[Key]) -> bool:
        """Return whether all kernels have been compiled."""
        return all(map(self._compiled.kernels.__contains__, keys))

    def of(self, model: Model) -> KernelSet:
        """Return the set of another model; shares compiled kernels if only parameters differ."""
        fits = self.parameters.fits(self.model, model)
        return KernelSet(model, self.backend, self.parameters, self._compiled if fits else None)

    def shares(self, other: KernelSet) -> bool:
        """Return whether both run the same machine code."""
        return self._compiled is other._compiled

    def kernel(self, key: Key) -> Kernel:
        """Return the kernel; compiles it the first time.

        Raises:
            UnknownFrameError, InvalidArgumentError: an option that the model does not know.
            SingularError: a joint moves neither mass nor inertia, whatever q is.
        """
        try:
            kernel = self.kernels.get(key)
        except (TypeError, ValueError):
            # A frame or reference that cannot be part of a key: the definition raises the error.
            define(self.model, key)
            raise
        if kernel is not None:
            return kernel  # does not wait while another kernel is traced
        kernel = self._compiled.kernels.get(key) or self._shared(key)
        if kernel.bound is not None and self._numbers is not None:
            kernel = kernel.bound_to(self._numbers)
        for old in _dropped(self._many, key):
            self.kernels.pop(old, None)
        kernel = self.kernels.setdefault(key, kernel)
        kernel.on_ready(partial(_add_direct_call, weakref.ref(self), key))
        return kernel

    def _shared(self, key: Key) -> Kernel:
        """Return the kernel of a key, not bound to parameters; compiles it the first time."""
        compiled = self._compiled
        with compiled.lock:
            if key not in compiled.kernels:
                traced = compile_process.run(partial(_traced, self.model, self.parameters, key))
                compiled.kernels[key] = Kernel(traced, self.backend)
                for old in _dropped(compiled.many, key):
                    compiled.kernels.pop(old, None)
            return compiled.kernels[key]

    def info(self) -> dict[str, KernelInfo]:
        """Return information about the kernels compiled so far, by 'name(options)'."""
        # Without the lock, which is held while a kernel is traced, so that the caller does not
        # wait.
        kernels = sorted(self._compiled.kernels.copy().items())
        return {
            _key_text(key): KernelInfo(
                kernel.backend, kernel.operation_count, kernel.compile_seconds
            )
            for key, kernel in kernels
        }


def _add_direct_call(reference_to_set: weakref.ref[KernelSet], key: Key) -> None:
    """Let methods find a kernel that is ready; a set that is gone, or has dropped it, has none."""
    kernels = reference_to_set()
    kernel = None if kernels is None else kernels.kernels.get(key)
    if kernels is None or kernel is None:
        return
    call, direct, tool = kernel.call, kernels.direct_calls, kernels.model.tool_frame
    name, *names = key
    kind = DEFINITIONS[name].options
    if not names:
        direct[name] = call
    elif kind is Options.FRAME:
        frames = direct.setdefault(name, {})
        frames[names[0]] = call
        if names[0] == tool:
            frames[None] = call
    elif kind is Options.FRAME_AND_REFERENCE and len(names) == 2:
        frame, reference = names
        frames = direct.setdefault(name, {})
        calls = frames.setdefault(frame, {})
        calls[reference] = call
        if frame == tool:
            frames[None] = calls
        if reference == DEFAULT_REFERENCE:
            calls[None] = call


def _dropped(many: list[Key], key: Key) -> list[Key]:
    """Record a key with unlimited variants; return the keys that exceed the limit."""
    name, *options = key
    kind = DEFINITIONS[name].options
    if not options or kind in (Options.NONE, Options.FRAME, Options.FRAME_AND_REFERENCE):
        return []
    many.append(key)
    old = [x for x in many if x[0] == name][:-MANY]
    many[:] = [x for x in many if x not in old]
    return old


def _key_text(key: Key) -> str:
    """Return a key in the notation for users."""
    return f'{key[0]}({", ".join(key[1:])})'


def _no_unit_quaternion(name: str, squared: float) -> InvalidArgumentError:
    problem = f'quaternion of length {math.sqrt(squared):.6g}'
    return InvalidArgumentError(name, problem, 'a unit quaternion (x, y, z, w)')


def overflow_or_singular(state: NonFiniteState) -> Exception:
    """Return the error of a state whose results are not finite.

    A mass matrix does not depend on velocities, accelerations, torques and wrenches. It is
    therefore not singular if the same configuration at rest has a finite result.

    Args:
        state: inputs by name; those that begin with q are configurations.
    """
    fixed = {x for x in state.inputs if x.startswith('q') or x == INPUT}
    at_rest = {name: x if name in fixed else np.zeros_like(x) for name, x in state.inputs.items()}
    largest = {name: float(np.abs(x).max(initial=0.0)) for name, x in state.inputs.items()}
    if max((largest[name] for name in fixed), default=0.0) < HUGE and not state.is_finite(at_rest):
        return SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    blamed = max(largest, key=largest.__getitem__)
    return InvalidArgumentError(
        blamed, f'numbers up to {largest[blamed]:.3g}', 'smaller ones: the results overflow'
    )
