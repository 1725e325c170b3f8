"""The mass matrix by composite rigid bodies ([RD] eq. 3.43 is the sum that it computes)."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Scalar, Transform


def mass_matrix(model: Model, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """M(q), nv by nv, symmetric ([Featherstone2008] table 6.2).

    H_ij = S_i^T Y_i^c S_j, where Y_i^c is the inertia of body i and of all that it carries.
    """
    transforms: list[Transform] = [joint.transform(q) for joint in model.joints]

    # Backward: a body and its children as one rigid body.
    composite = list(model.inertias)
    for i in reversed(range(len(model.joints))):
        parent = model.joints[i].parent
        if parent != ROOT:
            composite[parent] = composite[parent] + transforms[i].act(composite[i])

    # The force that a unit velocity of joint i takes is felt by every joint below it.
    M: list[list[Scalar]] = [[0.0] * model.nv for _ in range(model.nv)]
    for i, joint in enumerate(model.joints):
        for column, S in joint.subspace:
            force = composite[i] @ S
            for row, S_row in joint.subspace:
                M[row][column] = M[row][column] + S_row.dot(force)
            j = i
            while model.joints[j].parent != ROOT:
                force = transforms[j].act(force)
                j = model.joints[j].parent
                for row, S_row in model.joints[j].subspace:
                    share = S_row.dot(force)
                    M[row][column] = M[row][column] + share
                    M[column][row] = M[column][row] + share
    return M
