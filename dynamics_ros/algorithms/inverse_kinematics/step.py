# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One iteration of inverse kinematics: damped least squares within joint limits.

The error e of frame F is the pose error to its target T, in the axes of T, [RD] eq. 2.251. A step d
of the joints minimises |e - J d|^2 + damping |d|^2. It is solved in its dual form with six
equations per frame, independent of the number of joints: d = W J^T (J W J^T + damping)^-1 e, with
the mobility W of the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dynamics_ros.algorithms.configuration import neutral
from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.solve import Factors, dot, factorize, solve_factorized
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import (
    Matrix3,
    Motion,
    Scalar,
    Transform,
    Vector3,
    log_matrix,
    transform_of_rows,
)
from dynamics_ros.spatial.scalar import clipped, larger, magnitude, where_less

Values = Sequence[Scalar]

DAMPING_FLOOR = 1e-12
"""Keeps the equations definite when the error vanishes at a singular configuration."""


class Support(NamedTuple):
    """A frame whose position or pose is kept while the root joint moves.

    Attributes:
        frame: for example a foot.
        rows: 3 to keep its position, 6 to keep its pose.
    """

    frame: Frame
    rows: int


class Step(NamedTuple):
    """Result of a step: errors at its start, and the next positions.

    Attributes:
        position, rotation: squared errors [m^2], [rad^2] of the worst frame.
        cost: squared norm of the weighted error, which steps minimise.
        move: largest joint step relative to its limit, before it is shortened.
        following: the next positions.
    """

    position: Scalar
    rotation: Scalar
    cost: Scalar
    move: Scalar
    following: list[Scalar]


def moving_coordinates(model: Model, frames: Sequence[Frame]) -> list[tuple[int, int]]:
    """Indices in q and v of the actuated joints with one coordinate that move the frames."""
    moved = {
        column
        for frame in frames
        for body in model.ancestors(frame.body)
        for column in model.joints[body].v_indices
    }
    return [
        (joint.q_indices[0], joint.v_indices[0])
        for joint in model.actuated
        if joint.kind.nq == 1 and joint.v_indices[0] in moved
    ]


