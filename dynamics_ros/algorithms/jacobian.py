"""The geometric Jacobian of a frame ([RD] 2.8.5, eq. 2.164) in the three references."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import ROOT, Frame, Model
from ..spatial import Motion, Scalar, Transform
from .forward_kinematics import branch_poses

REFERENCES = ('world', 'local', 'local_world_aligned')
"""World: spatial twist at the root's origin. Local: body twist. Local world aligned: velocity of
the frame's origin and angular velocity, both in the axes of the root frame."""


def jacobian_columns(
    model: Model, q: Sequence[Scalar], frame: Frame, reference: str
) -> list[Motion]:
    """Column k is the twist of the frame for unit velocity k."""
    columns = [Motion.zero()] * model.nv
    if frame.body == ROOT:
        return columns
    poses = branch_poses(model, q, frame.body)
    X_0F = poses[frame.body] @ frame.placement
    for i, X_0B in poses.items():
        X_RB = to_reference(X_0B, X_0F, reference)
        for k, S in model.joints[i].subspace:
            columns[k] = columns[k] + X_RB.act(S)
    return columns


def to_reference(X_0B: Transform, X_0F: Transform, reference: str) -> Transform:
    """X_RB: from a body to the reference of the frame F."""
    if reference == 'world':
        return X_0B
    if reference == 'local':
        return X_0F.inverse_compose(X_0B)
    return Transform(X_0B.rotation, X_0B.translation - X_0F.translation)
