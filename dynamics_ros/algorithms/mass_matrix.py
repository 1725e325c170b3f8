# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mass matrix by the composite-rigid-body algorithm, which evaluates the sum of [RD] eq. 3.43."""

from __future__ import annotations

from dynamics_ros.algorithms.linear_algebra.solve import factorize, inverse_of
from dynamics_ros.model import Model
from dynamics_ros.spatial import Inertia, Scalar

from .quantity import Q, SquareMatrix, quantity
from .recursion import carried_by_bodies, forces_towards_root, transforms_of_bodies


@quantity(
    'mass matrix M, symmetric ([RD] eq. 3.43)',
    'rows as tau, columns as v; for prismatic joints m in place of rad',
)
def mass_matrix(model: Model, q: Q) -> SquareMatrix:
    """Symmetric mass matrix M(q) (nv, nv) ([Featherstone2008] table 6.2).

    M_ij = S_j^T Y_i^c S_i for each joint j between body i and the root, where Y_i^c is the
    composite inertia of body i with its subtree.
    """
    transforms = transforms_of_bodies(model, q)
    composite = carried_by_bodies(model, transforms, model.inertias, Inertia.zero())
    M: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for i, joint in enumerate(model.joints):
        for column, S_i in joint.subspace(q):
            for j, (force,) in forces_towards_root(model, transforms, i, composite[i] @ S_i):
                for row, S_j in model.joints[j].subspace(q):
                    entry = S_j.dot(force)
                    M[row][column] = M[row][column] + entry
                    if j != i:
                        M[column][row] = M[column][row] + entry
    return M


@quantity('inverse of the mass matrix', 'rows as a, columns as tau', may_be_singular=True)
def mass_matrix_inverse(model: Model, q: Q) -> SquareMatrix:
    """M^-1 (nv, nv)."""
    return inverse_of(factorize(mass_matrix(model, q)))
