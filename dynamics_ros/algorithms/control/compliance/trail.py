# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recent path of a tool as a few poses, and the way back along it.

A rotation by an angle counts as the arc of radius ``LENGTH``, so that a tool that turns in place
also leaves a path. A trail is a vector: ``POSES`` poses as rows (3, 4), the latest first, then the
number of valid ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

from dynamics_ros.algorithms.quantity import Input, quantity
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import larger, magnitude, smaller, sqrt, where_less

from .holding_back import LENGTH

Values = Sequence[Scalar]

POSES = 32
"""Number of poses of a trail."""

ENTRIES = 12
"""Entries of a pose: its first three rows."""

SIZE = POSES * ENTRIES + 1
"""Number of values of a trail."""

SPACING = 0.005
"""Smallest distance between poses, and distance from the end that counts as arrived [m]."""

LOOK_AHEAD = 0.03
"""Distance from the setpoint to its target pose on the trail [m]; smaller ones cause jerky motion.
"""


@quantity(
    'one step of the recent path of a tool',
    'the path; zeros are an empty one',
    internal=True,
)
def trail_step(
    trail: Annotated[Values, Input(SIZE)],
    tool: Annotated[Sequence[Values], Input(4, 4)],
    distance: Scalar,
) -> list[Scalar]:
    """Trail after a step: the pose of the tool is added unless it is close to the latest one.

    Args:
        trail: of the previous step; zeros are an empty one.
        tool: (4, 4) pose of the tool in the root frame.
        distance: path length that the trail has to cover [m].
    """
    poses, count = _poses(trail), trail[-1]
    entries = [x for row in tool[:3] for x in row]
    spacing = larger(distance / (POSES - 2), SPACING)
    near = where_less(_apart(entries, poses[0]), spacing, where_less(0.5, count, 1.0, 0.0), 0.0)
    result = [
        where_less(0.5, near, x, y)
        for pose, before in zip(poses, [entries, *poses], strict=False)
        for x, y in zip(pose, before, strict=True)
    ]
    return [*result, where_less(0.5, near, count, smaller(count + 1.0, float(POSES)))]


@quantity(
    'target pose of a tool that moves back along its recent path',
    {
        'goal': 'in the root frame',
        'next_passed': 'number of passed poses, for the next step',
        'arrived': '1 if the setpoint rests at the end of the way, else 0',
    },
    internal=True,
)
def retract_step(
    trail: Annotated[Values, Input(SIZE)],
    passed: Scalar,
    setpoint: Annotated[Sequence[Values], Input(4, 4)],
    moving: Annotated[Values, Input(6)],
    distance: Scalar,
) -> dict[str, Any]:
    """Target pose of a tool that moves back along its trail.

    Args:
        trail: of the motion before; it does not change during the retraction.
        passed: number of poses that the setpoint has passed, as returned by the previous step.
        setpoint: (4, 4) pose that follows the target, in the root frame.
        moving: (6) its twist.
        distance: path length of the retraction [m].

    Returns:
        ``goal``: the target pose (4, 4); ``next_passed``: the number of passed poses for the next
        step; ``arrived``: 1 if the setpoint rests at the end of the way or there is no way, else 0.
    """
    poses, count = _poses(trail), trail[-1]
    gone: Scalar = 0.0
    last: Scalar = 0.0
    for i, (before, pose) in enumerate(pairwise(poses), start=1):
        last = where_less(gone, distance, where_less(i + 0.5, count, float(i), last), last)
        gone = gone + _apart(before, pose)
    place = [row[3] for row in setpoint[:3]]
    for i, pose in enumerate(poses[:-1]):
        far = _length([x - y for x, y in zip(pose[3::4], place, strict=True)])
        on_it = where_less(magnitude(passed - i), 0.5, 1.0, 0.0)
        goes_on = where_less(passed, last - 0.5, where_less(far, LOOK_AHEAD, on_it, 0.0), 0.0)
        passed = passed + goes_on
    here = [x for row in setpoint[:3] for x in row]
    goal, end = here, here
    for i, pose in enumerate(poses):
        valid = where_less(i + 0.5, count, 0.5, -1.0)
        chosen, ends = magnitude(passed - i), magnitude(last - i)
        goal = [where_less(chosen, valid, x, y) for x, y in zip(pose, goal, strict=True)]
        end = [where_less(ends, valid, x, y) for x, y in zip(pose, end, strict=True)]
    off: Scalar = 0.0
    for x, y in zip(end, here, strict=True):
        off = larger(magnitude(x - y), off)
    speed: Scalar = 0.0
    for x in moving:
        speed = larger(magnitude(x), speed)
    arrived = where_less(off, SPACING, where_less(0.0, speed, 0.0, 1.0), 0.0)
    rows = [goal[4 * i : 4 * i + 4] for i in range(3)]
    goal_pose = [*rows, [0.0, 0.0, 0.0, 1.0]]
    return {'goal': goal_pose, 'next_passed': passed, 'arrived': arrived}


def _poses(trail: Values) -> list[list[Scalar]]:
    return [list(trail[ENTRIES * i : ENTRIES * (i + 1)]) for i in range(POSES)]


def _apart(a: Values, b: Values) -> Scalar:
    """Distance [m] between poses, with arcs of their rotation."""
    # The sum of squares of R_a - R_b is 4 (1 - cos angle), about twice the square of the angle.
    rotated, moved = 0.5**0.5 * LENGTH, 1.0
    weights = [moved if i % 4 == 3 else rotated for i in range(ENTRIES)]
    return _length([k * (x - y) for k, x, y in zip(weights, a, b, strict=True)])


def _length(x: Values) -> Scalar:
    square: Scalar = 0.0
    for entry in x:
        square = square + entry * entry
    return sqrt(square)
