# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint kinds: geometry, motion subspace and manifold of each ([SE3] 7), over any scalar.

A new kind of joint is one class here, with its line in `JOINT_KINDS`; no algorithm asks for names.
The motion subspace S of these kinds is constant in the frame of the moving body, so c_J is zero;
that of a `VaryingJoint` is not: S(q), with c_J = S-dot v.

| kind | q | v (of the child, in the child frame) |
|---|---|---|
| revolute, continuous | angle [rad] | rate about the axis [rad/s] |
| prismatic | displacement [m] | rate along the axis [m/s] |
| spherical | quaternion x, y, z, w | wx, wy, wz |
| planar | x, y [m] in the plane, angle about its normal [rad] | vx, vy, w |
| floating | x, y, z [m], quaternion x, y, z, w | vx, vy, vz, wx, wy, wz |
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dynamics_ros.spatial import (
    Matrix3,
    Motion,
    Scalar,
    Transform,
    Vector3,
    exp_left_jacobian,
    log_left_jacobian,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalized,
    quaternion_product,
    quaternion_to_matrix,
    rotation_about,
)

X = Vector3(1.0, 0.0, 0.0)
Y = Vector3(0.0, 1.0, 0.0)
Z = Vector3(0.0, 0.0, 1.0)

FREE_SLIDE = 1.0
"""Range of a random displacement without limits, to either side [m]."""


@dataclass(frozen=True)
class Entries:
    """Consecutive coordinates or velocities that belong together.

    Attributes:
        count: number of coordinates or velocities.
        unit: unit of the coordinate, or of the velocity's integral: 'm', 'rad', or '1'.
        meaning: description with {body} and {place} for the moving body and the frame that it moves
            in; '' if the joint's name suffices.
    """

    count: int
    unit: str
    meaning: str = ''


