# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Iterative inverse kinematics as one loop: steps until convergence or until progress stops."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, log_matrix, transform_of_rows
from dynamics_ros.spatial.scalar import clipped, larger, repeat, where_less

from .step import Support, inverse_kinematics_step

Values = Sequence[Scalar]

PROGRESS = 7
"""Number of progress values of a search. At the start of the last step: squared position error
[m^2] and rotation error [rad^2] of the worst frame, cost that steps minimise, largest joint step
relative to its limit. Then: last cost that counted as progress, number of steps since then, total
number of steps."""

SETTINGS = 6

PROGRESS_RATIO = 0.8
"""A step counts as progress if it reduces the cost below this fraction of the last such cost."""

IDLE_STEPS = 2
"""Number of consecutive steps without progress after which one more ends a search."""

MAX_STEPS = 1000
"""Upper limit of the number of steps, whatever the settings are."""


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
    """Iterate from joint positions until convergence, until progress stops, or to the step limit.

    After convergence, or if progress has stopped, positions do not change any more. The results can
    be passed as arguments to continue a search.

    Args:
        model, frames, targets, joints, tasks, supports: as for ``inverse_kinematics_step``.
        positions: as ``x`` for ``inverse_kinematics_step``; joints are first clipped to the limits.
        progress: (PROGRESS) values of the search so far.
        settings: (SETTINGS) damping and pull of a step; squared position and rotation error of
            convergence; largest joint step, relative to its limit, below which the search ends;
            largest number of all steps.

    Returns:
        ``positions``, and ``progress`` (PROGRESS).
    """
    root_nq = len(model.joints[0].q_indices) if supports else 0
    root_nv = len(model.joints[0].v_indices) if supports else 0
    start = list(positions[:root_nq])
    for x, low, high in zip(
        positions[root_nq:], joints[0][root_nv:], joints[1][root_nv:], strict=True
    ):
        start.append(clipped(x, low, high))

    def iterate(
        state: list[Scalar],
        targets: Sequence[Sequence[Values]],
        joints: Sequence[Values],
        tasks: Sequence[Sequence[Values]],
        settings: Values,
    ) -> tuple[list[Scalar], Scalar]:
        damping, pull, near, aligned, settled, max_steps = settings
        x, (progress_cost, idle, steps) = state[: len(start)], state[-3:]
        problem = (targets, joints, tasks, damping, pull)
        step = inverse_kinematics_step(model, frames, x, *problem, supports)
        not_converged = where_less(
            near, step.position, 1.0, where_less(aligned, step.rotation, 1.0, 0.0)
        )
        bound = PROGRESS_RATIO * progress_cost
        progress_cost = where_less(step.cost, bound, step.cost, progress_cost)
        idle = where_less(step.cost, bound, 0.0, idle + 1.0)
        continues = where_less(IDLE_STEPS, idle, 0.0, not_converged)
        steps = steps + continues
        x = [where_less(0.0, continues, b, a) for a, b in zip(x, step.following, strict=True)]
        values = [step.position, step.rotation, step.cost, step.move]
        go_on = where_less(step.move, settled, 0.0, where_less(steps, max_steps, continues, 0.0))
        return [*x, *values, progress_cost, idle, steps], go_on

    state = repeat(iterate, [*start, *progress], MAX_STEPS, targets, joints, tasks, settings)
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
    """Errors of a configuration with respect to targets and limits, independent of a search.

    The rotation error is the rotation vector of the relative rotation, [RD] eq. 2.251. It is
    computed in the axes of the root frame and rotated to those of the target; a search computes it
    in the latter.

    Args:
        model: the robot.
        frames: m frames.
        q: configuration (nq).
        targets: poses (4, 4) in the root frame: of the m frames, then of the supports.
        slack: (6) tolerated error components of the frames, as for a step [m, rad].
        coordinates: indices into q of the n moving coordinates.
        bounds: (3, n) rows of lower limit, upper limit, and 1 for a joint without limits.
        near: (n) reference positions.
        supports: frames whose poses or positions are kept.

    Returns:
        Squared position error and squared rotation error of the worst frame [m^2, rad^2]; largest
        violation of a joint limit; largest distance of a joint without limits from ``near``;
        squared position and rotation error of the worst support.
    """
    position: Scalar = 0.0
    rotation: Scalar = 0.0
    slipped: Scalar = 0.0
    turned: Scalar = 0.0
    constrained = [(frame, 6, slack) for frame in frames]
    constrained += [(frame, count, [0.0] * 6) for frame, count in supports]
    for i, ((frame, count, slack), rows) in enumerate(zip(constrained, targets, strict=True)):
        X_0T, X_0F = transform_of_rows(rows), frame_pose(model, q, frame)
        R_T0 = X_0T.rotation.T
        linear = R_T0 @ (X_0T.translation - X_0F.translation)
        angular = R_T0 @ log_matrix(X_0T.rotation @ X_0F.rotation.T)
        error = [*linear, *angular]
        excess = [y - clipped(y, -s, s) for y, s in zip(error, slack, strict=True)]
        linear_square, angular_square = dot(excess[:3], excess[:3]), dot(excess[3:], excess[3:])
        if i < len(frames):
            position = larger(position, linear_square)
            rotation = larger(rotation, angular_square)
        else:
            slipped = larger(slipped, linear_square)
            turned = larger(turned, angular_square if count == 6 else 0.0)
    outside: Scalar = 0.0
    away: Scalar = 0.0
    for index, lower, upper, turning, value in zip(coordinates, *bounds, near, strict=True):
        x = q[index]
        outside = larger(outside, larger(lower - x, x - upper))
        away = larger(away, turning * larger(x - value, value - x))
    return [position, rotation, outside, away, slipped, turned]
