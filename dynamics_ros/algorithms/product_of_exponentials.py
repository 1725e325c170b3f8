# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics by the product of exponentials of joint twists ([RBM] forward kinematics).

It multiplies displacements exp(xi q) of twists in the root frame, without the transforms of
joints with constant axes. Tests compare it with `forward_kinematics.body_poses`.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.model.joints import JointKind, VaryingJoint
from dynamics_ros.spatial import Motion, Scalar, Transform


def product_of_exponentials(model: Model, q: Sequence[Scalar]) -> dict[int, Transform]:
    """Poses X_0B of all bodies and ROOT: exp(xi_1 q_1) ... exp(xi_n q_n) X_0B(0), [RBM] g_st.

    Args:
        model: the robot, whose joints define the twists xi in the root frame at zero positions.
        q: configuration (nq).
    """
    at_rest = {ROOT: Transform.identity()}
    moved = {ROOT: Transform.identity()}
    for i, joint in enumerate(model.joints):
        rest = at_rest[i] = at_rest[joint.parent] @ joint.placement
        product = moved[joint.parent]
        for twist in _displacements(joint.kind, joint.own_coordinates(q)):
            product = product @ Transform.exp(rest.act(twist))
        moved[i] = product
    return {i: moved[i] @ at_rest[i] for i in moved}


def _displacements(kind: JointKind, x: Sequence[Scalar]) -> list[Motion]:
    """Body twists whose exponentials, one after the other, displace a joint with coordinates x."""
    if kind.quaternion is not None or isinstance(kind, VaryingJoint):
        return [kind.transform(x).log()]
    return [S * y for S, y in zip(kind.motion_subspace(x), x, strict=True)]
