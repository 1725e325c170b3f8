"""Poses as a product of exponentials of the joints' twists at rest ([RBM] forward kinematics).

An independent way to the poses of `forward_kinematics.body_poses`, by which tests check the tree:
no joint transform is multiplied here, only displacements exp(xi q) of twists seen from the root.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Joint, Model
from dynamics_ros.spatial import Motion, Scalar, Transform, Vector3, quaternion_log


def product_of_exponentials(model: Model, q: Sequence[Scalar]) -> list[Transform]:
    """X_0B of every body: exp(xi_1 q_1) ... exp(xi_n q_n) X_0B(0), [RBM] g_st.

    Args:
        model: its joints give the twists xi in the root frame, where every joint is at rest.
        q: coordinates.
    """
    at_rest: list[Transform] = []
    moved: list[Transform] = []
    for joint in model.joints:
        root = joint.parent == ROOT
        rest = joint.placement if root else at_rest[joint.parent] @ joint.placement
        product = Transform.identity() if root else moved[joint.parent]
        for twist in _displacements(joint, q):
            product = product @ Transform.exp(rest.act(twist))
        at_rest.append(rest)
        moved.append(product)
    return [product @ rest for product, rest in zip(moved, at_rest, strict=True)]


def _displacements(joint: Joint, q: Sequence[Scalar]) -> list[Motion]:
    """Body twists at rest whose exponentials, one after the other, are the joint's motion."""
    own = [q[i] for i in joint.q_indices]
    S = joint.kind.motion_subspace()
    if joint.kind.name == 'floating':
        x, y, z, *quaternion = own
        turn = quaternion_log((quaternion[0], quaternion[1], quaternion[2], quaternion[3]))
        return [Motion(Vector3(x, y, z), Vector3.zero()), Motion(Vector3.zero(), turn)]
    if joint.leader is not None:
        own = [joint.multiplier * own[0] + joint.offset]
    return [twist * coordinate for twist, coordinate in zip(S, own, strict=True)]
