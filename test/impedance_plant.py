# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm in steps, and an impedance controller that moves it."""

from __future__ import annotations

import numpy as np

from dynamics_ros.control import ImpedanceGains, ImpedanceState
from dynamics_ros.spatial import rotation_about
from dynamics_ros.spatial.vector import Vector3

HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4])
STEP = 1e-3
FREE = {'lower': -9.0, 'upper': 9.0, 'guard_rate': 1e3, 'max_torque_rate': np.inf}
"""Settings of joints that nothing limits but the efforts of the description."""


def turned(angle, axis):
    R = rotation_about(Vector3(*(np.array(axis) / np.linalg.norm(axis))), angle)
    return np.array([[*row] for row in R])


def gains(robot, stiffness=(1000.0, 50.0), damping=(60.0, 5.0), joints=None, **options):
    own = {'posture_stiffness': 10.0, 'posture_damping': 2.0} | (joints or {})
    three = [np.repeat(x, 3) if np.ndim(x) == 1 else x for x in (stiffness, damping)]
    return ImpedanceGains(robot, *three, joints=own, **options)


class Plant:
    """A robot in steps of a tenth of the controller's, and what its controller said."""

    def __init__(self, controller, q):
        self.controller, self.robot = controller, controller.robot
        self.q, self.v = q.copy(), np.zeros(self.robot.nv)
        self.memory = controller.start(q)
        self.tau = self.robot.gravity(q)
        self.acting: set[str] = set()
        self.steepest = 0.0

    def run(self, target, gains, duration, push=None):
        robot, frame = self.robot, self.controller.frame
        for k in range(round(duration / STEP)):
            pushed = np.zeros(robot.nv)
            if push is not None:
                wrench = push(self, k * STEP) if callable(push) else push
                pushed = robot.jacobian(self.q, frame).T @ wrench
            state = ImpedanceState(self.q, self.v, STEP)
            said = self.controller.step(state, target, gains, self.memory)
            self.steepest = max(self.steepest, np.abs((said.tau - self.tau) / STEP).max())
            self.tau, self.memory = said.tau, said.memory
            self.acting |= set(said.acting)
            for _ in range(4):
                a = robot.forward_dynamics(self.q, self.v, said.tau + pushed)
                self.v = self.v + 0.25 * STEP * a
                self.q = robot.integrate(self.q, 0.25 * STEP * self.v)
        return self

    @property
    def pose(self):
        return self.robot.forward_kinematics(self.q, self.controller.frame)
