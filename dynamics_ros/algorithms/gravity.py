# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity torques, the gradient of the potential energy, as a recursion over the bodies."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Scalar

from .energy import carried_moments
from .recursion import along_joints, transforms_of_bodies


def gravity_torques(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """g(q) (nv): torques that hold the robot at rest, the gradient of [RD] eq. 3.33.

    The field g is transformed outward to each body; masses m and first moments h of subtrees are
    summed inward. The weight of a subtree is the force m g and the torque h x g; its joint supports
    it with the opposite force.
    """
    transforms = transforms_of_bodies(model, q)
    loads = carried_moments(model, transforms)
    fields = {ROOT: model.gravity}
    support: dict[int, Force] = {}
    for i, joint in enumerate(model.joints):
        g_B = fields[i] = transforms[i].rotation.transpose_apply(fields[joint.parent])
        support[i] = Force(g_B * -loads[i].mass, g_B.cross(loads[i].moment))
    return along_joints(model, q, support)