@dataclass(frozen=True)
class JointKind(ABC):
    """Kind of joint with its axis; q and v below are its own coordinates and velocities.

    Attributes:
        axis: constant unit axis in the joint frame; the normal of a planar joint.
        name: joint type in a URDF.
        coordinates: entries of q.
        velocities: entries of v.
        has_axis: whether the kind uses its axis.
        has_range: whether a description bounds its position.
        quaternion: index in q of a unit quaternion x, y, z, w; None if there is none.
    """

    axis: Vector3 = Z

    name: ClassVar[str]
    coordinates: ClassVar[tuple[Entries, ...]]
    velocities: ClassVar[tuple[Entries, ...]]
    has_axis: ClassVar[bool] = True
    has_range: ClassVar[bool] = False
    quaternion: ClassVar[slice | None] = None

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(entries.count for entries in self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(entries.count for entries in self.velocities)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each coordinate: 'm', 'rad', or '1' in a quaternion."""
        return tuple(x.unit for x in self.coordinates for _ in range(x.count))

    @property
    def slides(self) -> tuple[bool, ...]:
        """For each velocity, whether it is linear (not angular)."""
        return tuple(x.unit == 'm' for x in self.velocities for _ in range(x.count))

    @abstractmethod
    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the moving body in the joint frame."""

    @abstractmethod
    def motion_subspace(self, q: Sequence[Scalar]) -> list[Motion]:
        """Return the columns of S at q, in the frame of the moving body."""

    def neutral(self) -> list[float]:
        """Return the coordinates at which the joint transform is the identity."""
        return [0.0] * self.nq

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """q exp(v): the coordinates after one second at the constant velocity v ([SE3] 7).

        q + v where velocities are the rates of coordinates.
        """
        return [x + y for x, y in zip(q, v, strict=True)]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """log(q0^-1 q1): the velocity that takes q0 to q1 in one second; q1 - q0 likewise."""
        return [y - x for x, y in zip(q0, q1, strict=True)]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """q-dot = F(q) v, the time derivative of the coordinates ([Kindr])."""
        return list(v)

    def velocity(self, q: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
        """v = E(q) q-dot, the inverse of `rate` ([RD] eq. 2.262)."""
        return list(rate)

    def random(self, generator: Any, lower: float, upper: float) -> list[float]:
        """Return random coordinates, uniform within limits, or within 1 of zero without them.

        Args:
            generator: NumPy generator.
            lower, upper: limits of a joint of one coordinate, infinite if it has none.
        """
        if self.nq == 1 and math.isfinite(lower) and math.isfinite(upper):
            return [generator.uniform(lower, upper)]
        return list(generator.uniform(-1.0, 1.0, self.nq))

    def reach(self, lower: float, upper: float) -> float:
        """Return the largest distance of the body's origin from the joint frame [m], or inf.

        Args:
            lower, upper: limits of a joint of one coordinate.
        """
        return math.inf


class OneCoordinate(JointKind):
    """Joint with one coordinate whose velocity is the coordinate's rate."""

    free_range: ClassVar[float]
    """Range of random positions without limits, to either side of 0."""

    def random(self, generator: Any, lower: float, upper: float) -> list[float]:
        """Random position within the limits, or ``free_range`` on a side without limit."""
        reach = self.free_range
        return [
            generator.uniform(
                lower if math.isfinite(lower) else min(-reach, upper - reach),
                upper if math.isfinite(upper) else max(reach, lower + reach),
            )
        ]


class Revolute(OneCoordinate):
    """Rotation about the axis, within limits."""

    name = 'revolute'
    coordinates = (Entries(1, 'rad'),)
    velocities = (Entries(1, 'rad'),)
    has_range = True
    free_range = math.pi

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Rotation about the axis."""
        return Transform(rotation_about(self.axis, q[0]), Vector3.zero())

    def motion_subspace(self, q: Sequence[Scalar]) -> list[Motion]:
        """(0, axis)."""
        return [Motion(Vector3.zero(), self.axis)]

    def reach(self, lower: float, upper: float) -> float:
        """0: the origin is on the axis."""
        return 0.0


class Continuous(Revolute):
    """Unlimited rotation about the axis; its coordinate counts turns."""

    name = 'continuous'
    has_range = False


class Prismatic(OneCoordinate):
    """A displacement along the axis."""

    name = 'prismatic'
    coordinates = (Entries(1, 'm'),)
    velocities = (Entries(1, 'm'),)
    has_range = True
    free_range = FREE_SLIDE

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Displacement along the axis."""
        return Transform(Matrix3.identity(), self.axis * q[0])

    def motion_subspace(self, q: Sequence[Scalar]) -> list[Motion]:
        """(axis, 0)."""
        return [Motion(self.axis, Vector3.zero())]

    def reach(self, lower: float, upper: float) -> float:
        """The larger magnitude of both limits."""
        return max(abs(lower), abs(upper))


class Spherical(JointKind):
    """Rotation about any axis through the origin of the joint, as in a ball joint.

    URDF has no such type; several simulators read this one.
    """

    name = 'spherical'
    coordinates = (Entries(4, '1', 'orientation of {body} in {place}: quaternion x y z w'),)
    velocities = (Entries(3, 'rad', 'angular, of {body} in its axes'),)
    has_axis = False
    quaternion = slice(0, 4)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Rotation of the quaternion."""
        return Transform(quaternion_to_matrix(_quaternion(q)), Vector3.zero())

    def motion_subspace(self, q: Sequence[Scalar]) -> list[Motion]:
        """Unit angular velocities."""
        return [Motion(Vector3.zero(), e) for e in (X, Y, Z)]

    def neutral(self) -> list[float]:
        """Identity rotation."""
        return [0.0, 0.0, 0.0, 1.0]

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """Orientation after a rotation at a constant angular velocity."""
        turned = quaternion_product(_quaternion(q), quaternion_exp(Vector3.of(v)))
        # Normalized, because rounding would let the length drift over many steps.
        return list(quaternion_normalized(turned))

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Rotation between two orientations, by at most pi."""
        return list(
            quaternion_log(
                quaternion_product(quaternion_conjugate(_quaternion(q0)), _quaternion(q1))
            )
        )

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """q w / 2: the quaternion times half the angular velocity, [Kindr] F."""
        half = [0.5 * w for w in v]
        return list(quaternion_product(_quaternion(q), (half[0], half[1], half[2], 0.0)))

    def velocity(self, q: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
        """2 q^* q-dot, [RD] eq. 2.262 with 2.98."""
        turning = quaternion_product(quaternion_conjugate(_quaternion(q)), _quaternion(rate))
        return [2.0 * w for w in turning[:3]]

    def random(self, generator: Any, lower: float, upper: float) -> list[float]:
        """Uniformly distributed orientation."""
        quaternion = generator.normal(size=4)
        return list(quaternion / math.hypot(*quaternion))

    def reach(self, lower: float, upper: float) -> float:
        """0: the origin does not move."""
        return 0.0


BALL = Spherical()


class Planar(JointKind):
    """Motion in the plane whose normal is the axis; its angle counts turns."""

    name = 'planar'
    coordinates = (
        Entries(2, 'm', 'position x y of {body} in {place}'),
        Entries(1, 'rad', 'its angle'),
    )
    velocities = (Entries(2, 'm', 'linear, of {body} in its axes'), Entries(1, 'rad', 'angular'))

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Displacement in the plane, then a rotation about its normal."""
        ex, ey = plane_axes(self.axis)
        return Transform(rotation_about(self.axis, q[2]), ex * q[0] + ey * q[1])

    def motion_subspace(self, q: Sequence[Scalar]) -> list[Motion]:
        """Two axes of the plane in the rotated frame, and the rotation."""
        ex, ey = plane_axes(self.axis)
        zero = Vector3.zero()
        return [Motion(ex, zero), Motion(ey, zero), Motion(zero, self.axis)]

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """Motion along an arc: the direction of the displacement rotates with the angle."""
        step = exp_left_jacobian(Z * v[2]) @ Vector3(v[0], v[1], 0.0)
        turned_step = rotation_about(Z, q[2]) @ step
        return [q[0] + turned_step.x, q[1] + turned_step.y, q[2] + v[2]]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Arc between two poses; its angle is not wrapped, because the coordinate counts turns."""
        angle = q1[2] - q0[2]
        moved = Vector3(q1[0] - q0[0], q1[1] - q0[1], 0.0)
        step = rotation_about(Z, q0[2]).transpose_apply(moved)
        v = _planar_log_jacobian(angle) @ step
        return [v.x, v.y, angle]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """Linear velocity transformed from moving to fixed axes."""
        moving = rotation_about(Z, q[2]) @ Vector3(v[0], v[1], 0.0)
        return [moving.x, moving.y, v[2]]

    def velocity(self, q: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
        """Rate of the position, in the moving axes."""
        moving = rotation_about(Z, q[2]).transpose_apply(Vector3(rate[0], rate[1], 0.0))
        return [moving.x, moving.y, rate[2]]

    def random(self, generator: Any, lower: float, upper: float) -> list[float]:
        """Random position within ``FREE_SLIDE``, and an angle within a turn about 0."""
        position = generator.uniform(-FREE_SLIDE, FREE_SLIDE, 2)
        return [*position, generator.uniform(-math.pi, math.pi)]


class Floating(JointKind):
    """Free motion of a floating base."""

    name = 'floating'
    coordinates = (
        Entries(3, 'm', 'position of {body} in {place}'),
        Entries(4, '1', 'its orientation: quaternion x y z w, of length 1'),
    )
    velocities = (
        Entries(3, 'm', 'linear, of {body} in its axes'),
        Entries(3, 'rad', 'angular, likewise'),
    )
    has_axis = False
    quaternion = slice(3, 7)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Position, and rotation of the quaternion."""
        return Transform(BALL.transform(q[3:]).rotation, Vector3.of(q[:3]))

    def motion_subspace(self, q: Sequence[Scalar]) -> list[Motion]:
        """The identity: v is the twist of the body."""
        return [Motion(e, Vector3.zero()) for e in (X, Y, Z)] + BALL.motion_subspace(q[3:])

    def neutral(self) -> list[float]:
        """The origin, not rotated."""
        return [0.0, 0.0, 0.0, *BALL.neutral()]

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """Motion along a screw."""
        R = BALL.transform(q[3:]).rotation
        step = R @ (exp_left_jacobian(Vector3.of(v[3:])) @ Vector3.of(v[:3]))
        return [*(Vector3.of(q[:3]) + step), *BALL.integrate(q[3:], v[3:])]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Screw motion between two poses, with a rotation by at most pi."""
        w = BALL.difference(q0[3:], q1[3:])
        moved = Vector3.of(q1[:3]) - Vector3.of(q0[:3])
        step = BALL.transform(q0[3:]).rotation.transpose_apply(moved)
        return [*(log_left_jacobian(Vector3.of(w)) @ step), *w]

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """(R v, q w / 2): the orientation as for a spherical joint."""
        moving = BALL.transform(q[3:]).rotation @ Vector3.of(v[:3])
        return [*moving, *BALL.rate(q[3:], v[3:])]

    def velocity(self, q: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
        """(R^T p-dot, 2 q^* q-dot)."""
        moving = BALL.transform(q[3:]).rotation.transpose_apply(Vector3.of(rate[:3]))
        return [*moving, *BALL.velocity(q[3:], rate[3:])]

    def random(self, generator: Any, lower: float, upper: float) -> list[float]:
        """Random position within ``FREE_SLIDE``, and a uniformly distributed orientation."""
        orientation = BALL.random(generator, lower, upper)
        return [*generator.uniform(-FREE_SLIDE, FREE_SLIDE, 3), *orientation]


class VaryingJoint(JointKind):
    """Joint with a varying motion subspace S; its velocities are the rates of its coordinates.

    Derivatives are of components in the frame of the moving body.
    """

    has_axis: ClassVar[bool] = False

    @abstractmethod
    def subspace_slopes(self, q: Sequence[Scalar]) -> list[list[Motion]]:
        """``slopes[m][k]``: derivative of column m of S by coordinate k."""

    @abstractmethod
    def subspace_curvatures(self, q: Sequence[Scalar]) -> list[list[list[Motion]]]:
        """``curvatures[m][l][k]``: derivative of ``slopes[m][l]`` by coordinate k."""


JOINT_KINDS: dict[str, type[JointKind]] = {
    kind.name: kind for kind in (Revolute, Continuous, Prismatic, Spherical, Planar, Floating)
}
"""Joint kinds by URDF type; fixed joints do not move and have none."""

ONE_COORDINATE = tuple(
    name for name, kind in JOINT_KINDS.items() if issubclass(kind, OneCoordinate)
)
"""Joint types with one coordinate, which a mimic joint can follow."""


def plane_axes(normal: Vector3) -> tuple[Vector3, Vector3]:
    """Two constant unit vectors that span the plane; x and y when the normal is z."""
    along = X if abs(normal.x) < 0.9 else Z
    ex = along - normal * normal.dot(along)
    ex = ex * (1.0 / ex.norm())
    return ex, normal.cross(ex)


def _quaternion(q: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Return four coordinates, or their rates, as a quaternion."""
    return q[0], q[1], q[2], q[3]


def _planar_log_jacobian(angle: Scalar) -> Matrix3:
    """Inverse of the left Jacobian of exp for a rotation about z that may exceed a full turn."""
    J = exp_left_jacobian(Z * angle)
    a, b = J[0, 0], J[1, 0]
    scale = 1.0 / (a * a + b * b)
    return Matrix3(((a * scale, b * scale, 0.0), (-b * scale, a * scale, 0.0), (0.0, 0.0, 1.0)))
