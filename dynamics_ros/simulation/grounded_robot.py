# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Engine for robots on the ground, by MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError
from dynamics_ros.robot import Robot

from .actuators import Actuators
from .engine import DT, Drives
from .mujoco_model import Surroundings
from .mujoco_world import MujocoWorld
from .push import Push

Array = NDArray[np.float64]

SUBSTEPS = 2
"""Number of MuJoCo's steps per step, because contacts are stiff."""


class GroundedRobot:
    """An `Engine` for robots on the ground with any base, and joints with one coordinate each.

    Motors and friction are integrated implicitly, as dampers on the velocity at the end of MuJoCo's
    step, like in `RigidBodies`. Torques at a limit of the motors are constant during the step.
    """

    def __init__(
        self, robot: Robot, actuators: Actuators, q: Array, surroundings: Surroundings
    ) -> None:
        """Start at rest.

        Args:
            robot: the robot.
            actuators: of its joints.
            q: (nq) initial configuration.
            surroundings: ground and collision shapes.

        Raises:
            DynamicsRosError: MuJoCo is not installed.
            ModelError: a joint has several coordinates, or MuJoCo rejects the robot.
        """
        self._of_base = robot.model.root_joint_nv
        if robot.nq - robot.model.root_joint_nq != robot.nv - self._of_base or not robot.nv:
            raise ModelError(f'robot {robot.name!r}', 'a joint has several coordinates, or none')
        self.robot = robot
        rotors = np.concatenate([np.zeros(self._of_base), actuators.armature])
        self.world = MujocoWorld(robot, DT / SUBSTEPS, surroundings, rotors)
        self.world.place(q)
        self.q, self.v, self.a = self.world.q, np.zeros(robot.nv), np.zeros(robot.nv)
        self.touching: dict[str, Array] = {}

    def step(self, drives: Drives, pushes: Sequence[Push]) -> None:
        """Advance by ``TIME_STEP_NS``; see `Engine.step`."""
        robot, v, joints = self.robot, self.v, slice(self._of_base, None)
        motor, slope = drives.motor(np.asarray(robot.integrate(self.q, 0.5 * DT * v)))
        exerted = motor - slope * v[joints]
        saturated = np.abs(exerted) > drives.effort_limits
        motor = np.where(saturated, np.copysign(drives.effort_limits, exerted), motor)
        tau, damping = np.zeros(robot.nv), np.zeros(robot.nv)
        tau[joints] = motor
        damping[joints] = np.where(saturated, 0.0, slope) + drives.friction_slope(v[joints])
        for push in pushes:
            tau += push.torque(robot, self.q)
        touching: dict[str, Array] = {}
        for _ in range(SUBSTEPS):
            self.world.step(tau, damping)
            for frame, wrench in self.world.contact_wrenches().items():
                touching[frame] = touching.get(frame, 0.0) + wrench / SUBSTEPS
        self.q, self.v = self.world.q, self.world.v
        self.a = (self.v - v) / DT
        self.touching = touching
