# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Coriolis matrix C that satisfies M-dot = C + C^T ([Echeandia2021])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.model import Model
from dynamics_ros.spatial import Force, Inertia, Matrix3, Motion, Scalar, Transform, Vector3

from .quantity import Q, SquareMatrix, V, quantity
from .recursion import BodyMotions, carried_by_bodies, forces_towards_root, motion_of_bodies


@dataclass(frozen=True)
class BodyCoriolis:
    """B = (v x* Y + (Y v) xbar* - Y v x) / 2 of a body with inertia Y and twist v.

    B does not depend on the linear part of its argument. About the centre of mass, the angular part
    s gives the force -m v_c x s and the torque w x (I - tr(I)/2) s. Two 3x3 blocks are therefore
    stored.

    Attributes:
        F: maps the angular part to the force.
        K: maps the angular part to the torque about the origin of the frame.
    """

    F: Matrix3
    K: Matrix3

    @classmethod
    def of(cls, inertia: Inertia, velocity: Motion) -> BodyCoriolis:
        """B of one rigid body, in the body frame."""
        c, w = inertia.center, velocity.angular
        v_c = velocity.linear + w.cross(c)
        I = inertia.rotational
        half_trace = 0.5 * (I[0, 0] + I[1, 1] + I[2, 2])
        F = Matrix3.skew(v_c * -inertia.mass)
        K = Matrix3.skew(w) @ (I - Matrix3.identity() * half_trace)
        return cls(F, K + Matrix3.skew(c) @ F)

    def __add__(self, other: BodyCoriolis) -> BodyCoriolis:
        return BodyCoriolis(self.F + other.F, self.K + other.K)

    def seen_from(self, X_PB: Transform) -> BodyCoriolis:
        """X* B X^-1: this B, given in frame B, expressed in the parent frame P."""
        R = X_PB.rotation
        F = R @ self.F @ R.T
        return BodyCoriolis(F, R @ self.K @ R.T + Matrix3.skew(X_PB.translation) @ F)

    def __matmul__(self, motion: Motion) -> Force:
        return Force(self.F @ motion.angular, self.K @ motion.angular)

    def transpose_apply(self, motion: Motion) -> Force:
        """B^T s of a motion s."""
        torque = self.F.transpose_apply(motion.linear) + self.K.transpose_apply(motion.angular)
        return Force(Vector3.zero(), torque)


@dataclass(frozen=True)
class CompositeBodies:
    """Composite bodies at (q, v): each body with its subtree as one rigid body.

    Attributes:
        motions: transforms and velocities of the bodies.
        inertias: composite inertia of each body with its subtree, in the frame of the body.
        coriolis: composite B of each body with its subtree, in the frame of the body.
    """

    motions: BodyMotions
    inertias: dict[int, Inertia]
    coriolis: dict[int, BodyCoriolis]


def composite_bodies(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> CompositeBodies:
    """Compute velocities by an outward pass, composite inertias and B by inward passes."""
    motions = motion_of_bodies(model, q, v)
    body_coriolis = [
        BodyCoriolis.of(Y, motions.velocities[i]) for i, Y in enumerate(model.inertias)
    ]
    zero = BodyCoriolis(Matrix3.zero(), Matrix3.zero())
    return CompositeBodies(
        motions,
        carried_by_bodies(model, motions.transforms, model.inertias, Inertia.zero()),
        carried_by_bodies(model, motions.transforms, body_coriolis, zero),
    )


@quantity(
    'Coriolis matrix C, for which dM/dt - 2 C is skew-symmetric ([Echeandia2021])',
    'rows as tau, columns as v; for prismatic joints m in place of rad',
    name='coriolis',
    may_overflow=True,
)
def coriolis_matrix(model: Model, q: Q, v: V) -> SquareMatrix:
    """C(q, v) (nv, nv): C v is the Coriolis and centrifugal torque, M-dot - 2 C is skew-symmetric.

    C is the sum over bodies of J^T Y J-dot + J^T B J. It is evaluated with composite bodies, for
    each joint i and each joint j between it and the root:

        C_ji = S_j^T (Y S-dot_i + B S_i),   C_ij = S-dot_j^T Y S_i + S_j^T B^T S_i.

    Y and B belong to the composite body i. S-dot is v_B x S plus the change of S in its body frame.
    """
    tree = composite_bodies(model, q, v)
    transforms, velocities = tree.motions.transforms, tree.motions.velocities
    C: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for i, joint in enumerate(model.joints):
        Y, B = tree.inertias[i], tree.coriolis[i]
        changes = joint.subspace_rates(q, v)
        for (k, S_i), change in zip(joint.subspace(q), changes, strict=True):
            S_rate = velocities[i].cross(S_i) + change
            forces_of_column = Y @ S_rate + B @ S_i, Y @ S_i, B.transpose_apply(S_i)
            for j, forces in forces_towards_root(model, transforms, i, *forces_of_column):
                by_column, momentum, by_row = forces
                below = model.joints[j]
                rates = below.subspace_rates(q, v)
                for (m, S_j), change in zip(below.subspace(q), rates, strict=True):
                    C[m][k] = C[m][k] + S_j.dot(by_column)
                    if j != i:
                        rate = velocities[j].cross(S_j) + change
                        C[k][m] = C[k][m] + (rate.dot(momentum) + S_j.dot(by_row))
    return C
