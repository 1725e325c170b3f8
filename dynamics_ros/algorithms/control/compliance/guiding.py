# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pose to which locks and walls pull a guided tool, and damping that suits the tool's inertia."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.control.command import MAX_INTERVAL
from dynamics_ros.algorithms.control.validity import at_least, at_most
from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.matrices import product, transposed
from dynamics_ros.algorithms.linear_algebra.solve import (
    cholesky,
    factorize,
    solve_lower,
)
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.quantity import Input, Q, quantity
from dynamics_ros.algorithms.task_space import Rows, frame_rows
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import (
    Matrix3,
    Scalar,
    Vector3,
    exp_matrix,
    log_matrix,
    transform_of_rows,
)
from dynamics_ros.spatial.scalar import clipped, larger, sqrt, where_less

from .holding_back import bounded_task_inertia

Values = Sequence[Scalar]

RATIO = 0.9
"""Damping ratio of locked directions and walls."""

WALL_SPEED, LEAD = 0.1, 0.05
"""Largest speed at which a wall pulls in a tool [m/s], also near a singularity; and distance from
the tool from which the held pose waits for it [m]."""


@quantity(
    'one step of a pose that follows a tool except along locked directions and into walls',
    {'next_held': 'in the root frame', 'bound': '1 in bound directions, else 0'},
    internal=True,
)
def held_pose_step(
    tool: Annotated[Rows, Input(4, 4)],
    held: Annotated[Rows, Input(4, 4)],
    locked: Annotated[Values, Input(6)],
    lower: Annotated[Values, Input(3)],
    upper: Annotated[Values, Input(3)],
    speed: Scalar,
    interval: Scalar,
) -> tuple[Rows, list[Scalar]]:
    """One step of a pose that follows a tool except along locked directions and into walls.

    It differs from the tool pose only in bound directions and starts at the tool pose: a new lock
    or a wall that the tool is beyond does not pull at once.

    Args:
        tool, held: (4, 4) poses in the root frame: of the tool, and of the previous step.
        locked: (6) 1 or 0, along and around x y z of the root frame.
        lower, upper: (3) walls that bound the tool's origin, in the root frame [m].
        speed: at which a wall pulls in a tool that is beyond it [m/s].
        interval: time since the previous step [s].

    Returns:
        The held pose (4, 4), and which directions are bound (6), 1 or 0.
    """
    X_0T, X_0H = transform_of_rows(tool), transform_of_rows(held)
    step = at_most(speed, WALL_SPEED) * at_most(at_least(interval, 0.0), MAX_INTERVAL)
    position: list[Scalar] = []
    bound: list[Scalar] = []
    translations = zip(X_0T.translation, X_0H.translation, locked[:3], lower, upper, strict=True)
    for x, before, lock, low, high in translations:
        into_wall = clipped(x, low, high) - x
        beyond = where_less(into_wall, 0.0, 1.0, where_less(0.0, into_wall, 1.0, 0.0))
        off = before - x
        further = where_less(LEAD, larger(off, -off), 0.0, step)
        drawn = off + clipped(into_wall - off, -further, further)
        position.append(x + where_less(0.5, lock, off, where_less(0.5, beyond, drawn, 0.0)))
        bound.append(where_less(0.5, lock, 1.0, beyond))
    # Rotates about free axes only; any other rotation would change the locked ones.
    turn = log_matrix(X_0H.rotation @ X_0T.rotation.T)
    free = [where_less(0.5, lock, 0.0, x) for x, lock in zip(turn, locked[3:], strict=True)]
    any_locked = locked[3] + locked[4] + locked[5]
    turned = exp_matrix(-Vector3.of(free)) @ X_0H.rotation
    rotation = [
        [where_less(0.5, any_locked, x, y) for x, y in zip(*rows, strict=True)]
        for rows in zip(turned, X_0T.rotation, strict=True)
    ]
    bound += [where_less(0.5, lock, 1.0, 0.0) for lock in locked[3:]]
    rows = [[*row, x] for row, x in zip(rotation, position, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]], bound


@quantity(
    'damping with one damping ratio for all directions of a tool',
    '(6, 6), in the axes',
    internal=True,
)
def task_damping(
    model: Model,
    frame: Frame,
    q: Q,
    stiffness: Annotated[Rows, Input(6, 6)],
    axes: Annotated[Rows, Input(3, 3)],
    axes_of_tool: Scalar,
    ratio: Scalar,
    largest_inertia: Scalar,
    least: Annotated[Values, Input(6)],
) -> Rows:
    """Damping (6, 6) with one damping ratio for all directions of a tool ([AlbuSchaeffer2003]).

    With Lambda = Q Q^T and K = Q diag(k) Q^T it is D = 2 ratio Q diag(sqrt(k)) Q^T, beside the
    least damping. The control law bounds both for its interval (`sampled.bounded_by_samples`).

    Args:
        model, frame: an arm on a fixed base, and its tool frame.
        q: configuration (nq).
        stiffness: K (6, 6) in the axes.
        axes: (3, 3) their rotation, in the root frame or in the tool frame.
        axes_of_tool: 1 if the axes turn with the tool, else 0.
        ratio: damping ratio; 1 is critical.
        largest_inertia: of the tool in any direction [kg].
        least: (6) damping along and around the axes, whatever the stiffness [Ns/m, Nms/rad].
    """
    J, _ = frame_rows(model, q, [0.0] * model.nv, frame, range(6))
    inertia = bounded_task_inertia(J, factorize(mass_matrix(model, q)), largest_inertia)
    rotation = Matrix3(axes)
    of_tool = frame_pose(model, q, frame).rotation @ rotation
    R = [
        [where_less(0.5, axes_of_tool, x, y) for x, y in zip(*rows, strict=True)]
        for rows in zip(of_tool, rotation, strict=True)
    ]
    turn = [[*row, 0.0, 0.0, 0.0] for row in R] + [[0.0, 0.0, 0.0, *row] for row in R]
    L = cholesky(product(transposed(turn), product(inertia, turn)))
    half = [solve_lower(L, row) for row in stiffness]
    values, vectors = symmetric_eigen([solve_lower(L, row) for row in transposed(half)])
    Q = product(L, vectors)
    roots = [2.0 * ratio * sqrt(larger(k, 0.0)) for k in values]
    return [
        [
            sum(x * y * root for x, y, root in zip(a, b, roots, strict=True))
            + (least[i] if i == j else 0.0)
            for j, b in enumerate(Q)
        ]
        for i, a in enumerate(Q)
    ]
