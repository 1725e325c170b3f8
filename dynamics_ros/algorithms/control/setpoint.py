# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a setpoint pose that moves to a goal with limited speed and stays near the tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.quantity import Input, quantity
from dynamics_ros.spatial import Matrix3, Scalar, Vector3, exp_matrix, log_matrix, transform_of_rows
from dynamics_ros.spatial.scalar import sqrt, where_less

from .validity import at_least, at_most

Values = Sequence[Scalar]

APPROACH = 10.0
"""Rate at which the remaining distance decays near the goal [1/s]."""

TINY = 1e-18
"""Square of a length that counts as zero [m^2, rad^2], and smallest time to divide by [s]."""


@quantity(
    'one step of a pose that moves smoothly to where it is wanted, near the tool',
    {
        'next_pose': 'in the root frame',
        'next_twist': 'in root axes',
        'waits': '1 where it would have been too far from the tool, else 0',
    },
    internal=True,
)
def setpoint_step(
    setpoint: Annotated[Sequence[Values], Input(4, 4)],
    moving: Annotated[Values, Input(6)],
    goal: Annotated[Sequence[Values], Input(4, 4)],
    wanted: Annotated[Values, Input(6)],
    follows_goal: Scalar,
    tool: Annotated[Sequence[Values], Input(4, 4)],
    limits: Annotated[Sequence[Values], Input(3, 2)],
    dt: Scalar,
) -> tuple[list[list[Scalar]], list[Scalar], Scalar]:
    """Move the setpoint for one step.

    Args:
        setpoint, goal, tool: (4, 4) poses of setpoint, goal and tool in the root frame.
        moving: (6) current twist of the setpoint, in axes of the root frame.
        wanted: (6) desired twist, used if the setpoint does not follow the goal.
        follows_goal: 1 to move to the goal, 0 to move with the desired twist.
        limits: (3, 2) rows of largest speed, acceleration, and distance from the tool; linear [m]
            and angular [rad].
        dt: interval [s].

    Returns:
        Pose (4, 4) and twist (6) of the setpoint after the step; 1.0 if its distance from the tool
        has been limited, else 0.0.
    """
    X_0S, X_0G, X_0T = (transform_of_rows(rows) for rows in (setpoint, goal, tool))
    error = [
        X_0G.translation - X_0S.translation,
        log_matrix(X_0G.rotation @ X_0S.rotation.T),
    ]
    speeds, accelerations, leads = limits
    velocities: list[Vector3] = []
    for i in range(2):
        distance = _length(error[i])
        goal_speed = at_most(sqrt(accelerations[i] * distance), APPROACH * distance)
        goal_velocity = error[i] * (goal_speed / distance)
        commanded = Vector3.of(wanted[3 * i : 3 * i + 3])
        desired = [
            where_less(0.5, follows_goal, x, y)
            for x, y in zip(goal_velocity, commanded, strict=True)
        ]
        before = Vector3.of(moving[3 * i : 3 * i + 3])
        change = _limited(_limited(Vector3.of(desired), speeds[i]) - before, accelerations[i] * dt)
        velocities.append(before + change)
    p = X_0S.translation + velocities[0] * dt
    R = exp_matrix(velocities[1] * dt) @ X_0S.rotation
    # Limit the distance from the tool. The twist of a limited setpoint is that of its actual
    # motion. Otherwise the damper would add to the contact force of a tool that is blocked.
    offsets = [p - X_0T.translation, log_matrix(R @ X_0T.rotation.T)]
    limited_offsets = [_limited(x, lead) for x, lead in zip(offsets, leads, strict=True)]
    is_limited: Scalar = 0.0
    for x, lead in zip(offsets, leads, strict=True):
        is_limited = is_limited + where_less(lead, _length(x), 1.0, 0.0)
    p = X_0T.translation + limited_offsets[0]
    R = Matrix3(
        [where_less(0.5, is_limited, x, y) for x, y in zip(*rows, strict=True)]
        for rows in zip(exp_matrix(limited_offsets[1]) @ X_0T.rotation, R, strict=True)
    )
    displacement = [p - X_0S.translation, log_matrix(R @ X_0S.rotation.T)]
    actual = [
        _limited(distance_moved * (1.0 / at_least(dt, TINY)), _length(velocity))
        for distance_moved, velocity in zip(displacement, velocities, strict=True)
    ]
    rates = [
        [where_less(0.5, is_limited, x, y) for x, y in zip(*pair, strict=True)]
        for pair in zip(actual, velocities, strict=True)
    ]
    rows = [[*row, x] for row, x in zip(R, p, strict=True)]
    return (
        [*rows, [0.0, 0.0, 0.0, 1.0]],
        [*rates[0], *rates[1]],
        where_less(0.5, is_limited, 1.0, 0.0),
    )


def _length(x: Vector3) -> Scalar:
    return sqrt(x.dot(x) + TINY)


def _limited(x: Vector3, length: Scalar) -> Vector3:
    """The vector x, shortened to at most the given length."""
    return x * at_most(length / _length(x), 1.0)
