# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The mass matrix by composite rigid bodies ([RD] eq. 3.43 is the sum that it computes)."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Inertia, Scalar

from .recursion import carried_by_bodies, felt_towards_root, transforms_of_bodies


def mass_matrix(model: Model, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """M(q), nv by nv, symmetric ([Featherstone2008] table 6.2).

    H_ij = S_i^T Y_i^c S_j, where Y_i^c is the inertia of body i and of all that it carries: the
    force that a unit velocity of joint i takes is felt by every joint below it.
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