def inverse_kinematics_step(
    model: Model,
    frames: Sequence[Frame],
    x: Values,
    targets: Sequence[Sequence[Values]],
    joints: Sequence[Values],
    tasks: Sequence[Sequence[Values]],
    damping: Scalar,
    pull: Scalar,
    supports: Sequence[Support] = (),
) -> Step:
    """Compute the next joint positions, and the errors at the current ones.

    The damping is proportional to the squared error [Sugihara2011]: large far from the target, and
    close to Gauss-Newton near it. A joint at its limit does not move if the gradient points beyond
    the limit [Bertsekas1982]; steps that would cross a limit are clipped to it.

    With supports the root joint moves, too. The supports have priority: the frames are moved in the
    null space of the supports, [RD] eq. 2.276.

    Args:
        model: the robot; without supports its root joint is at rest.
        frames: m frames to move to targets.
        x: positions of the n moving coordinates; with supports, those of the root joint come first.
        targets: poses (4, 4) in the root frame: of the m frames, then of the supports.
        joints: (5, n) rows of lower limit, upper limit, mobility (0: at rest), 1 / largest step,
            and preferred position. With supports, the velocities of the root joint come first, with
            limits far away and preferred position 0.
        tasks: (2, 6) of each target: rows of weights and of tolerated errors. An error component
            within plus or minus its tolerance counts as zero [m, rad], in the axes of the target.
        damping: factor of the squared error.
        pull: fraction of the distance to the preferred position that a step moves in the null space
            of the targets.
        supports: frames whose poses or positions are kept.
    """
    lower, upper, mobility, inverse_allowance, preferred = joints
    moving = moving_coordinates(model, [*frames, *(support.frame for support in supports)])
    root = model.joints[0] if supports else None
    root_q = () if root is None else root.q_indices
    root_v = () if root is None else root.v_indices
    q_indices = [*root_q, *(place for place, _ in moving)]
    columns = [*root_v, *(column for _, column in moving)]
    n = len(columns)
    q: list[Scalar] = neutral(model)
    for place, value in zip(q_indices, x, strict=True):
        q[place] = value
    x = [0.0] * len(root_v) + list(x[len(root_q) :])

    # Pose errors and their Jacobians in the axes of the targets: e, A of frames; c, C of supports.
    A: list[list[Scalar]] = []
    e: list[Scalar] = []
    position: Scalar = 0.0
    rotation: Scalar = 0.0
    C: list[list[Scalar]] = []
    c: list[Scalar] = []
    objectives = [(frame, 6, A, e) for frame in frames]
    objectives += [(frame, count, C, c) for frame, count in supports]
    for (frame, count, J, errors), rows, (weight, slack) in zip(
        objectives, targets, tasks, strict=True
    ):
        X_0T = transform_of_rows(rows)
        error = _pose_error(X_0T, frame_pose(model, q, frame))
        excess = [y - clipped(y, -s, s) for y, s in zip(error, slack, strict=True)]
        row_weights = [
            w * where_less(s, magnitude(y), 1.0, where_less(0.0, s, 0.0, 1.0))
            for y, w, s in zip(error, weight, slack, strict=True)
        ]
        twists = jacobian_columns(model, q, frame, 'local_world_aligned')
        R_T0 = X_0T.rotation.T
        rotated = [_rotated(R_T0, twists[column]) for column in columns]
        J += [[row_weights[i] * twist[i] for twist in rotated] for i in range(count)]
        errors += [row_weights[i] * excess[i] for i in range(count)]
        weighted_excess = [where_less(0.0, w, y, 0.0) for w, y in zip(weight, excess[:count])]
        position = larger(position, dot(weighted_excess[:3], weighted_excess[:3]))
        rotation = larger(rotation, dot(weighted_excess[3:], weighted_excess[3:]))
    cost = dot(e, e) + dot(c, c)

    # Mobility of joints; zero for joints at a limit that the gradient would move beyond it.
    downhill = [dot([row[k] for row in [*A, *C]], [*e, *c]) for k in range(n)]
    can_move = [
        where_less(
            downhill[k],
            0.0,
            where_less(lower[k], x[k], 1.0, 0.0),
            where_less(x[k], upper[k], 1.0, 0.0),
        )
        for k in range(n)
    ]
    W = [mobility[k] * can_move[k] for k in range(n)]
    d = [pull * where_less(0.0, mobility[k], preferred[k] - x[k], 0.0) for k in range(n)]

    # d = z + W C^T (C W C^T + damping)^-1 (c - C z) with the step z to preferred positions. Then,
    # with A in the null space of the supports, d + W A^T (A W A^T + damping)^-1 (e - A d).
    if supports:
        floor = damping * dot(c, c) + DAMPING_FLOOR
        WC, factors = _weighted(C, W, floor)
        multipliers = solve_factorized(
            factors, [y - dot(row, d) for y, row in zip(c, C, strict=True)]
        )
        residual = [y - dot(row, d) for y, row in zip(e, A, strict=True)]
        d = _plus_products(d, WC, multipliers)
        e = [
            y - dot([dot(row, w) for w in WC], multipliers)
            for y, row in zip(residual, A, strict=True)
        ]
        A = [
            _plus_products(
                row, C, [-y for y in solve_factorized(factors, [dot(row, w) for w in WC])]
            )
            for row in A
        ]
    else:
        e = [y - dot(row, d) for y, row in zip(e, A, strict=True)]
    WA, factors = _weighted(A, W, damping * cost + DAMPING_FLOOR)
    d = _plus_products(d, WA, solve_factorized(factors, e))

    move: Scalar = 0.0
    for k in range(n):
        move = larger(move, magnitude(d[k]) * inverse_allowance[k])
    scale = 1.0 / larger(move, 1.0)
    d = [scale * y for y in d]
    following: list[Scalar] = []
    if root is not None:
        following += root.kind.integrate([q[i] for i in root_q], d[: len(root_v)])
    for k in range(len(root_v), n):
        following.append(clipped(x[k] + d[k], lower[k], upper[k]))
    return Step(position, rotation, cost, move, following)


def _weighted(
    A: Sequence[Values], W: Values, damping: Scalar
) -> tuple[list[list[Scalar]], Factors]:
    """Columns of W A^T, and the factors of A W A^T + damping."""
    WA = [[w * y for w, y in zip(W, row, strict=True)] for row in A]
    count = len(A)
    M = [[dot(WA[max(i, j)], A[min(i, j)]) for j in range(count)] for i in range(count)]
    for i in range(count):
        M[i][i] = M[i][i] + damping
    return WA, factorize(M)


def _plus_products(values: Values, rows: Sequence[Values], factors: Values) -> list[Scalar]:
    """Values plus the sum of rows times factors."""
    return [x + dot([row[k] for row in rows], factors) for k, x in enumerate(values)]


def _pose_error(X_0T: Transform, X_0F: Transform) -> list[Scalar]:
    """Pose error (6): position and rotation vector from frame to target, in axes of the target."""
    R_T0 = X_0T.rotation.T
    return [
        *(R_T0 @ (X_0T.translation - X_0F.translation)),
        *log_matrix(X_0F.rotation.T @ X_0T.rotation),
    ]


def _rotated(R: Matrix3, column: Motion) -> list[Scalar]:
    linear: Vector3 = R @ column.linear
    return [*linear, *(R @ column.angular)]
