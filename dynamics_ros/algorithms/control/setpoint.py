# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a setpoint pose that moves to a goal with limited speed and stays near the tool."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Matrix3, Scalar, Vector3, exp_matrix, log_matrix, transform_of_rows
from dynamics_ros.spatial.scalar import sqrt, where_less

from .validity import at_least, at_most

Values = Sequence[Scalar]

APPROACH = 10.0
"""Rate at which the remaining distance decays near the goal [1/s]."""

TINY = 1e-18
"""Square of a length that counts as zero [m^2, rad^2], and smallest time to divide by [s]."""


SHAPES = {
    'setpoint': (4, 4),
    'moving': (6,),
    'goal': (4, 4),
    'wanted': (6,),
    'follows_goal': (),
    'tool': (4, 4),
    'limits': (3, 2),
    'dt': (),
}
"""Names and shapes of the kernel's inputs, in the order of the arguments of `setpoint_step`."""

RESULTS = ('next_pose', 'next_twist', 'waits')


def setpoint_step(
    pose: Sequence[Values],
    twist: Values,
    goal: Sequence[Values],
    wanted: Values,
    follows_goal: Scalar,
    tool: Sequence[Values],
    limits: Sequence[Values],
    dt: Scalar,
) -> tuple[list[list[Scalar]], list[Scalar], Scalar]:
    """Move the setpoint for one step.

    Args:
        pose, goal, tool: (4, 4) poses of setpoint, goal and tool in the root frame.
        twist: (6) current twist of the setpoint, in axes of the root frame.
        wanted: (6) desired twist, used if the setpoint does not follow the goal.
        follows_goal: 1 to move to the goal, 0 to move with the desired twist.
        limits: (3, 2) rows of largest speed, acceleration, and distance from the tool; linear [m]
            and angular [rad].
        dt: interval [s].

    Returns:
        Pose (4, 4) and twist (6) of the setpoint after the step; 1.0 if its distance from the tool
        has been limited, else 0.0.
    """
    X_0S, X_0G, X_0T = (transform_of_rows(rows) for rows in (pose, goal, tool))
    error = [
        X_0G.translation - X_0S.translation,
        log_matrix(X_0G.rotation @ X_0S.rotation.T),
    ]
    speeds, accelerations, leads = limits
    moved: list[Vector3] = []
    for i in range(2):
        distance = _length(error[i])
        fastest = at_most(sqrt(accelerations[i] * distance), APPROACH * distance)
        towards = error[i] * (fastest / distance)
        told = Vector3.of(wanted[3 * i : 3 * i + 3])
        aim = [where_less(0.5, follows_goal, x, y) for x, y in zip(towards, told, strict=True)]
        before = Vector3.of(twist[3 * i : 3 * i + 3])
        change = _within(_within(Vector3.of(aim), speeds[i]) - before, accelerations[i] * dt)
        moved.append(before + change)
    p = X_0S.translation + moved[0] * dt
    R = exp_matrix(moved[1] * dt) @ X_0S.rotation
    # Limit the distance from the tool. The twist of a limited setpoint is that of its actual
    # motion. Otherwise the damper would add to the contact force of a tool that is blocked.
    ahead = [p - X_0T.translation, log_matrix(R @ X_0T.rotation.T)]
    near = [_within(x, lead) for x, lead in zip(ahead, leads, strict=True)]
    far: Scalar = 0.0
    for x, lead in zip(ahead, leads, strict=True):
        far = far + where_less(lead, _length(x), 1.0, 0.0)
    p = X_0T.translation + near[0]
    R = Matrix3(
        [where_less(0.5, far, x, y) for x, y in zip(*rows, strict=True)]
        for rows in zip(exp_matrix(near[1]) @ X_0T.rotation, R, strict=True)
    )
    gone = [p - X_0S.translation, log_matrix(R @ X_0S.rotation.T)]
    real = [
        _within(way * (1.0 / at_least(dt, TINY)), _length(wish))
        for way, wish in zip(gone, moved, strict=True)
    ]
    rates = [
        [where_less(0.5, far, x, y) for x, y in zip(*pair, strict=True)]
        for pair in zip(real, moved, strict=True)
    ]
    rows = [[*row, x] for row, x in zip(R, p, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]], [*rates[0], *rates[1]], where_less(0.5, far, 1.0, 0.0)


def _length(x: Vector3) -> Scalar:
    return sqrt(x.dot(x) + TINY)


def _within(x: Vector3, length: Scalar) -> Vector3:
    """The vector x, shortened to at most the given length."""
    return x * at_most(length / _length(x), 1.0)
