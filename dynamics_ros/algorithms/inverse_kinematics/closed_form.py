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

from dynamics_ros.spatial import Transform, Vector3
from dynamics_ros.spatial.scalar import where_less

from .six_axis_geometry import Arm, Axis, Geometry, meeting_point, read_inverted
from .subproblems import Turn, turn_between, turns_to_distance, turns_to_plane

Turns = tuple[Turn, ...]
IDENTITY = Turn(1.0, 0.0)


class Task(NamedTuple):
    """The equation of six rotations whose product is a displacement v -> R v + p.

    Attributes:
        axes: of the rotations, in the order of the product.
        displacement: R and p.
        preferred: preferred rotations, used where a rotation is arbitrary.
    """

    axes: Sequence[Axis]
    displacement: Transform
    preferred: Sequence[Turn]


Positions = Callable[[Task, Vector3, Vector3], Iterator[Turns]]
"""Function of a task, a point and its goal: rotations 1 to 3 that move the point to the goal."""


def analytic_branches(
    geometry: Geometry, arm: Arm, target: Transform, preferred: Sequence[Turn]
) -> list[Turns]:
    """Rotations of all six joints in every branch.

    Args:
        geometry: the geometry of the arm.
        arm: axes of the arm, and pose of its frame at zero joint angles.
        target: desired pose of the frame.
        preferred: preferred rotations, used where a singular configuration leaves a choice.

    Returns:
        Six rotations for each branch. Those of a branch that does not exist for this target are
        approximate or arbitrary; the caller has to check them with forward kinematics.
    """
    displacement = target @ arm.home.inverse()
    if not geometry.inverted:
        return list(_branches(geometry.case, Task(arm.axes, displacement, preferred)))
    task = Task(read_inverted(arm.axes), displacement.inverse(), preferred[::-1])
    return [turns[::-1] for turns in _branches(geometry.case, task)]


def _branches(case: str, task: Task) -> Iterator[Turns]:
    if case == 'parallel':
        return _three_parallel(task)
    return _spherical_wrist(_POSITIONS[case], task)


def _spherical_wrist(positions: Positions, task: Task) -> Iterator[Turns]:
    """Branches of an arm whose axes 4 to 6 meet in a point, which only joints 1 to 3 move."""
    arm, wrist = task.axes[:3], task.axes[3:]
    centre = meeting_point(wrist[0], wrist[1])
    across = wrist[1].direction.cross(wrist[2].direction)
    R = task.displacement.rotation
    last, side = R @ wrist[2].direction, R @ across
    for turns in positions(task, centre, task.displacement.act(centre)):
        last_seen, side_seen = last, side
        for axis, turn in zip(arm, turns, strict=True):
            last_seen = turn.undo(axis.direction, last_seen)
            side_seen = turn.undo(axis.direction, side_seen)
        for rest in _rotations(wrist, across, last_seen, side_seen, task.preferred[3:]):
            yield (*turns, *rest)


def _rotations(
    wrist: Sequence[Axis], across: Vector3, last: Vector3, side: Vector3, preferred: Sequence[Turn]
) -> Iterator[Turns]:
    """Both triples of wrist rotations that give the last axis and its normal given directions."""
    first, second, third = (axis.direction for axis in wrist)
    for middle in turns_to_plane(first, second, third, first.dot(last), preferred[1]):
        outer = turn_between(first, middle.apply(second, third), last, preferred[0])
        remaining = middle.undo(second, outer.undo(first, side))
        yield outer, middle, turn_between(third, across, remaining, preferred[2])


