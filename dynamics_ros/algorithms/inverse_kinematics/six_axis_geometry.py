# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Geometry of six revolute axes: which axes intersect or are parallel, for closed-form solutions.

The axes of an arm are lines in the root frame at zero joint positions. Only the relative position
of the lines matters, not the frames that a robot description places along them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import NamedTuple

from dynamics_ros.algorithms.configuration import neutral
from dynamics_ros.algorithms.forward_kinematics import body_poses
from dynamics_ros.model import Frame, Model
from dynamics_ros.model.joints import Revolute
from dynamics_ros.spatial import Scalar, Transform, Vector3

GEOMETRY_TOLERANCE = 3e-5
"""Distance [m] or angle [rad] below which axes count as intersecting or parallel. Descriptions
round numbers, such as 1.5708 for a quarter turn; Newton steps on the described arm correct the
error."""

ROUNDING_TOLERANCE = 1e-5
"""Largest difference of a component from an integer to which it is rounded [m or unit vector]."""

LOCKED_SAMPLES = (0.7390851332, -1.3247179572, 2.5029078751)
"""Arbitrary positions of locked joints at which the geometry is checked [rad]."""


class Axis(NamedTuple):
    """Axis of a revolute joint: unit direction and a point on it [m], both in the root frame."""

    direction: Vector3
    point: Vector3

    def reversed(self) -> Axis:
        """The same line with the opposite direction, which changes the sign of rotations."""
        return Axis(-self.direction, self.point)


class Arm(NamedTuple):
    """Axes of the free joints, base first, and the pose of the frame, with free joints at zero."""

    axes: tuple[Axis, ...]
    home: Transform


class Geometry(NamedTuple):
    """Geometric property of an arm that allows a closed-form solution.

    Attributes:
        inverted: whether it holds for the axes in the order from the frame to the base.
        case: 'parallel' if the second, third and fourth axis are parallel and the last two meet.
            Otherwise the last three axes meet in one point, and of the first three two are as
            'meeting_12', 'meeting_23' or 'parallel_23' says.
    """

    inverted: bool
    case: str


def arm_of(
    model: Model, frame: Frame, locked: Sequence[int], positions: Sequence[Scalar]
) -> Arm | None:
    """The free revolute axes that move a frame.

    Args:
        model: the robot; a floating base is at the identity.
        frame: the frame that is moved.
        locked: indices in q of locked joints.
        positions: positions of the locked joints.

    Returns:
        The arm; None if a free joint that moves the frame is not revolute or is a mimic joint.
    """
    q: list[Scalar] = neutral(model)
    for place, position in zip(locked, positions, strict=True):
        q[place] = position
    axes = []
    chain = model.ancestors(frame.body)
    poses = body_poses(model, q, chain)
    for body in chain:
        joint = model.joints[body]
        if joint.name == 'root_joint' or (joint.leader is None and joint.q_indices[0] in locked):
            continue
        if joint.leader is not None or not isinstance(joint.kind, Revolute):
            return None
        X_0B = poses[body]
        axes.append(_clean(Axis(X_0B.rotation @ joint.kind.axis, X_0B.translation)))
    return Arm(tuple(axes), poses[frame.body] @ frame.placement)


def geometry_of(model: Model, frame: Frame, locked: Sequence[int]) -> Geometry | None:
    """Geometry of the free joints of an arm; None if it has no closed-form solution.

    Args:
        model, frame, locked: as for ``arm_of``. The geometry holds for all positions of the locked
            joints.
    """
    geometries = set()
    for k in range(len(LOCKED_SAMPLES) if locked else 1):
        samples = [LOCKED_SAMPLES[(k + i) % len(LOCKED_SAMPLES)] for i in range(len(locked))]
        arm = arm_of(model, frame, locked, samples)
        geometries.add(None if arm is None else _geometry_of_axes(arm.axes))
    return geometries.pop() if len(geometries) == 1 else None


def read_inverted(axes: Sequence[Axis]) -> list[Axis]:
    """Axes in order from the frame to the base; their rotations give the inverse displacement."""
    return [axis.reversed() for axis in axes[::-1]]


def meeting_point(a: Axis, b: Axis) -> Vector3:
    """Point on axis a that is nearest to axis b; the axes must not be parallel."""
    normal = a.direction.cross(b.direction)
    along = (b.point - a.point).cross(b.direction).dot(normal) / normal.dot(normal)
    return _clean_vector(a.point + a.direction * along)


def _geometry_of_axes(axes: Sequence[Axis]) -> Geometry | None:
    if len(axes) == 6:
        for inverted in (False, True):
            ordered = read_inverted(axes) if inverted else axes
            case = _spherical(ordered) or _parallel(ordered)
            if case is not None:
                return Geometry(inverted, case)
    return None


def _spherical(axes: Sequence[Axis]) -> str | None:
    first, second, third, *wrist = axes
    if any(_are_parallel(a, b) for a, b in (*pairwise(wrist), (first, second))):
        return None
    centre = meeting_point(wrist[0], wrist[1])
    if not all(_contains(axis, centre) for axis in wrist):
        return None
    if _are_parallel(second, third):
        return 'parallel_23'
    if _meet(first, second):
        return None if _contains(third, meeting_point(first, second)) else 'meeting_12'
    return 'meeting_23' if _meet(second, third) else None


def _parallel(axes: Sequence[Axis]) -> str | None:
    first, *three, fifth, sixth = axes
    if not (_are_parallel(three[0], three[1]) and _are_parallel(three[1], three[2])):
        return None
    if any(_are_parallel(a, b) for a, b in ((first, three[0]), (three[2], fifth), (fifth, sixth))):
        return None
    return 'parallel' if _meet(fifth, sixth) else None


def _are_parallel(a: Axis, b: Axis) -> bool:
    return bool(a.direction.cross(b.direction).norm() < GEOMETRY_TOLERANCE)


def _meet(a: Axis, b: Axis) -> bool:
    normal = a.direction.cross(b.direction)
    return bool(abs((b.point - a.point).dot(normal)) < GEOMETRY_TOLERANCE * normal.norm())


def _contains(axis: Axis, point: Vector3) -> bool:
    return bool((point - axis.point).cross(axis.direction).norm() < GEOMETRY_TOLERANCE)


def _clean(axis: Axis) -> Axis:
    return Axis(_clean_vector(axis.direction), _clean_vector(axis.point))


def _clean_vector(v: Vector3) -> Vector3:
    """Round components that are almost integers, which makes traces shorter."""
    return Vector3.of(_clean_number(x) for x in v)


def _clean_number(x: Scalar) -> Scalar:
    if not isinstance(x, Real):
        return x
    number = float(x)
    return float(round(number)) if abs(number - round(number)) < ROUNDING_TOLERANCE else number
