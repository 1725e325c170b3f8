# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes; one for demonstrations on any robot: felt in the joints, harmless to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .actuators import Actuators

Array = NDArray[np.float64]

_FORCE = 20.0  # N
_SHARE_OF_WEIGHT = 0.5
_SHARE_OF_EFFORT = 0.25
_SHARE_OF_REACH = 0.02  # that the tool may give way
_LENGTH = 0.3  # m, the lever arm that makes a torque as large as a force
_SMALL = 1e-3


@dataclass(frozen=True)
class Push:
    """A wrench of the environment on the robot.

    Attributes:
        frame: frame of the robot that is pushed.
        wrench: (6) force [N] and torque [Nm], constant in the axes of ``expressed_in``.
        expressed_in: a frame of the robot; empty for the root frame.
        point: (3) where the force acts, in ``frame`` [m].
        end: simulated time when it ends [ns].
    """

    frame: str
    wrench: Array
    expressed_in: str
    point: Array
    end: int

    def at_origin(self, robot: Robot, q: Array) -> Array:
        """(6) the wrench about the origin of ``frame``, in axes of the root frame."""
        force, torque = self.wrench[:3], self.wrench[3:]
        if self.expressed_in:
            R = robot.forward_kinematics(q, self.expressed_in)[:3, :3]
            force, torque = R @ force, R @ torque
        if self.point.any():
            lever = robot.forward_kinematics(q, self.frame)[:3, :3] @ self.point
            torque = torque + np.cross(lever, force)
        return np.concatenate([force, torque])

    def torque(self, robot: Robot, q: Array) -> Array:
        """(n) J^T w."""
        J: Array = robot.jacobian(q, self.frame)
        return J.T @ self.at_origin(robot, q)


def gentle_push(robot: Robot, actuators: Actuators, q: Array, tool: str) -> Array:
    """A force at the tool in the direction that the joint torques tell best.

    With fewer than six joints some wrenches leave no trace in the joint torques. Among the pure
    forces the one is taken that is nearest to what they do tell.

    Args:
        robot: fixed base.
        actuators: of the robot; their limits and stiffness bound the force.
        q: (nq) posture.
        tool: frame that is pushed.

    Returns:
        (3) force in root axes [N].
    """
    J = robot.jacobian(q, tool) * np.array([1.0, 1.0, 1.0, _LENGTH, _LENGTH, _LENGTH])[:, None]
    # Forces that torques tell well have small w^T (J J^T + small)^-1 w: they lie along the long
    # axes of the manipulability ellipsoid, [Yoshikawa].
    scale = float(np.trace(J @ J.T)) / 6.0
    resolution = np.linalg.inv(J @ J.T + _SMALL**2 * scale * np.eye(6))
    direction = np.linalg.eigh(resolution[:3, :3])[1][:, 0]
    direction = direction * (1.0 if direction[np.argmax(np.abs(direction))] > 0.0 else -1.0)

    unit_torque = robot.jacobian(q, tool)[:3].T @ direction
    felt = np.abs(unit_torque) > 1e-9
    bounds = [_FORCE, _SHARE_OF_WEIGHT * 9.81 * max(robot.total_mass, 0.1)]
    bounds.extend(_SHARE_OF_EFFORT * actuators.effort_limits[felt] / np.abs(unit_torque[felt]))
    stiff = felt & (actuators.stiffness > 0.0)
    compliance = float(np.sum(unit_torque[stiff] ** 2 / actuators.stiffness[stiff]))
    reach = float(np.linalg.norm(robot.forward_kinematics(q, tool)[:3, 3]))
    if compliance > 0.0:
        bounds.append(_SHARE_OF_REACH * max(reach, 0.05) / compliance)
    force: Array = direction * min(bounds)
    return force


def wrench_about(pose: Array, pushes: Iterable[Push], robot: Robot, q: Array) -> Array:
    """(6) of all pushes together, about the origin of a pose (4, 4) and in its axes."""
    total = np.zeros(6)
    for push in pushes:
        wrench = push.at_origin(robot, q)
        at = robot.forward_kinematics(q, push.frame)[:3, 3]
        total[:3] += wrench[:3]
        total[3:] += wrench[3:] + np.cross(at - pose[:3, 3], wrench[:3])
    R = pose[:3, :3]
    return np.concatenate([R.T @ total[:3], R.T @ total[3:]])
