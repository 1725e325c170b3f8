# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of bodies and frames, velocities and accelerations of frames ([SE3] 8.2, [RD] 2.8.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynamics_ros.model import ROOT, Frame, Model
from dynamics_ros.spatial import Motion, Scalar, Transform, Vector3

from .quantity import A, Q, Reference, V, quantity
from .recursion import accelerations_of_bodies, motion_of_bodies


def body_poses(
    model: Model, q: Sequence[Scalar], bodies: Iterable[int] | None = None
) -> dict[int, Transform]:
    """Poses X_0B of bodies in the root frame: 0M_i = 0M_parent parentM_i ([SE3] 8.2).

    Args:
        model: the robot.
        q: configuration (nq).
        bodies: indices of bodies, parents before children; None for all.

    Returns:
        The poses by index of the body, including ROOT.
    """
    poses = {ROOT: Transform.identity()}
    for i in range(len(model.joints)) if bodies is None else bodies:
        joint = model.joints[i]
        poses[i] = poses[joint.parent] @ joint.transform(q)
    return poses


@quantity(
    'pose of the frame in the root frame ([RD] eq. 2.138)',
    'homogeneous matrix, translation [m]',
    name='forward_kinematics',
)
def frame_pose(model: Model, q: Q, frame: Frame) -> Transform:
    """Pose X_0F of a frame in the root frame ([RD] eq. 2.138)."""
    return body_poses(model, q, model.ancestors(frame.body))[frame.body] @ frame.placement


@quantity(
    'pose of the frame in the root frame, as messages have it',
    'position [m], then quaternion x y z w',
    internal=True,
)
def pose(model: Model, q: Q, frame: Frame) -> list[Scalar]:
    """Position and quaternion of a frame in the root frame."""
    return frame_pose(model, q, frame).position_and_quaternion()


@quantity(
    'poses of all frames in the root frame, in the order of ``frame_names``',
    'homogeneous matrices, translations [m]',
    name='all_frames',
)
def frame_poses(model: Model, q: Q) -> list[Transform]:
    """Poses X_0F of all frames, in the order of ``model.frames``."""
    poses = body_poses(model, q)
    return [poses[frame.body] @ frame.placement for frame in model.frames]


@quantity(
    'twist of the frame with respect to the root frame',
    'linear part [m/s], then angular part [rad/s], in the reference',
    may_overflow=True,
)
def frame_velocity(model: Model, q: Q, v: V, frame: Frame, reference: Reference) -> Motion:
    """Twist of a frame with respect to the root frame.

    Args:
        model, q, v: the robot, its configuration (nq) and velocity (nv).
        frame: the frame.
        reference: 'local', 'world' or 'local_world_aligned'.
    """
    motions = motion_of_bodies(model, q, v, model.ancestors(frame.body))
    velocity = motions.velocities[frame.body]
    local = frame.placement.inverse_act(velocity)
    if reference == 'local':
        return local
    return from_local(frame_pose(model, q, frame), reference).act(local)


@quantity(
    'time derivative of the twist of the frame: J a + J-dot v',
    'linear part [m/s^2], then angular part [rad/s^2], in the reference',
    may_overflow=True,
    notes="In 'local_world_aligned' the linear part is the acceleration of the frame's origin.",
)
def frame_acceleration(
    model: Model,
    q: Q,
    v: V,
    a: A,
    frame: Frame,
    reference: Reference,
) -> Motion:
    """Acceleration of a frame: the time derivative of its twist in the reference, J a + J-dot v.

    In 'local' and 'world' this is the spatial acceleration. In 'local_world_aligned' the linear
    part is the classical acceleration of the origin of the frame.

    Args:
        model, q, v, a: the robot, its configuration (nq), velocity (nv) and acceleration (nv).
        frame: the frame.
        reference: 'local', 'world' or 'local_world_aligned'.
    """
    motions = motion_of_bodies(model, q, v, model.ancestors(frame.body))
    accelerations = accelerations_of_bodies(model, motions, q, v, a, Motion.zero())
    v_local = frame.placement.inverse_act(motions.velocities[frame.body])
    a_local = frame.placement.inverse_act(accelerations[frame.body])
    if reference == 'local':
        return a_local
    X_RF = from_local(frame_pose(model, q, frame), reference)
    result = X_RF.act(a_local)
    if reference == 'local_world_aligned':
        # The axes are fixed but the origin moves with the frame: d/dt v_O has the term w x v.
        twist = X_RF.act(v_local)
        result = Motion(result.linear + twist.angular.cross(twist.linear), result.angular)
    return result


def from_local(X_0F: Transform, reference: str) -> Transform:
    """Transform of motions from the frame to the reference 'world' or 'local_world_aligned'."""
    if reference == 'world':
        return X_0F
    return Transform(X_0F.rotation, Vector3.zero())
