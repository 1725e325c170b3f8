# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A search for joint positions as one loop: steps until the frames arrive or progress ends."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, log_matrix, transform_of_rows
from dynamics_ros.spatial.scalar import clipped, larger, repeat, where_less

from .step import Support, inverse_kinematics_step

Values = Sequence[Scalar]

PROGRESS = 7
"""What is known of a search: squared position error [m^2] and squared rotation error [rad^2] of the
worst frame, what steps minimise, the largest move over its allowance, these four where the last
step started; the least cost that counted as progress, steps since, and all steps."""

SETTINGS = 6

GAIN = 0.8
"""What is left of the squared error after a step that counts as progress."""

IDLE_STEPS = 2
"""So many steps in a row may pass without progress; one more ends a search."""

MOST_STEPS = 1000
"""A bound on what settings may ask for."""


def inverse_kinematics_search(
    model: Model,
    frames: Sequence[Frame],
    positions: Values,
    progress: Values,
    targets: Sequence[Sequence[Values]],
    joints: Sequence[Values],
    tasks: Sequence[Sequence[Values]],
    settings: Values,
    supports: Sequence[Support] = (),
) -> dict[str, list[Scalar]]:
    """Steps from joint positions until the frames arrive, progress ends, or there were enough.

    Where the frames have arrived or progress has ended the positions stay where that was found;
    both results can be the arguments of a search that goes on.

    Args:
        model, frames, targets, joints, tasks, supports: as for ``inverse_kinematics_step``.
        positions: as ``x`` there; joints are first brought within the limits.
        progress: (PROGRESS) so far.
        settings: (SETTINGS) damping and pull of a step; squares of the position and rotation error
            that count as arrived; the move, over its allowance, below which no further step is
            made; the most steps in all.

    Returns:
        positions and progress (PROGRESS).
    """
    lead = len(model.joints[0].q_indices) if supports else 0
    skip = len(model.joints[0].v_indices) if supports else 0
    start = list(positions[:lead])
    for x, low, high in zip(positions[lead:], joints[0][skip:], joints[1][skip:], strict=True):
        start.append(clipped(x, low, high))

    def turn(
        state: list[Scalar],
        targets: Sequence[Sequence[Values]],
        joints: Sequence[Values],
        tasks: Sequence[Sequence[Values]],
        settings: Values,
    ) -> tuple[list[Scalar], Scalar]:
        damping, pull, near, aligned, settled, most = settings
        x, (least, idle, steps) = state[: len(start)], state[-3:]
        problem = (targets, joints, tasks, damping, pull)
        step = inverse_kinematics_step(model, frames, x, *problem, supports)
        away = where_less(near, step.position, 1.0, where_less(aligned, step.rotation, 1.0, 0.0))
        bound = GAIN * least
        least = where_less(step.cost, bound, step.cost, least)
        idle = where_less(step.cost, bound, 0.0, idle + 1.0)
        moves = where_less(IDLE_STEPS, idle, 0.0, away)
        steps = steps + moves
        x = [where_less(0.0, moves, b, a) for a, b in zip(x, step.following, strict=True)]
        figures = [step.position, step.rotation, step.cost, step.move]
        go_on = where_less(step.move, settled, 0.0, where_less(steps, most, moves, 0.0))
        return [*x, *figures, least, idle, steps], go_on

    state = repeat(turn, [*start, *progress], MOST_STEPS, targets, joints, tasks, settings)
    return {'positions': state[: len(start)], 'progress': state[len(start) :]}


def inverse_kinematics_check(
    model: Model,
    frames: Sequence[Frame],
    q: Values,
    targets: Sequence[Sequence[Values]],
    slack: Values,
    coordinates: Sequence[int],
    bounds: Sequence[Values],
    near: Values,
    supports: Sequence[Support] = (),
) -> list[Scalar]:
    """How far a configuration is from the targets and the limits, found apart from a search.

    The rotation error is the rotation vector of the relative rotation, [RD] eq. 2.251, found in the
    axes of the root and turned into those of the target, in which a search finds it.

    Args:
        model: the robot.
        frames: m frames.
        q: (nq).
        targets: (m, 4, 4) their poses in the root frame; of supports more of them.
        slack: (6) as for a step, of the frames.
        coordinates: indices into q of the n moving coordinates.
        bounds: (3, n) rows of lower limit, upper limit, and 1 for a joint that may turn fully.
        near: (n) positions.
        supports: frames that keep their places.

    Returns:
        Squared position error and squared rotation error of the worst frame [m^2, rad^2]; how far
        beyond its limits a joint is at most; how far a joint that may turn fully is from ``near``;
        squared errors of the worst support, as of the frames.
    """
    position: Scalar = 0.0
    rotation: Scalar = 0.0
    slipped: Scalar = 0.0
    turned: Scalar = 0.0
    wanted = [(frame, 6, slack) for frame in frames]
    wanted += [(frame, count, [0.0] * 6) for frame, count in supports]
    for i, ((frame, count, slack), rows) in enumerate(zip(wanted, targets, strict=True)):
        X_0T, X_0F = transform_of_rows(rows), frame_pose(model, q, frame)
        R_T0 = X_0T.rotation.T
        linear = R_T0 @ (X_0T.translation - X_0F.translation)
        angular = R_T0 @ log_matrix(X_0T.rotation @ X_0F.rotation.T)
        missing = [*linear, *angular]
        beyond = [y - clipped(y, -s, s) for y, s in zip(missing, slack, strict=True)]
        squares = [y * y for y in beyond]
        linear_square = squares[0] + squares[1] + squares[2]
        angular_square = squares[3] + squares[4] + squares[5]
        if i < len(frames):
            position = larger(position, linear_square)
            rotation = larger(rotation, angular_square)
        else:
            slipped = larger(slipped, linear_square)
            turned = larger(turned, angular_square if count == 6 else 0.0)
    outside: Scalar = 0.0
    away: Scalar = 0.0
    for place, lower, upper, turning, value in zip(coordinates, *bounds, near, strict=True):
        x = q[place]
        outside = larger(outside, larger(lower - x, x - upper))
        away = larger(away, turning * larger(x - value, value - x))
    return [position, rotation, outside, away, slipped, turned]
