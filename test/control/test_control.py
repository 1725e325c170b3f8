# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Controllers do to the simulated robot what their equations promise."""

from __future__ import annotations

import numpy as np
import pytest
from few_joint_arms import ARMS, few_joint_arm
from laws import assert_close
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.constraints import LinearConstraint
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
    motion_torques,
    operational_space_torques,
    pose_error,
    selection_matrices,
)
from dynamics_ros.errors import InvalidArgumentError, RankDeficientError

HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4])


# At the end effector.


def test_the_end_effector_accelerates_as_commanded(panda):
    v, frame = 0.3 * np.ones(7), 'panda_hand'
    wanted = np.array([0.5, -0.3, 0.2, 1.0, -2.0, 0.5])
    tau = motion_torques(panda, HOME, v, frame, wanted)
    a = panda.forward_dynamics(HOME, v, tau)
    assert_close(panda.frame_acceleration(HOME, v, a, frame), wanted)


def test_a_scara_presses_on_a_table_and_moves_over_it():
    """[RD] eq. 3.97 in the four directions of the notes' SCARA arm."""
    scara = Robot.from_urdf(few_joint_arm('scara'))
    q, v, rows = np.array([0.4, -0.9, 0.1, 0.3]), np.array([0.3, -0.2, 0.0, 0.5]), (0, 1, 2, 5)
    free, axes = [1, 1, 0, 1, 1, 1], np.eye(3)
    motion, push = np.array([0.5, -0.3, 9.0, 1.0]), np.array([9.0, 9.0, 8.0, 9.0])
    tau = operational_space_torques(scara, q, v, 'tool', motion, push, free, axes, rows)
    table = LinearConstraint.constant(scara.jacobian(q, 'tool')[2:3])
    a, force = scara.constrained_forward_dynamics(q, v, tau, table)
    assert force == pytest.approx([8.0])
    assert_close(scara.frame_acceleration(q, v, a, 'tool')[[0, 1, 5]], motion[[0, 1, 3]])
    with pytest.raises(RankDeficientError):
        operational_space_torques(scara, q, v, 'tool', np.zeros(6), np.zeros(6), free, axes)
    tilted = np.array([[1.0, 0.0, 0.0], [0.0, 0.8, -0.6], [0.0, 0.6, 0.8]])
    turning, two = [1, 1, 0, 1, 1, 0], [1, 1, 2, 1, 1, 1]
    with pytest.raises(InvalidArgumentError, match='rows'):
        operational_space_torques(scara, q, v, 'tool', motion, push, turning, tilted, rows)
    with pytest.raises(InvalidArgumentError, match='free'):
        operational_space_torques(scara, q, v, 'tool', motion, push, two, axes, rows)


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        (lambda: selection_matrices([True], np.eye(3)), 'free: bool'),
        (lambda: pose_error(np.eye(3), np.eye(4)), 'target: shape'),
    ],
)
def test_wrong_arguments_are_named(wrong, said):
    with pytest.raises(InvalidArgumentError, match=said):
        wrong()


@pytest.mark.parametrize(
    'control',
    [
        lambda r, q, v: motion_torques(r, q, v, 'LF_FOOT', np.zeros(3), rows=(0, 1, 2)),
        lambda r, q, v: operational_space_torques(
            r, q, v, 'LF_FOOT', np.zeros(6), np.zeros(6), [True] * 6, np.eye(3)
        ),
    ],
)
def test_a_base_without_motors_is_refused_by_what_would_need_them(anymal, control):
    with pytest.raises(InvalidArgumentError, match=r'robot: a base with 6 velocities and no motor'):
        control(anymal, anymal.neutral(), np.zeros(anymal.nv))


def test_a_pose_error_is_the_shortest_turn(panda):
    pose = panda.forward_kinematics(HOME, 'panda_hand')
    q = panda.integrate(HOME, 1e-6 * np.ones(7))
    moved = panda.forward_kinematics(q, 'panda_hand')
    twist = panda.jacobian(HOME, 'panda_hand') @ np.ones(7)
    assert_close(pose_error(moved, pose) / 1e-6, twist, 1e-5)
    assert np.linalg.norm(pose_error(np.diag([-1.0, -1.0, 1.0, 1.0]), np.eye(4))[3:]) == (
        pytest.approx(np.pi)
    )


STEP = 1e-3


def arm(name: str) -> Robot:
    return Robot.from_urdf(few_joint_arm(name), backend='python')


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
