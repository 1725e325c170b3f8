# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of one robot, traced and compiled when first used.

Model parameters, such as gravity and inertias, are constants of the kernels (`Parameters`) or their
last input.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.quantity import DEFAULT_REFERENCE, DEFINITIONS, Key, Options, define
from dynamics_ros.errors import InvalidArgumentError, SingularError, TooLargeError
from dynamics_ros.kernels import Kernel, Trace, trace
from dynamics_ros.kernels.kernel import BACKENDS
from dynamics_ros.kernels.process import background, disk_cache
from dynamics_ros.model import ROOT, Model
from dynamics_ros.multibody.arguments import overflow
from dynamics_ros.spatial import Inertia, Matrix3, Scalar, Vector3

Array = NDArray[np.float64]

_Entry = TypeVar('_Entry')

INPUT = 'parameters'
"""Name of the last input of kernels that have parameters."""

INERTIA = 10
"""Numbers of the inertia of a body."""


@dataclass(frozen=True)
class Parameters:
    """Numbers of a model that are the last input of its kernels, bound to those of a robot.

    They are gravity (3), and for each of some bodies m, c (3), Ixx Ixy Iyy Ixz Iyz Izz about c.
    This form needs no division, so a massless body is no exception.

    Attributes:
        bodies: indices of these bodies, the root never moves; None if all numbers are constants.
    """

    bodies: tuple[int, ...] | None = None

    @classmethod
    def adjustable(cls, bodies: Iterable[int]) -> Parameters:
        """Return those of gravity and of the inertias of some bodies."""
        return cls(tuple(sorted({*bodies} - {ROOT})))

    @property
    def size(self) -> int:
        """Size of the input; 0 if kernels have none."""
        return 0 if self.bodies is None else 3 + INERTIA * len(self.bodies)

    def numbers(self, model: Model) -> Array | None:
        """Return the bound value of the input for a model; None if kernels have none."""
        if self.bodies is None:
            return None
        found: list[Scalar] = [*model.gravity]
        for body in self.bodies:
            inertia = model.inertias[body]
            upper = [inertia.rotational[x] for x in _UPPER]
            found += [inertia.mass, *inertia.center, *upper]
        return np.array(found, dtype=np.float64)

    def model(self, model: Model, parameters: Any) -> Model:
        """Return the model with these numbers."""
        inertias = list(model.inertias)
        for i, body in enumerate(self.bodies or ()):
            start = 3 + INERTIA * i
            mass, x, y, z, xx, xy, yy, xz, yz, zz = parameters[start : start + INERTIA]
            rotational = Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            inertias[body] = Inertia(mass, Vector3(x, y, z), rotational)
        return replace(model, gravity=Vector3(*parameters[:3]), inertias=tuple(inertias))

    def rest(self, model: Model) -> Model:
        """Return the model without the numbers that parameters replace."""
        return self.model(model, [0.0] * self.size) if self.size else model

    def fits(self, model: Model, other: Model) -> bool:
        """Return whether kernels of one model also compute the other, with its own numbers."""
        bodies = self.bodies
        same = model.joints is other.joints and model.frames is other.frames
        if bodies is None or not same:
            return False
        pairs = enumerate(zip(model.inertias, other.inertias, strict=True))
        return all(a is b for i, (a, b) in pairs if i not in bodies)

    def moved(self, before: Model, after: Model) -> Parameters:
        """Return the same parameters after bodies were renumbered or locked to others."""
        if self.bodies is None:
            return self
        return self.adjustable(after.frame(before.body_names[x]).body for x in self.bodies)


NO_PARAMETERS = Parameters()

_UPPER = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))

HUGE = 1e50
"""Products of numbers beyond this may overflow; smaller ones point to a singular mass matrix."""

SOURCES = disk_cache.sources('spatial', 'model', 'algorithms', 'multibody')
"""The code of traces."""

MANY = 128
"""Largest number of kept kernels of a quantity with unlimited variants: one for each set of frames
with wrenches, of prescribed joints, or of constraints. The oldest of the same quantity are dropped;
a later request rebuilds them, mostly from the disk cache.
"""


