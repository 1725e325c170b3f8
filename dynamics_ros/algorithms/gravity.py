"""The torques of gravity: what a reverse sweep over the potential energy computes, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Scalar, Vector3

from .energy import carried_moments


def gravity_torques(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """g(q): the torques that hold the robot at rest, the gradient of [RD] eq. 3.33.

    Outwards the field g is seen from each body, inwards the first moments h of what it carries are
    gathered. Their weight is the force m g and the torque h x g; a joint takes the opposite.
    """
    transforms = [joint.transform(q) for joint in model.joints]
    masses, moments = carried_moments(model, transforms)
    fields: list[Vector3] = []
    tau: list[Scalar] = [0.0] * model.nv
    for i, joint in enumerate(model.joints):
        g_P = model.gravity if joint.parent == ROOT else fields[joint.parent]
        g_B = transforms[i].rotation.transpose_apply(g_P)
        fields.append(g_B)
        support = Force(g_B * -masses[i], g_B.cross(moments[i]))
        for k, S in joint.subspace:
            tau[k] = tau[k] + S.dot(support)
    return tau
