# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Damping of a tool that suits its inertia."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

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
)
from dynamics_ros.spatial.scalar import larger, sqrt, where_less

from .holding_back import bounded_task_inertia

Values = Sequence[Scalar]


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
