# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arms that cannot move their tool in all six directions are singular only where they lose one."""

from __future__ import annotations

import numpy as np
import pytest
from few_joint_arms import ARMS, STRETCHED, few_joint_arm
from laws import assert_close
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
)

STEP = 1e-3


def arm(name: str) -> Robot:
    return Robot.from_urdf(few_joint_arm(name), backend='python')


@pytest.mark.parametrize('name', ARMS)
def test_a_singularity_is_a_direction_lost(name):
    robot = arm(name)
    controller = ImpedanceController(robot, 'tool')
    given = ImpedanceGains(robot, np.full(6, 200.0), np.full(6, 20.0))
    rest = np.zeros(robot.nv)

    def acting(q):
        state = ImpedanceState(q, rest, STEP)
        return controller.step(state, controller.target_at(q), given, controller.start(q)).acting

    assert acting(np.full(robot.nv, 0.8)) == ()
    assert ('singular' in acting(np.zeros(robot.nv))) == (name in STRETCHED)


@pytest.mark.parametrize('name', ARMS)
def test_a_wanted_acceleration_is_had_as_far_as_joints_allow(name):
    robot = arm(name)
    controller = ImpedanceController(robot, 'tool')
    loose = {'posture_stiffness': 0.0, 'posture_damping': 0.0, 'max_torque_rate': 1e6}
    given = ImpedanceGains(
        robot, np.zeros(6), np.zeros(6), joints=loose, largest_inertia=1e6, length=1.0
    )
    q, rest = np.full(robot.nv, 0.8), np.zeros(robot.nv)
    pose, J = robot.forward_kinematics(q, 'tool'), robot.jacobian(q, 'tool')
    possible = J @ np.linspace(0.5, -0.3, robot.nv)
    impossible = np.linalg.svd(J)[0][:, ARMS[name][1] :].sum(axis=1)
    for wanted in (possible, possible + impossible):
        target = ImpedanceTarget(pose, q, acceleration=wanted)
        said = controller.step(ImpedanceState(q, rest, STEP), target, given, controller.start(q))
        assert said.acting == ()
        assert_close(J @ robot.forward_dynamics(q, rest, said.tau), possible, LAW)
