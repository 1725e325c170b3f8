# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes: temporary external wrenches on a robot, and a suitable push for demonstrations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .actuators import Actuators

Array = NDArray[np.float64]

_FORCE = 20.0  # largest force [N]
_SHARE_OF_WEIGHT = 0.5  # largest force as a fraction of the weight
_SHARE_OF_EFFORT = 0.25  # largest joint torque as a fraction of the effort limit
_SHARE_OF_REACH = 0.02  # largest displacement of the tool as a fraction of its distance
_LENGTH = 0.3  # lever arm that scales torques to forces [m]
_SMALL = 1e-3  # relative damping of the inverse


@dataclass(frozen=True)
class Push:
    """A temporary wrench of the environment on the robot.

    Attributes:
        frame: frame on which the wrench acts.
        wrench: (6) force [N] and torque [Nm], constant in the axes of ``expressed_in``.
        expressed_in: a frame of the robot; empty for the root frame.
        point: (3) point of application of the force, in ``frame`` [m].
        end: simulated time of its end [ns].
    """

    frame: str
    wrench: Array
    expressed_in: str
    point: Array
    end: int

    def at_origin(self, robot: Robot, q: Array) -> Array:
        """Wrench (6) about the origin of ``frame``, in axes of the root frame."""
        force, torque = self.wrench[:3], self.wrench[3:]
        if self.expressed_in:
            R = robot.forward_kinematics(q, self.expressed_in)[:3, :3]
            force, torque = R @ force, R @ torque
        if self.point.any():
            lever = robot.forward_kinematics(q, self.frame)[:3, :3] @ self.point
            torque = torque + np.cross(lever, force)
        return np.concatenate([force, torque])

    def torque(self, robot: Robot, q: Array) -> Array:
        """Generalized torques J^T w (nv)."""
        J: Array = robot.jacobian(q, self.frame)
        return J.T @ self.at_origin(robot, q)


def gentle_push(robot: Robot, actuators: Actuators, q: Array, tool: str) -> Array:
    """A small force at the tool in the direction that joint torques can observe best.

    With fewer than six joints, some wrenches have no effect on the joint torques. The pure force
    that is best observable is selected.

    Args:
        robot: fixed base.
        actuators: of the robot; their effort limits and stiffness bound the force.
        q: (nq) posture.
        tool: frame on which the force acts.

    Returns:
        Force (3) in axes of the root frame [N].
    """
    J = robot.jacobian(q, tool) * np.array([1.0, 1.0, 1.0, _LENGTH, _LENGTH, _LENGTH])[:, None]
    # Well observable forces have a small w^T (J J^T + small)^-1 w: they are along the long axes of
    # the manipulability ellipsoid, [Yoshikawa].
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
    """Sum (6) of the wrenches of pushes about the origin of a pose (4, 4), in its axes."""
    total = np.zeros(6)
    for push in pushes:
        wrench = push.at_origin(robot, q)
        at = robot.forward_kinematics(q, push.frame)[:3, 3]
        total[:3] += wrench[:3]
        total[3:] += wrench[3:] + np.cross(at - pose[:3, 3], wrench[:3])
    R = pose[:3, :3]
    return np.concatenate([R.T @ total[:3], R.T @ total[3:]])
