# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses as a product of exponentials of the joints' twists at rest ([RBM] forward kinematics).

An independent way to the poses of `forward_kinematics.body_poses`, by which tests check the tree:
no joint transform is multiplied here, only displacements exp(xi q) of twists seen from the root.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Scalar, Transform


def product_of_exponentials(model: Model, q: Sequence[Scalar]) -> dict[int, Transform]:
    """X_0B of every body, ROOT included: exp(xi_1 q_1) ... exp(xi_n q_n) X_0B(0), [RBM] g_st.

    Args:
        model: its joints give the twists xi in the root frame, where every joint is at rest.
        q: coordinates.
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
