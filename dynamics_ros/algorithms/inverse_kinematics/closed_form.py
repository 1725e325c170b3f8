# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed-form inverse kinematics of six revolute axes, all branches ([Pieper1968], [Elias2022]).

The displacement of the frame from its pose at zero joint angles is a product of exponentials,
exp(xi_1 q_1) ... exp(xi_6 q_6) = X_0T X_0F(0)^-1 ([RBM]). A rotation is eliminated from an equation
by its invariants: points of its axis, the direction of its axis, planes perpendicular to it. The
remaining equations are the subproblems of ``subproblems.py``. After the first rotations, each
further one is computed from the remaining displacement. A rotation that is arbitrary at a singular
configuration is thus compensated by the later ones.

A `Turn` is a rotation about an axis, as cosine and sine of its angle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dynamics_ros.spatial import Scalar, Transform, Vector3
from dynamics_ros.spatial.scalar import where_less

from .six_axis_geometry import Arm, Axis, Geometry, distance, meeting_point, read_inverted
from .subproblems import (
    Turn,
    direction,
    turn_between,
    turns_to_conic,
    turns_to_distance,
    turns_to_plane,
)

Turns = tuple[Turn, ...]
Linear = tuple[Scalar, Scalar, Scalar]
"""Linear expression in a rotation: factors of its cosine and sine, and a constant."""

IN_PLACE = Turn(1.0, 0.0)


class Task(NamedTuple):
    """The equation of six rotations whose product is a displacement v -> R v + p.

    Attributes:
        axes: of the rotations, in the order of the product.
        displacement: R and p.
        liked: preferred rotations, used where a rotation is arbitrary.
    """

    axes: Sequence[Axis]
    displacement: Transform
    liked: Sequence[Turn]


def analytic_branches(
    geometry: Geometry, arm: Arm, target: Transform, liked: Sequence[Turn]
) -> list[Turns]:
    """Rotations of all six joints in every branch.

    Args:
        geometry: the geometry of the arm.
        arm: axes of the arm, and pose of its frame at zero joint angles.
        target: desired pose of the frame.
        liked: preferred rotations, used where a singular configuration leaves a choice.

    Returns:
        Six rotations for each branch. Those of a branch that does not exist for this target are
        approximate or arbitrary; the caller has to check them with forward kinematics.
    """
    displacement = target @ arm.home.inverse()
    solve = _spherical_wrist if geometry.family == 'spherical' else _three_parallel
    if not geometry.inverted:
        return list(solve(geometry.case, Task(arm.axes, displacement, liked)))
    task = Task(read_inverted(arm.axes), displacement.inverse(), liked[::-1])
    return [turns[::-1] for turns in solve(geometry.case, task)]


def _spherical_wrist(case: str, task: Task) -> Iterator[Turns]:
    """Branches of an arm whose axes 4 to 6 meet in a point, which only joints 1 to 3 move."""
    arm, wrist = task.axes[:3], task.axes[3:]
    centre = meeting_point(wrist[0], wrist[1])
    across = wrist[1].direction.cross(wrist[2].direction)
    R = task.displacement.rotation
    last, side = R @ wrist[2].direction, R @ across
    for turns in _POSITIONS[case](task, centre, task.displacement.act(centre)):
        last_seen, side_seen = last, side
        for axis, turn in zip(arm, turns, strict=True):
            last_seen = turn.undo(axis.direction, last_seen)
            side_seen = turn.undo(axis.direction, side_seen)
        for rest in _rotations(wrist, across, last_seen, side_seen, task.liked[3:]):
            yield (*turns, *rest)


def _rotations(
    wrist: Sequence[Axis], across: Vector3, last: Vector3, side: Vector3, liked: Sequence[Turn]
) -> Iterator[Turns]:
    """Both triples of wrist rotations that give the last axis and its normal given directions."""
    first, second, third = (axis.direction for axis in wrist)
    for middle in turns_to_plane(first, second, third, first.dot(last), liked[1]):
        outer = turn_between(first, middle.apply(second, third), last, liked[0])
        left = middle.undo(second, outer.undo(first, side))
        yield outer, middle, turn_between(third, across, left, liked[2])