MAX_PAIRS = 100_000
"""Largest sum over the joints of their squared depth: that of a chain of 66 joints. A humanoid of
60 joints with hands has less than a tenth.
"""

PAIRED = frozenset(
    {'mass_matrix', 'mass_matrix_inverse', 'coriolis', 'forward_dynamics', 'hybrid_dynamics'}
)
"""Requestable kernels with entries for pairs of joints on the same path to the root, each of which
takes work along that path: compiling them took half a gigabyte for a chain of 60 joints and minutes
for one of 120. Callers that must not block that long, such as a node, use ``check_size`` first.
"""


def is_large(model: Model) -> bool:
    """Return whether ``check_size`` refuses a robot."""
    return model.squared_depths > MAX_PAIRS


def check_size(model: Model, keys: Iterable[Key] = (('mass_matrix',),)) -> None:
    """Refuse kernels, each given by its name and options, that are too large to compile.

    Raises:
        InvalidArgumentError: the robot is too large for one.
    """
    if is_large(model) and any(key[0] in PAIRED for key in keys):
        raise InvalidArgumentError(
            'robot_description',
            f'{len(model.depths)} joints, up to {max(model.depths)} of them one behind another, are'
            ' too many for mass matrices and contacts; poses, gravity and inverse dynamics go on',
            'fewer, for example by locked_joints',
        )


class _Compiled:
    """Kernels shared by sets whose models differ only in their parameters.

    Attributes:
        kernels: by key, not bound to parameters yet.
        refused: errors by key of kernels that cannot be traced, which takes seconds to find out.
        lock: held while a kernel is traced.
    """

    def __init__(self) -> None:
        self.kernels: dict[Key, Kernel] = {}
        self.refused: dict[Key, TooLargeError | SingularError] = {}
        self.lock = background.FreshLock()


