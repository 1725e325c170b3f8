# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Model parameters as kernel inputs, such as gravity and inertias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Inertia, Matrix3, Scalar, Transform, Vector3, exp_matrix

Array = NDArray[np.float64]

INPUT = 'parameters'
"""Name of the last input of kernels that have parameters."""

INERTIA = 10
"""Numbers of the inertia of a body."""


@dataclass(frozen=True)
class Folded:
    """No parameters: gravity and inertias are constants of the kernels."""

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

    def moved(self, places: Mapping[int, int]) -> Folded:
        """Return the same parameters after bodies were renumbered or removed."""
        return self


FOLDED = Folded()


@dataclass(frozen=True)
class Adjustable(Folded):
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
        """Return the value of the input for a model."""
        found: list[Scalar] = [*model.gravity]
        for body in self.bodies:
            inertia = model.inertias[body]
            found += [inertia.mass, *inertia.center, *_upper(inertia.rotational)]
        return np.array(found, dtype=np.float64)

    def model(self, model: Model, parameters: Sequence[Scalar]) -> Model:
        """Return the model with its numbers replaced by parameters."""
        inertias = list(model.inertias)
        for i, body in enumerate(self.bodies):
            start = 3 + INERTIA * i
            mass, *rest = parameters[start : start + INERTIA]
            inertias[body] = Inertia(mass, Vector3(*rest[:3]), _symmetric(rest[3:]))
        return replace(model, gravity=Vector3(*parameters[:3]), inertias=tuple(inertias))

    def rest(self, model: Model) -> Model:
        """Return the model without the numbers that parameters replace."""
        return self.model(model, [0.0] * self.shape(model)[0])

    def fits(self, model: Model, other: Model) -> bool:
        """Return whether kernels of one model also compute the other, with its own parameters."""
        if model.joints is not other.joints or model.frames is not other.frames:
            return False
        pairs = enumerate(zip(model.inertias, other.inertias, strict=True))
        return all(a is b for i, (a, b) in pairs if i not in self.bodies)

    def moved(self, places: Mapping[int, int]) -> Adjustable:
        """Return the same parameters after bodies were renumbered or removed."""
        bodies = {places[body] for body in self.bodies if body in places}
        return Adjustable(tuple(sorted(bodies - {ROOT})))


@dataclass(frozen=True)
class Inertias(Folded):
    """The inertias of all bodies as an input (bodies, 10), in the order of ``regressor``."""

    def shape(self, model: Model) -> tuple[int, ...]:
        """Return the shape of the input."""
        return (len(model.joints), INERTIA)

    def model(self, model: Model, parameters: Sequence[Sequence[Scalar]]) -> Model:
        """Return the model with its numbers replaced by parameters."""
        return replace(model, inertias=tuple(Inertia.of_parameters(x) for x in parameters))

    def rest(self, model: Model) -> Model:
        """Return the model without the numbers that parameters replace."""
        return replace(model, inertias=(Inertia.zero(),) * len(model.inertias))


@dataclass(frozen=True)
class Gravity(Folded):
    """Gravity (3) in the root frame as an input [m/s^2]."""

    def shape(self, model: Model) -> tuple[int, ...]:
        """Return the shape of the input."""
        return (3,)

    def model(self, model: Model, parameters: Sequence[Scalar]) -> Model:
        """Return the model with its numbers replaced by parameters."""
        return replace(model, gravity=Vector3(*parameters))

    def rest(self, model: Model) -> Model:
        """Return the model without the numbers that parameters replace."""
        return replace(model, gravity=Vector3.zero())


@dataclass(frozen=True)
class Placements(Folded):
    """Offsets of the joint frames from those of the model, as an input (bodies, 6).

    For each joint frame, in its own axes: a translation [m], then a rotation vector [rad]. They
    describe link lengths and angles between axes. Zeros are the model.
    """

    def shape(self, model: Model) -> tuple[int, ...]:
        """Return the shape of the input."""
        return (len(model.joints), 6)

    def model(self, model: Model, parameters: Sequence[Sequence[Scalar]]) -> Model:
        """Return the model with its numbers replaced by parameters."""
        moves = [Transform(exp_matrix(Vector3(*x[3:])), Vector3(*x[:3])) for x in parameters]
        joints = [
            replace(joint, placement=joint.placement @ move)
            for joint, move in zip(model.joints, moves, strict=True)
        ]
        moved = dict(zip(model.body_names, moves, strict=True))
        frames = [
            replace(frame, origin=frame.origin @ moved[frame.name])
            if frame.name in moved
            else frame
            for frame in model.frames
        ]
        return replace(model, joints=tuple(joints), frames=tuple(frames))


EXPLICIT = {'inertias': Inertias(), 'gravity': Gravity(), 'placements': Placements()}
"""Parameters that ``RigidBodySystem.kernel`` accepts, by name."""


def explicit(name: str) -> Folded:
    """Return the parameters with a given name.

    Raises:
        InvalidArgumentError: the name is unknown.
    """
    if not isinstance(name, str) or name not in EXPLICIT:
        raise InvalidArgumentError('parameters', repr(name), f'one of {tuple(EXPLICIT)}')
    return EXPLICIT[name]


def _upper(matrix: Matrix3) -> list[Scalar]:
    return [matrix[place] for place in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]


def _symmetric(upper: Sequence[Scalar]) -> Matrix3:
    xx, xy, yy, xz, yz, zz = upper
    return Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
