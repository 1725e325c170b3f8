# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot that stands, walks and falls: MuJoCo behind a `SimulatedRobot`."""

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
"""Of MuJoCo in a step: contacts are stiffer than anything else."""


class GroundedRobot:
    """An `Engine` for any base on the ground, and joints of one coordinate each.

    Motors and friction act as dampers on the velocity at the end of MuJoCo's step, as they do in
    `RigidBodies`; torques that reach a limit of the motors are held as they are.
    """

    def __init__(
        self, robot: Robot, actuators: Actuators, q: Array, surroundings: Surroundings
    ) -> None:
        """Begin at rest.

        Args:
            robot: the robot.
            actuators: of its joints.
            q: (nq).
            surroundings: what it can touch.

        Raises:
            DynamicsRosError: MuJoCo is not installed.
            ModelError: a joint that has several coordinates, or MuJoCo refuses the robot.
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
        """Go on by ``TIME_STEP_NS``."""
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
