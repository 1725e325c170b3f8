# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity torques, the gradient of the potential energy, as a recursion over the bodies."""

from __future__ import annotations

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Scalar

from .energy import subtree_moments
from .quantity import TORQUES, Q, quantity
from .recursion import torques_of_joints, transforms_of_bodies


@quantity('torques that hold the robot at rest: g', TORQUES, name='gravity')
def gravity_torques(model: Model, q: Q) -> list[Scalar]:
    """g(q) (nv): torques that hold the robot at rest, the gradient of [RD] eq. 3.33.

    The field g is transformed outward to each body; masses m and first moments h of subtrees are
    summed inward. The weight of a subtree is the force m g and the torque h x g; its joint supports
    it with the opposite force.
    """
    transforms = transforms_of_bodies(model, q)
    loads = subtree_moments(model, transforms)
    fields = {ROOT: model.gravity}
    support: dict[int, Force] = {}
    for i, joint in enumerate(model.joints):
        g_B = fields[i] = transforms[i].rotation.transpose_apply(fields[joint.parent])
        support[i] = Force(g_B * -loads[i].mass, g_B.cross(loads[i].moment))
    return torques_of_joints(model, q, support)