def _traced(model: Model, parameters: Parameters, key: Key) -> Trace:
    """Return the trace of a kernel, from the disk cache if possible."""
    origin = ''
    if all(x not in DEFINITIONS or DEFINITIONS[x].is_of_package for x in key[:2]):
        # The digest covers this package alone.
        origin = disk_cache.origin((parameters.rest(model), parameters, key), SOURCES)
    stored = disk_cache.read(origin) if origin else None
    if stored is not None:
        found: Trace = pickle.loads(stored)
        return found
    made = replace(_traced_anew(model, parameters, key), origin=origin)
    if origin:
        disk_cache.write(origin, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _traced_anew(model: Model, parameters: Parameters, key: Key) -> Trace:
    formula = define(model, key)
    definition = DEFINITIONS[key[0]]
    function, inputs = formula.function, dict(formula.inputs)
    if parameters.size:
        function = partial(_with_parameters, model, parameters, key)
        inputs[INPUT] = parameters.size
    refused = partial(overflow_or_singular, definition.may_be_singular)
    return trace(
        function,
        inputs,
        key[0],
        f'{model.name}: {" ".join(key)}',
        unit_quaternions=_unit_quaternions(model, inputs),
        finite_results=refused if definition.finite_results else None,
        bound=parameters.size > 0,
    )


def _with_parameters(model: Model, parameters: Parameters, key: Key, *values: Any) -> Any:
    """Return the function of a kernel, whose last argument is the parameters."""
    return define(parameters.model(model, values[-1]), key).function(*values[:-1])


def _unit_quaternions(model: Model, names: Iterable[str]) -> list[tuple[int, int]]:
    """Return places of the quaternions in the configurations among the inputs, as for ``trace``."""
    firsts = [
        joint.q_indices[joint.kind.quaternion][0]
        for joint in model.joints
        if joint.kind.quaternion is not None
    ]
    places = [place for place, name in enumerate(names) if name.startswith('q')]
    return [(place, first) for place in places for first in firsts]


@cache
def kernel_without_robot(name: str) -> Kernel:
    """Return the kernel of a quantity that depends on no robot, such as a step of a setpoint.

    Waits for the compilation, because there is no time for it once an arm moves.
    """
    formula = DEFINITIONS[name].formula(None)
    return Kernel(trace(formula.function, formula.inputs, name), wait=True)


class KernelSet:
    """Kernels of a model by key (name, *options); may be used from several threads.

    The kernel itself checks its inputs, finite numbers and unit quaternions, in machine code.

    Attributes:
        model: the model.
        backend: 'llvm', 'python' or 'auto'.
        parameters: the model parameters that are kernel inputs.
        kernels: those that were asked for, by key.
        final: calls of those that are ready, by key.
        direct_calls: the same as methods find them by name, frame and reference: see
            ``kernels.kernel.method_of``.
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
        self.final: dict[Key, Callable[..., Any]] = {}
        self._numbers = parameters.numbers(model)
        self._compiled = compiled or _Compiled()

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code belongs to its process; a copy compiles its own.
        return KernelSet, (self.model, self.backend, self.parameters)

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
        kernel = _kept(self.kernels, key, kernel)
        for old in [x for x in list(self.final) if x not in self.kernels]:
            self.final.pop(old, None)
        return kernel

    def call(self, key: Key) -> Callable[..., Any]:
        """Return the call of a kernel; when it is final, methods find it from then on.

        Raises:
            UnknownFrameError, InvalidArgumentError, SingularError: as ``kernel``.
        """
        kernel = self.kernel(key)
        if kernel.ready:
            self.final[key] = kernel.call
            self._let_methods_find(key, kernel.call)
        return kernel.call

    def _let_methods_find(self, key: Key, call: Callable[..., Any]) -> None:
        """Add a call to ``direct_calls``, if it is of a method with a table there."""
        direct, tool = self.direct_calls, self.model.tool_frame
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

    def _shared(self, key: Key) -> Kernel:
        """Return the kernel of a key, not bound to parameters; compiles it the first time."""
        compiled = self._compiled
        with compiled.lock:
            if key in compiled.refused:
                raise copy(compiled.refused[key])  # without the traceback of the first one
            if key not in compiled.kernels:
                try:
                    traced = background.run(partial(_traced, self.model, self.parameters, key))
                except (TooLargeError, SingularError) as error:
                    _kept(compiled.refused, key, copy(error))
                    raise
                return _kept(compiled.kernels, key, Kernel(traced, self.backend))
            return compiled.kernels[key]

    def compiled(self) -> dict[str, Kernel]:
        """Return the kernels compiled so far, by 'name(options)'."""
        # Without the lock, which is held while a kernel is traced, so that the caller does not
        # wait.
        return {_key_text(key): x for key, x in sorted(self._compiled.kernels.copy().items())}


def _is_limited(key: Key) -> bool:
    """Return whether a quantity has a limited number of variants, such as those by frame."""
    kinds = Options.NONE, Options.FRAME, Options.FRAME_AND_REFERENCE
    return len(key) == 1 or DEFINITIONS[key[0]].options in kinds


def _kept(entries: dict[Key, _Entry], key: Key, entry: _Entry) -> _Entry:
    """Add an entry, unless another thread has; drop the oldest of too many variants."""
    entry = entries.setdefault(key, entry)
    if not _is_limited(key):
        for old in [x for x in list(entries) if x[0] == key[0] and not _is_limited(x)][:-MANY]:
            entries.pop(old, None)
    return entry


def _key_text(key: Key) -> str:
    """Return a key in the notation for users."""
    return f'{key[0]}({", ".join(key[1:])})'


def overflow_or_singular(may_be_singular: bool, inputs: dict[str, Array]) -> Exception:
    """Return the error of inputs by name whose results are not finite.

    Args:
        may_be_singular: whether it divides by pivots of the mass matrix.
        inputs: the inputs, of one state or of several.
    """
    if may_be_singular and max(np.abs(x).max(initial=0.0) for x in inputs.values()) < HUGE:
        return SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    return overflow(inputs)
