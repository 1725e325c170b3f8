# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics by the product of exponentials of joint twists ([RBM] forward kinematics).

Tests compare it with `forward_kinematics.body_poses`. It is independent of the joint transforms: it
multiplies displacements exp(xi q) of twists in the root frame.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Scalar, Transform


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
        for twist in joint.kind.displacements(joint.own_coordinates(q)):
            product = product @ Transform.exp(rest.act(twist))
        moved[i] = product
    return {i: moved[i] @ at_rest[i] for i in moved}