def _meeting_12(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 if axes 1 and 2 meet: both keep the distance from the meeting point."""
    first, second, third = task.axes[:3]
    origin = meeting_point(first, second)
    lever, offset, reach = point - third.point, third.point - origin, goal - origin
    for t3 in turns_to_distance(
        third.direction, lever, offset, reach.dot(reach), task.preferred[2]
    ):
        bent = t3.apply(third.direction, lever) + offset
        for t2, t1 in _two_turns(first, second, bent, reach, task.preferred):
            yield t1, t2, t3


def _two_turns(
    first: Axis, second: Axis, u: Vector3, w: Vector3, preferred: Sequence[Turn]
) -> Iterator[tuple[Turn, Turn]]:
    """Rotations about two axes, second axis first, from u to w ([Elias2022] subproblem 2)."""
    a, b = first.direction, second.direction
    for turn in turns_to_plane(a, b, u, a.dot(w), preferred[1]):
        yield turn, turn_between(a, turn.apply(b, u), w, preferred[0])


def _meeting_23(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 if axes 2 and 3 meet: both keep the distance from the meeting point."""
    first, second, third = task.axes[:3]
    origin = meeting_point(second, third)
    reach, lever = goal - first.point, point - origin
    for t1 in turns_to_distance(
        first.direction, origin - first.point, -reach, lever.dot(lever), task.preferred[0]
    ):
        wanted = first.point + t1.undo(first.direction, reach) - origin
        for t3, t2 in _two_turns(second, third, lever, wanted, task.preferred[1:]):
            yield t1, t2, t3


def _parallel_23(task: Task, point: Vector3, goal: Vector3) -> Iterator[Turns]:
    """Rotations 1 to 3 if axes 2 and 3 are parallel: both keep the height along the axes."""
    first, second, third = task.axes[:3]
    reach = goal - first.point
    height = second.direction.dot(point - first.point)
    for t1 in turns_to_plane(reach, first.direction, second.direction, height, task.preferred[0]):
        wanted = first.point + t1.undo(first.direction, reach) - second.point
        lever, offset = point - third.point, third.point - second.point
        for t3 in turns_to_distance(
            third.direction, lever, offset, wanted.dot(wanted), task.preferred[2]
        ):
            bent = t3.apply(third.direction, lever) + offset
            yield t1, turn_between(second.direction, bent, wanted, task.preferred[1]), t3


_POSITIONS: dict[str, Positions] = {
    'meeting_12': _meeting_12,
    'meeting_23': _meeting_23,
    'parallel_23': _parallel_23,
}


def _three_parallel(task: Task) -> Iterator[Turns]:
    """Branches of an arm with parallel axes 2 to 4, which keep a direction and heights along it.

    Axes 5 and 6 meet in a point, whose height gives rotation 1.
    """
    R, preferred = task.displacement.rotation, task.preferred
    first, second, third, fourth, fifth, sixth = task.axes
    h = second.direction
    across = h.cross(first.direction)
    # Rotations 3 and 4 as rotations about the direction of axis 2.
    signs = [where_less(h.dot(axis.direction), 0.0, -1.0, 1.0) for axis in (third, fourth)]
    shoulder, elbow, wrist = second.point, _level(third, second), _level(fourth, second)
    lever, offset = wrist - elbow, elbow - shoulder
    elbow_preferred = Turn(preferred[2].cos, signs[0] * preferred[2].sin)
    point = meeting_point(fifth, sixth)
    reach = task.displacement.act(point) - first.point
    height = h.dot(point - first.point)
    for t1 in turns_to_plane(reach, first.direction, h, height, preferred[0]):
        h_1 = t1.apply(first.direction, h)
        slant = h_1.dot(R @ sixth.direction)
        for t5 in turns_to_plane(h, fifth.direction, sixth.direction, slant, preferred[4]):
            # Rotations 2 to 4 keep h, so rotation 6 follows from the directions that 1 and 5 give.
            h_5 = t5.undo(fifth.direction, h)
            t6 = turn_between(sixth.direction, R.transpose_apply(h_1), h_5, preferred[5])
            turned = R @ t6.undo(sixth.direction, t5.undo(fifth.direction, across))
            together = turn_between(h, across, t1.undo(first.direction, turned), IDENTITY)
            # Point to which rotations 2 and 3 must move a point of axis 4.
            start = _moved(sixth, t6.inverse(), _moved(fifth, t5.inverse(), wrist))
            wanted = _moved(first, t1.inverse(), task.displacement.act(start)) - shoulder
            for t3 in turns_to_distance(h, lever, offset, wanted.dot(wanted), elbow_preferred):
                t2 = turn_between(h, t3.apply(h, lever) + offset, wanted, preferred[1])
                t4 = together.after(t3.inverse()).after(t2.inverse())
                own3, own4 = (Turn(t.cos, sign * t.sin) for t, sign in zip((t3, t4), signs))
                yield t1, t2, own3, own4, t5, t6


def _moved(axis: Axis, turn: Turn, point: Vector3) -> Vector3:
    """A point rotated about an axis."""
    return axis.point + turn.apply(axis.direction, point - axis.point)


def _level(axis: Axis, other: Axis) -> Vector3:
    """The point of an axis at the same height as the point of another, parallel axis."""
    return axis.point + other.direction * other.direction.dot(other.point - axis.point)
