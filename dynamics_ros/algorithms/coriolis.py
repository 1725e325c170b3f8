"""A Coriolis matrix with M-dot = C + C^T ([Echeandia2021])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Inertia, Matrix3, Motion, Scalar, Transform, Vector3

from .forward_kinematics import body_velocities


@dataclass(frozen=True)
class BodyCoriolis:
    """B = (v x* Y + (Y v) xbar* - Y v x) / 2 of a body that moves with the twist v.

    Worked out about the centre of mass, the linear part of its argument drops out and the angular
    part s gives the force -m v_c x s and the torque w x (I - tr(I)/2) s: two blocks are kept.

    Attributes:
        F: from an angular velocity to the force.
        K: from an angular velocity to the torque about the frame's origin.
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
        """X* B X^-1."""
        R = X_PB.rotation
        F = R @ self.F @ R.T
        return BodyCoriolis(F, R @ self.K @ R.T + Matrix3.skew(X_PB.translation) @ F)

    def __matmul__(self, motion: Motion) -> Force:
        return Force(self.F @ motion.angular, self.K @ motion.angular)

    def transpose_apply(self, motion: Motion) -> Force:
        """B^T s."""
        torque = self.F.transpose_apply(motion.linear) + self.K.transpose_apply(motion.angular)
        return Force(Vector3.zero(), torque)


@dataclass(frozen=True)
class CompositeBodies:
    """The tree at (q, v), with every body and all that it carries taken as one.

    Attributes:
        transforms: X_PB of each body in its parent.
        velocities: twist of each body in its frame.
        inertias: composite inertia of each body, in its frame.
        coriolis: composite B of each body, in its frame.
    """

    transforms: list[Transform]
    velocities: list[Motion]
    inertias: list[Inertia]
    coriolis: list[BodyCoriolis]


def composite_bodies(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> CompositeBodies:
    """Velocities outwards, composite inertias and B inwards."""
    transforms, velocities = body_velocities(model, q, v)
    inertias = list(model.inertias)
    coriolis = [BodyCoriolis.of(Y, v_B) for Y, v_B in zip(inertias, velocities, strict=True)]
    for i in reversed(range(len(model.joints))):
        parent = model.joints[i].parent
        if parent != ROOT:
            inertias[parent] = inertias[parent] + transforms[i].act(inertias[i])
            coriolis[parent] = coriolis[parent] + coriolis[i].seen_from(transforms[i])
    return CompositeBodies(transforms, velocities, inertias, coriolis)


def coriolis_matrix(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[list[Scalar]]:
    """C(q, v), nv by nv: C v is the Coriolis and centrifugal torque, M-dot - 2 C is skew.

    C is the sum over bodies of J^T Y J-dot + J^T B J, gathered over composite bodies: what a unit
    velocity of joint j takes is felt by the joints below it, and the other way round.
    """
    tree = composite_bodies(model, q, v)
    C: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for j, joint in enumerate(model.joints):
        Y, B = tree.inertias[j], tree.coriolis[j]
        for column, S in joint.subspace:
            by_column = Y @ tree.velocities[j].cross(S) + B @ S
            momentum = Y @ S
            by_row = B.transpose_apply(S)
            for row, S_row in joint.subspace:
                C[row][column] = C[row][column] + S_row.dot(by_column)
            i = j
            while model.joints[i].parent != ROOT:
                X_PB = tree.transforms[i]
                by_column, momentum = X_PB.act(by_column), X_PB.act(momentum)
                by_row = X_PB.act(by_row)
                i = model.joints[i].parent
                for row, S_row in model.joints[i].subspace:
                    rate = tree.velocities[i].cross(S_row)
                    C[row][column] = C[row][column] + S_row.dot(by_column)
                    share = rate.dot(momentum) + S_row.dot(by_row)
                    C[column][row] = C[column][row] + share
    return C
