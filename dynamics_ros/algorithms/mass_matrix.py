# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mass matrix by the composite-rigid-body algorithm, which evaluates the sum of [RD] eq. 3.43."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Inertia, Scalar

from .recursion import carried_by_bodies, felt_towards_root, transforms_of_bodies


def mass_matrix(model: Model, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """Symmetric mass matrix M(q) (nv, nv) ([Featherstone2008] table 6.2).

    M_ij = S_j^T Y_i^c S_i for each joint j between body i and the root, where Y_i^c is the
    composite inertia of body i with its subtree.
    """
    transforms = transforms_of_bodies(model, q)
    composite = carried_by_bodies(model, transforms, model.inertias, Inertia.zero())
    M: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for i, joint in enumerate(model.joints):
        for column, S_i in joint.subspace(q):
            for j, (force,) in felt_towards_root(model, transforms, i, composite[i] @ S_i):
                for row, S_j in model.joints[j].subspace(q):
                    share = S_j.dot(force)
                    M[row][column] = M[row][column] + share
                    if j != i:
                        M[column][row] = M[column][row] + share
    return M
