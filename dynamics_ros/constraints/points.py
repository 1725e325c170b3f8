# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Position, Jacobian and bias of a point fixed to a frame, in axes of the root frame."""

from __future__ import annotations

import numpy as np

from dynamics_ros.multibody.arguments import finite_vector
from dynamics_ros.multibody.linear_systems import Array, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

ORIGIN = (0.0, 0.0, 0.0)


def point_position(robot: RigidBodySystem, q: Array, frame: str, point: tuple[float, ...]) -> Array:
    """Position (..., 3) in the root frame of a point that is given in a frame [m]."""
    pose = robot.forward_kinematics(q, frame)
    return np.asarray(pose[..., :3, :3] @ np.array(point) + pose[..., :3, 3])


def point_jacobian(robot: RigidBodySystem, q: Array, frame: str, point: tuple[float, ...]) -> Array:
    """Jacobian (..., 6, nv) of a point: linear and angular velocity, in axes of the root frame."""
    J = robot.jacobian(q, frame)
    if point == ORIGIN:
        return J
    arm = robot.forward_kinematics(q, frame)[..., :3, :3] @ np.array(point)
    # v_P = v_F + w x r, column by column.
    angular = transposed(J[..., 3:, :])
    shifted = transposed(J[..., :3, :]) + np.cross(angular, arm[..., None, :])
    return np.concatenate([transposed(shifted), J[..., 3:, :]], axis=-2)


def point_bias(
    robot: RigidBodySystem, q: Array, v: Array, frame: str, point: tuple[float, ...]
) -> Array:
    """Bias J-dot v (..., 6) of a point: its linear and angular acceleration at constant v."""
    bias = robot.frame_acceleration(q, v, np.zeros(robot.nv), frame)
    if point == ORIGIN:
        return bias
    arm = robot.forward_kinematics(q, frame)[..., :3, :3] @ np.array(point)
    w = robot.frame_velocity(q, v, frame)[..., 3:]
    centripetal = np.cross(w, np.cross(w, arm))
    linear = bias[..., :3] + np.cross(bias[..., 3:], arm) + centripetal
    return np.concatenate([linear, bias[..., 3:]], axis=-1)


def checked_point(argument: str, point: tuple[float, ...]) -> tuple[float, ...]:
    """Check a point (3), and return it as a tuple.

    Raises:
        InvalidArgumentError: the point is not three finite numbers; the error names the argument.
    """
    return tuple(finite_vector(argument, point, 3).tolist())
