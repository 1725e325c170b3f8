"""A Coriolis matrix with M-dot = C + C^T ([Echeandia2021])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import ROOT, Model
from ..spatial import Force, Inertia, Matrix3, Motion, Scalar, Transform, Vector3


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
        I = inertia.rotational  # noqa: E741 - the symbol of the source
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


def coriolis_matrix(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar]
) -> list[list[Scalar]]:
    """C(q, v), nv by nv: C v is the Coriolis and centrifugal torque, M-dot - 2 C is skew.

    C is the sum over bodies of J^T Y J-dot + J^T B J, gathered over composite bodies.
    """
    transforms: list[Transform] = []
    velocities: list[Motion] = []
    composite_inertia = list(model.inertias)
    composite_coriolis: list[BodyCoriolis] = []
    for i, joint in enumerate(model.joints):
        X_PB = joint.transform(q)
        v_P = Motion.zero() if joint.parent == ROOT else velocities[joint.parent]
        v_B = X_PB.inverse_act(v_P) + joint.motion(v)
        transforms.append(X_PB)
        velocities.append(v_B)
        composite_coriolis.append(BodyCoriolis.of(model.inertias[i], v_B))

    for i in reversed(range(len(model.joints))):
        parent = model.joints[i].parent
        if parent != ROOT:
            X_PB = transforms[i]
            composite_inertia[parent] = composite_inertia[parent] + X_PB.act(composite_inertia[i])
            moved = composite_coriolis[i].seen_from(X_PB)
            composite_coriolis[parent] = composite_coriolis[parent] + moved

    C: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for j, joint in enumerate(model.joints):
        Y, B = composite_inertia[j], composite_coriolis[j]
        for column, S in joint.subspace:
            by_column = Y @ velocities[j].cross(S) + B @ S
            momentum = Y @ S
            by_row = B.transpose_apply(S)
            for row, S_row in joint.subspace:
                C[row][column] = C[row][column] + S_row.dot(by_column)
            i = j
            while model.joints[i].parent != ROOT:
                by_column = transforms[i].act(by_column)
                momentum = transforms[i].act(momentum)
                by_row = transforms[i].act(by_row)
                i = model.joints[i].parent
                for row, S_row in model.joints[i].subspace:
                    rate = velocities[i].cross(S_row)
                    C[row][column] = C[row][column] + S_row.dot(by_column)
                    share = rate.dot(momentum) + S_row.dot(by_row)
                    C[column][row] = C[column][row] + share
    return C
