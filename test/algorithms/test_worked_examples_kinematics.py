# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The worked examples of the lecture notes [RD] on arms, with the numbers printed there."""

from __future__ import annotations

import numpy as np
import pytest
from laws import assert_close
from planar_arms import planar_arm
from tolerances import EXACT, PRINTED

from dynamics_ros import Robot
from dynamics_ros.control import (
    Level,
    WholeBodyProblem,
    solve_hierarchy,
)
from dynamics_ros.multibody.end_effector import (
    analytical_jacobian,
    parameters_of_pose,
)
from dynamics_ros.spatial import (
    ROTATION_VECTOR,
)

L_0, L_1, L_2, L_3 = 0.3, 0.5, 0.4, 0.2


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(planar_arm((L_1, L_2, L_3), L_0), backend='python')


@pytest.fixture(scope='module')
def angles():
    return np.array([0.4, -0.9, 1.7])


def sums(q):
    """c1 c12 c123 and s1 s12 s123."""
    total = np.cumsum(q)
    return np.cos(total), np.sin(total)


def test_example_2_8_5_forward_kinematics(arm, angles):
    (c1, c12, c123), (s1, s12, s123) = sums(angles)
    pose = arm.forward_kinematics(angles, 'tip')
    x = L_1 * s1 + L_2 * s12 + L_3 * s123
    z = L_0 + L_1 * c1 + L_2 * c12 + L_3 * c123
    assert_close(pose[:3, 3], np.array([x, 0.0, z]), EXACT)  # eq. 2.141
    chi = parameters_of_pose(pose, ROTATION_VECTOR)
    turned = np.arctan2(np.sin(angles.sum()), np.cos(angles.sum()))
    assert_close(chi, np.array([x, 0.0, z, 0.0, turned, 0.0]), EXACT)  # eq. 2.137
    turn = angles.sum()  # eq. 2.142
    assert_close(pose[0], np.array([np.cos(turn), 0.0, np.sin(turn), x]), EXACT)


def test_example_2_8_6_analytical_jacobian(arm, angles):
    (c1, c12, c123), (s1, s12, s123) = sums(angles)
    J = analytical_jacobian(arm, angles, 'tip', ROTATION_VECTOR)
    expected = [
        [L_1 * c1 + L_2 * c12 + L_3 * c123, L_2 * c12 + L_3 * c123, L_3 * c123],
        [-L_1 * s1 - L_2 * s12 - L_3 * s123, -L_2 * s12 - L_3 * s123, -L_3 * s123],
    ]
    assert_close(J[[0, 2]], np.array(expected), EXACT)  # eq. 2.149
    assert_close(J[3:], np.array([[0.0] * 3, [1.0] * 3, [0.0] * 3]), EXACT)  # eq. 2.150


def test_example_2_8_7_geometric_jacobian(arm, angles):
    (c1, c12, c123), (s1, s12, s123) = sums(angles)
    expected = [
        [L_1 * c1 + L_2 * c12 + L_3 * c123, L_2 * c12 + L_3 * c123, L_3 * c123],
        [0.0, 0.0, 0.0],
        [-L_1 * s1 - L_2 * s12 - L_3 * s123, -L_2 * s12 - L_3 * s123, -L_3 * s123],
        [0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0],
    ]
    assert_close(arm.jacobian(angles, 'tip'), np.array(expected), EXACT)  # eq. 2.186, 2.188


# Example 2.9.1: links of unit length, the end moves with (1, 1), joints 1 and 2 shall rest.


@pytest.fixture(scope='module')
def tasks():
    robot = Robot.from_urdf(planar_arm((1.0, 1.0, 1.0)), backend='python')
    q = np.array([np.pi / 6, np.pi / 3, np.pi / 3])
    end = Level.equality(robot.jacobian(q, 'tip')[[0, 2]], np.ones(2))
    return end, Level.equality(np.eye(3)[:2], np.zeros(2))


def squared(level, x):
    return level.violation(x) ** 2


