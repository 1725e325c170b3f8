"""Poses and velocities of bodies and frames ([SE3] 8.2, [RD] 2.8.3)."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Frame, Model
from dynamics_ros.spatial import Motion, Scalar, Transform, Vector3


def body_poses(model: Model, q: Sequence[Scalar]) -> list[Transform]:
    """X_0B of every body in the root frame: 0M_i = 0M_parent parentM_i ([SE3] 8.2)."""
    poses: list[Transform] = []
    for joint in model.joints:
        X_PB = joint.transform(q)
        poses.append(X_PB if joint.parent == ROOT else poses[joint.parent] @ X_PB)
    return poses


def body_velocities(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar]
) -> tuple[list[Transform], list[Motion]]:
    """X_PB of every body in its parent, and its twist in its own frame ([SE3] 8.2)."""
    transforms: list[Transform] = []
    velocities: list[Motion] = []
    for joint in model.joints:
        X_PB = joint.transform(q)
        v_P = Motion.zero() if joint.parent == ROOT else velocities[joint.parent]
        transforms.append(X_PB)
        velocities.append(X_PB.inverse_act(v_P) + joint.motion(v))
    return transforms, velocities


def branch_poses(model: Model, q: Sequence[Scalar], body: int) -> dict[int, Transform]:
    """X_0B of the bodies between the root and one body, that body included."""
    poses: dict[int, Transform] = {}
    for i in model.ancestors(body):
        joint = model.joints[i]
        X_PB = joint.transform(q)
        poses[i] = X_PB if joint.parent == ROOT else poses[joint.parent] @ X_PB
    return poses


def frame_pose(model: Model, q: Sequence[Scalar], frame: Frame) -> Transform:
    """X_0F of a frame in the root frame ([RD] eq. 2.138)."""
    if frame.body == ROOT:
        return frame.placement
    return branch_poses(model, q, frame.body)[frame.body] @ frame.placement


def frame_poses(model: Model, q: Sequence[Scalar]) -> list[Transform]:
    """X_0F of every frame, in the order of ``model.frames``."""
    poses = body_poses(model, q)
    return [
        frame.placement if frame.body == ROOT else poses[frame.body] @ frame.placement
        for frame in model.frames
    ]


def frame_velocity(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], frame: Frame, reference: str
) -> Motion:
    """Twist of a frame with respect to the root frame, in one of the three references."""
    velocity = Motion.zero()
    for i in model.ancestors(frame.body):
        joint = model.joints[i]
        velocity = joint.transform(q).inverse_act(velocity) + joint.motion(v)
    local = frame.placement.inverse_act(velocity)
    if reference == 'local':
        return local
    return from_local(frame_pose(model, q, frame), reference).act(local)


def frame_acceleration(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    frame: Frame,
    reference: str,
) -> Motion:
    """Spatial acceleration of a frame, the time derivative of its twist in the reference.

    For 'local_world_aligned' this is J a + J-dot v with the Jacobian of that reference: its linear
    part is then the classical acceleration of the frame's origin.
    """
    velocity, acceleration = Motion.zero(), Motion.zero()
    for i in model.ancestors(frame.body):
        joint = model.joints[i]
        X_PB = joint.transform(q)
        joint_velocity = joint.motion(v)
        velocity = X_PB.inverse_act(velocity) + joint_velocity
        acceleration = (
            X_PB.inverse_act(acceleration) + joint.motion(a) + velocity.cross(joint_velocity)
        )
    v_local = frame.placement.inverse_act(velocity)
    a_local = frame.placement.inverse_act(acceleration)
    if reference == 'local':
        return a_local
    X_RF = from_local(frame_pose(model, q, frame), reference)
    result = X_RF.act(a_local)
    if reference == 'local_world_aligned':
        # The axes rest but the origin moves with the frame: d/dt v_O adds w x v.
        twist = X_RF.act(v_local)
        result = Motion(result.linear + twist.angular.cross(twist.linear), result.angular)
    return result


def from_local(X_0F: Transform, reference: str) -> Transform:
    """The transform from the frame itself to a reference: 'world' or 'local_world_aligned'."""
    if reference == 'world':
        return X_0F
    return Transform(X_0F.rotation, Vector3.zero())