def _meeting_12(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 if axes 1 and 2 meet: both keep the distance from the meeting point."""
    first, second, third = task.axes[:3]
    origin = meeting_point(first, second)
    lever, offset, reach = point - third.point, third.point - origin, goal - origin
    for t3 in turns_to_distance(third.direction, lever, offset, reach.dot(reach), task.liked[2]):
        bent = t3.apply(third.direction, lever) + offset
        for t2, t1 in _two_turns(first, second, bent, reach, task.liked):
            yield t1, t2, t3


def _two_turns(
    first: Axis, second: Axis, u: Vector3, w: Vector3, liked: Sequence[Turn]
) -> Iterator[tuple[Turn, Turn]]:
    """Rotations about two axes, second axis first, from u to w ([Elias2022] subproblem 2)."""
    a, b = first.direction, second.direction
    for turn in turns_to_plane(a, b, u, a.dot(w), liked[1]):
        yield turn, turn_between(a, turn.apply(b, u), w, liked[0])


def _meeting_23(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 if axes 2 and 3 meet: both keep the distance from the meeting point."""
    first, second, third = task.axes[:3]
    origin = meeting_point(second, third)
    reach, lever = goal - first.point, point - origin
    for t1 in turns_to_distance(
        first.direction, origin - first.point, -reach, lever.dot(lever), task.liked[0]
    ):
        wanted = first.point + t1.undo(first.direction, reach) - origin
        for t3, t2 in _two_turns(second, third, lever, wanted, task.liked[1:]):
            yield t1, t2, t3


def _parallel_23(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 if axes 2 and 3 are parallel: both keep the height along the axes."""
    first, second, third = task.axes[:3]
    reach = goal - first.point
    height = second.direction.dot(point - first.point)
    for t1 in turns_to_plane(reach, first.direction, second.direction, height, task.liked[0]):
        wanted = first.point + t1.undo(first.direction, reach) - second.point
        lever, offset = point - third.point, third.point - second.point
        for t3 in turns_to_distance(
            third.direction, lever, offset, wanted.dot(wanted), task.liked[2]
        ):
            bent = t3.apply(third.direction, lever) + offset
            yield t1, turn_between(second.direction, bent, wanted, task.liked[1]), t3


def _parallel_12(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 if axes 1 and 2 are parallel: both keep the height along the axes."""
    first, second, third = task.axes[:3]
    h = first.direction
    lever, reach = point - third.point, goal - first.point
    for t3 in turns_to_plane(h, third.direction, lever, h.dot(goal - third.point), task.liked[2]):
        bent = t3.apply(third.direction, lever) + third.point - second.point
        offset = second.point - first.point
        for t2 in turns_to_distance(
            second.direction, bent, offset, reach.dot(reach), task.liked[1]
        ):
            turned = t2.apply(second.direction, bent) + offset
            yield turn_between(h, turned, reach, task.liked[0]), t2, t3


def _skew(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 of general axes: a conic intersected with the unit circle ([Pieper1968]).

    Rotation 1 keeps the distance from the foot of the common perpendicular on its axis, and the
    height along its axis. Both conditions determine the point (x, y) to which rotation 2 moves the
    wrist in a plane perpendicular to axis 2. Rotation 3 moves the wrist to (u, v) in that plane
    before. Both points have the same distance from axis 2, which is the equation of the conic.
    """
    first, second, third = task.axes[:3]
    h = second.direction
    across = first.direction.cross(h)
    n = across * (1.0 / across.norm())
    m = h.cross(n)
    gap = -distance(first, second)
    foot1 = meeting_point(first, second)
    foot2 = foot1 - n * gap
    slope, share = first.direction.dot(m), first.direction.dot(h)
    lever, offset, reach = point - third.point, third.point - foot2, goal - foot1

    u, v, height, twice = (_linear(w, third, lever, offset) for w in (n, m, h, offset))
    squared = lever.dot(lever) - offset.dot(offset) + gap * gap - reach.dot(reach)
    rise = first.direction.dot(goal - foot2)
    x = _sum([(1.0 / gap, twice)], 0.5 * squared / gap)
    y = _sum([(-share / slope, height)], rise / slope)
    xx, xy, yy, x1, y1, one = (a - b for a, b in zip(_squared(x, y), _squared(u, v), strict=True))
    for t3 in turns_to_conic((xx, xy, yy, x1, y1, one), task.liked[2]):
        u3, v3, x3, y3 = (_at(part, t3) for part in (u, v, x, y))
        t2 = direction(u3 * x3 + v3 * y3, u3 * y3 - v3 * x3, task.liked[1])
        bent = t3.apply(third.direction, lever) + offset
        turned = t2.apply(h, bent) + foot2 - foot1
        yield turn_between(first.direction, turned, reach, task.liked[0]), t2, t3


_POSITIONS: dict[str, Callable[[Task, Vector3, Vector3], Iterator[Turns]]] = {
    'meeting_12': _meeting_12,
    'meeting_23': _meeting_23,
    'parallel_12': _parallel_12,
    'parallel_23': _parallel_23,
    'skew': _skew,
}


def _three_parallel(case: str, task: Task) -> Iterator[Turns]:
    """Branches of an arm with parallel axes 2 to 4, which keep a direction and heights along it."""
    R, liked = task.displacement.rotation, task.liked
    first, second, third, fourth, fifth, sixth = task.axes
    h = second.direction
    across = h.cross(first.direction)
    # Rotations 3 and 4 as rotations about the direction of axis 2.
    signs = [where_less(h.dot(axis.direction), 0.0, -1.0, 1.0) for axis in (third, fourth)]
    shoulder, elbow, wrist = second.point, _level(third, second), _level(fourth, second)
    lever, offset = wrist - elbow, elbow - shoulder
    for t1, t5 in _OUTER[case](task):
        # Rotations 2 to 4 keep h, so rotation 6 follows from the directions that 1 and 5 give it.
        seen = R.transpose_apply(t1.apply(first.direction, h))
        t6 = turn_between(sixth.direction, seen, t5.undo(fifth.direction, h), liked[5])
        turned = R @ t6.undo(sixth.direction, t5.undo(fifth.direction, across))
        together = turn_between(h, across, t1.undo(first.direction, turned), IN_PLACE)
        # Point to which rotations 2 and 3 must move a point of axis 4.
        start = _moved(sixth, t6.inverse(), _moved(fifth, t5.inverse(), wrist))
        wanted = _moved(first, t1.inverse(), task.displacement.act(start)) - shoulder
        elbow_liked = Turn(liked[2].cos, signs[0] * liked[2].sin)
        for t3 in turns_to_distance(h, lever, offset, wanted.dot(wanted), elbow_liked):
            t2 = turn_between(h, t3.apply(h, lever) + offset, wanted, liked[1])
            t4 = together.after(t3.inverse()).after(t2.inverse())
            own3, own4 = (Turn(t.cos, sign * t.sin) for t, sign in zip((t3, t4), signs))
            yield t1, t2, own3, own4, t5, t6


def _outer_meeting(task: Task) -> Iterator[tuple[Turn, Turn]]:
    """Rotations 1 and 5 if axes 5 and 6 meet: the height of the meeting point gives rotation 1."""
    first, second, _, _, fifth, sixth = task.axes
    h, R = second.direction, task.displacement.rotation
    point = meeting_point(fifth, sixth)
    reach = task.displacement.act(point) - first.point
    last = R @ sixth.direction
    height = h.dot(point - first.point)
    for t1 in turns_to_plane(reach, first.direction, h, height, task.liked[0]):
        slant = t1.apply(first.direction, h).dot(last)
        for t5 in turns_to_plane(h, fifth.direction, sixth.direction, slant, task.liked[4]):
            yield t1, t5


def _outer_skew(task: Task) -> Iterator[tuple[Turn, Turn]]:
    """Rotations 1 and 5 from two equations that are linear in both ([Elias2022] subproblem 6)."""
    first, second, _, _, fifth, sixth = task.axes
    h = second.direction
    zero = Vector3.zero()
    # Component of axis 6 along h, and height of a point of axis 6, by rotation 1 and by rotation 5.
    last = task.displacement.rotation @ sixth.direction
    reach = task.displacement.act(sixth.point) - first.point
    height = h.dot(first.point - fifth.point)
    slant1, height1 = (_linear(v, first, h, zero) for v in (last, reach))
    slant5 = _linear(h, fifth, sixth.direction, zero)
    height5 = _linear(h, fifth, sixth.point - fifth.point, zero)
    # Cosine and sine of rotation 5, linear in those of rotation 1.
    slant = _sum([(1.0, slant1)], -slant5[2])
    level = _sum([(1.0, height1)], height - height5[2])
    (a, b, _), (c, d, _) = slant5, height5
    inverse = 1.0 / (a * d - b * c)
    x = _sum([(d * inverse, slant), (-b * inverse, level)], 0.0)
    y = _sum([(a * inverse, level), (-c * inverse, slant)], 0.0)
    xx, xy, yy, x1, y1, one = _squared(x, y)
    for t1 in turns_to_conic((xx, xy, yy, x1, y1, one - 1.0), task.liked[0]):
        yield t1, direction(_at(x, t1), _at(y, t1), task.liked[4])


_OUTER = {'meeting_56': _outer_meeting, 'skew': _outer_skew}


def _moved(axis: Axis, turn: Turn, point: Vector3) -> Vector3:
    """A point rotated about an axis."""
    return axis.point + turn.apply(axis.direction, point - axis.point)


def _level(axis: Axis, other: Axis) -> Vector3:
    """The point of an axis at the same height as the point of another, parallel axis."""
    return axis.point + other.direction * other.direction.dot(other.point - axis.point)


def _linear(v: Vector3, axis: Axis, u: Vector3, offset: Vector3) -> Linear:
    """v . (rotated u + offset) as a linear expression in the rotation about the axis."""
    k = axis.direction
    along = k * k.dot(u)
    return v.dot(u - along), v.dot(k.cross(u)), v.dot(along + offset)


def _sum(parts: Sequence[tuple[Scalar, Linear]], constant: Scalar) -> Linear:
    c, s, one = (sum((factor * part[i] for factor, part in parts), 0.0) for i in range(3))
    return c, s, one + constant


def _squared(x: Linear, y: Linear) -> list[Scalar]:
    """Coefficients of x^2 + y^2 as a conic of ``turns_to_conic``."""
    return [x[i] * x[j] + y[i] * y[j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]


def _at(linear: Linear, turn: Turn) -> Scalar:
    return linear[0] * turn.cos + linear[1] * turn.sin + linear[2]
