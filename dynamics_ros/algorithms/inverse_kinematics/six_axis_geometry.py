# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Six turning axes in space: which of them meet or are parallel, as far as it makes IK solvable.

An arm's axes are lines in the root frame where all its joints stand at zero. What counts is how
the lines lie to each other, not how a description places frames along them.
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

IDEAL = 3e-5
"""m or rad: lines that are so close to meeting, or to parallel, are meant to be. Descriptions write
1.5708 for a quarter turn; Newton steps on the real arm take the difference away."""

ROUNDED = 1e-5
"""m or rad: a component that is so close to a whole number is meant to be one."""

LOCKED_SAMPLES = (0.7390851332, -1.3247179572, 2.5029078751)
"""Positions of a locked joint at which the geometry must hold: nothing special about them."""


class Axis(NamedTuple):
    """A line that turns: its unit direction, and a point on it, both in the root frame."""

    direction: Vector3
    point: Vector3

    def reversed(self) -> Axis:
        """The same line; a turn about it counts the other way."""
        return Axis(-self.direction, self.point)


class Arm(NamedTuple):
    """Axes from the base on, and the pose of the frame, all joints at zero but the locked ones."""

    axes: tuple[Axis, ...]
    home: Transform


class Geometry(NamedTuple):
    """What makes an arm solvable.

    Attributes:
        inverted: read the arm from the frame to the base.
        family: 'spherical' for the last three axes through one point, 'parallel' for the second,
            third and fourth in parallel.
        case: which closed form the other axes allow. Spherical wrist: 'meeting_12', 'meeting_23',
            'parallel_12', 'parallel_23' of the first three axes, or 'skew'. Three in parallel:
            'meeting_56' or 'skew'.
    """

    inverted: bool
    family: str
    case: str


def arm_of(
    model: Model, frame: Frame, locked: Sequence[int], positions: Sequence[Scalar]
) -> Arm | None:
    """The turning axes that move a frame.

    Args:
        model: a tree; the root link is where it stands.
        frame: what is moved.
        locked: places in q of joints that stay.
        positions: where they stay.

    Returns:
        None where another joint than a turning one of its own moves the frame.
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
    """How the joints that are not locked make the arm solvable; None where they do not.

    Args:
        model, frame, locked: as for ``arm_of``; the geometry holds wherever the joints are locked.
    """
    found = set()
    for k in range(len(LOCKED_SAMPLES) if locked else 1):
        samples = [LOCKED_SAMPLES[(k + i) % len(LOCKED_SAMPLES)] for i in range(len(locked))]
        arm = arm_of(model, frame, locked, samples)
        found.add(None if arm is None else _recognized(arm.axes))
    return found.pop() if len(found) == 1 else None


def read_inverted(axes: Sequence[Axis]) -> list[Axis]:
    """The axes from the frame to the base; their turns make the inverse displacement."""
    return [axis.reversed() for axis in axes[::-1]]


def meeting_point(a: Axis, b: Axis) -> Vector3:
    """The point of one axis that is nearest to another one, not parallel to it."""
    normal = a.direction.cross(b.direction)
    along = (b.point - a.point).cross(b.direction).dot(normal) / normal.dot(normal)
    return _clean_vector(a.point + a.direction * along)


def distance(a: Axis, b: Axis) -> Scalar:
    """How far apart two axes that are not parallel pass."""
    normal = a.direction.cross(b.direction)
    return (b.point - a.point).dot(normal) / normal.norm()


def _recognized(axes: Sequence[Axis]) -> Geometry | None:
    if len(axes) != 6:
        return None
    both = [(inverted, read_inverted(axes) if inverted else axes) for inverted in (False, True)]
    candidates = [
        Geometry(inverted, family, case)
        for inverted, ordered in both
        for family, case in (('spherical', _spherical(ordered)), ('parallel', _parallel(ordered)))
        if case is not None
    ]
    # A closed form with square roots alone, where there is one.
    return min(candidates, key=lambda geometry: geometry.case == 'skew', default=None)


def _spherical(axes: Sequence[Axis]) -> str | None:
    first, second, third, *wrist = axes
    if any(_are_parallel(a, b) for a, b in pairwise(wrist)):
        return None
    centre = meeting_point(wrist[0], wrist[1])
    if not all(_passes(axis, centre) for axis in wrist):
        return None
    if _are_parallel(first, second):
        return None if _are_parallel(second, third) else 'parallel_12'
    if _are_parallel(second, third):
        return 'parallel_23'
    if _meet(first, second):
        return None if _passes(third, meeting_point(first, second)) else 'meeting_12'
    return 'meeting_23' if _meet(second, third) else 'skew'


def _parallel(axes: Sequence[Axis]) -> str | None:
    first, *three, fifth, sixth = axes
    if not (_are_parallel(three[0], three[1]) and _are_parallel(three[1], three[2])):
        return None
    if any(_are_parallel(a, b) for a, b in ((first, three[0]), (three[2], fifth), (fifth, sixth))):
        return None
    if _meet(fifth, sixth):
        return 'meeting_56'
    return 'skew'


def _are_parallel(a: Axis, b: Axis) -> bool:
    return bool(a.direction.cross(b.direction).norm() < IDEAL)


def _meet(a: Axis, b: Axis) -> bool:
    return bool(abs(distance(a, b)) < IDEAL)


def _passes(axis: Axis, point: Vector3) -> bool:
    return bool((point - axis.point).cross(axis.direction).norm() < IDEAL)


def _clean(axis: Axis) -> Axis:
    return Axis(_clean_vector(axis.direction), _clean_vector(axis.point))


def _clean_vector(v: Vector3) -> Vector3:
    """Rounding of a description away, where a number was meant to be whole: traces fold."""
    return Vector3.of(_clean_number(x) for x in v)


def _clean_number(x: Scalar) -> Scalar:
    if not isinstance(x, Real):
        return x
    number = float(x)
    return float(round(number)) if abs(number - round(number)) < ROUNDED else number