def test_example_2_9_1_the_end_alone(tasks):
    end, joints = tasks
    root = np.sqrt(3.0)
    expected = 0.5 * np.array([[0.0, -root, -root], [-4.0, -3.0, -1.0]])
    assert_close(end.matrix, expected, EXACT)  # eq. 2.224
    x = solve_hierarchy([end]).x
    assert_close(x, np.array([0.069, -0.560, -0.595]), PRINTED)  # eq. 2.225
    assert_close(end.matrix @ x, np.ones(2), EXACT)  # eq. 2.226
    assert squared(end, x) == pytest.approx(0.0, abs=EXACT)  # eq. 2.234
    assert squared(joints, x) == pytest.approx(0.319, abs=PRINTED)  # eq. 2.235


def test_example_2_9_1_equal_priority(tasks):
    end, joints = tasks
    x = solve_hierarchy([end + joints]).x
    assert_close(x, np.array([-0.133, -0.067, -1.132]), PRINTED)  # eq. 2.230
    assert_close(end.matrix @ x, np.array([1.039, 0.933]), PRINTED)  # eq. 2.231
    assert squared(end, x) == pytest.approx(0.0059, abs=0.1 * PRINTED)  # eq. 2.232
    assert squared(joints, x) == pytest.approx(0.0223, abs=0.1 * PRINTED)  # eq. 2.233


def test_example_2_9_1_strict_priority(tasks):
    end, joints = tasks
    N = np.array([[1.0, -2.0, 2.0], [-2.0, 4.0, -4.0], [2.0, -4.0, 4.0]]) / 9.0
    assert_close(np.eye(3) - np.linalg.pinv(end.matrix) @ end.matrix, N, EXACT)  # eq. 2.237
    x = solve_hierarchy([end, joints]).x
    assert_close(x, np.array([-0.169, -0.085, -1.070]), PRINTED)  # eq. 2.238
    assert squared(end, x) == pytest.approx(0.0, abs=EXACT)  # eq. 2.239
    assert squared(joints, x) == pytest.approx(0.036, abs=PRINTED)  # eq. 2.240


# Example 2.9.7: three joints about z, y, x.

WRIST = """<robot name="wrist"><link name="base"/>{}{}{}</robot>"""
LINK = (
    '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"'
    ' iyz="0"/></inertial></link><joint name="j{0}" type="continuous"><parent link="{1}"/>'
    '<child link="{0}"/><axis xyz="{2}"/></joint>'
)


@pytest.fixture(scope='module')
def wrist():
    chain = (('z', 'base', '0 0 1'), ('y', 'z', '0 1 0'), ('x', 'y', '1 0 0'))
    return Robot.from_urdf(
        WRIST.format(*(LINK.format(*joint) for joint in chain)), backend='python'
    )


def test_example_2_9_7_jacobian(wrist):
    z, y, _ = q = np.array([0.3, 0.4, 0.5])
    expected = [
        [0.0, -np.sin(z), np.cos(y) * np.cos(z)],
        [0.0, np.cos(z), np.cos(y) * np.sin(z)],
        [1.0, 0.0, -np.sin(y)],
    ]
    assert_close(wrist.jacobian(q, 'x')[3:], np.array(expected), EXACT)  # eq. 2.247


# Example 3.10.1.


def test_example_3_10_1_inverse_dynamics_as_a_hierarchy(arm, angles):
    v, wanted = np.array([0.5, -1.0, 2.0]), np.array([3.0, 2.0, 1.0])
    problem = WholeBodyProblem(arm, angles, v)
    motion = problem.solve([problem.joint_accelerations(wanted)])
    assert_close(motion.a, wanted, EXACT, 10.0)
    assert_close(motion.tau, arm.inverse_dynamics(angles, v, wanted), EXACT, 100.0)
    # The same from the matrices that are printed, eq. 3.114 and 3.115.
    eye, zero = np.eye(3), np.zeros((3, 3))
    equations = Level.equality(
        np.hstack([arm.mass_matrix(angles), -eye]), -arm.nonlinear_effects(angles, v)
    )
    x = solve_hierarchy([equations, Level.equality(np.hstack([eye, zero]), wanted)]).x
    assert_close(x, np.concatenate([motion.a, motion.tau]), EXACT, 100.0)
