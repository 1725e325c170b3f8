# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Controllers do to the simulated robot what their equations promise."""

from __future__ import annotations

import numpy as np
import pytest
from few_joint_arms import few_joint_arm
from laws import assert_close
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.constraints import LinearConstraint, constraint_jacobian
from dynamics_ros.control import (
    Task,
    damped_pseudo_inverse,
    inverse_dynamics_control,
    joint_impedance,
    motion_torques,
    operational_space_torques,
    oscillator_gains,
    pose_error,
    selection_matrices,
    solve_equal,
    tracking_acceleration,
    virtual_model_torques,
    weighted_pseudo_inverse,
)
from dynamics_ros.errors import InvalidArgumentError, RankDeficientError

FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4])


# Joint by joint.


SPRINGS, DAMPERS = np.array([60.0, 30.0, 10.0]), np.array([8.0, 3.0, 0.5])


def settle(robot, q, v, torques, duration=3.0, step=1e-3):
    """State after a simulation under a control law."""
    for _ in range(round(duration / step)):
        v = v + step * robot.forward_dynamics(q, v, torques(q, v))
        q = robot.integrate(q, step * v)
    return q, v


def test_gains_of_the_lecture_notes():
    stiffness, damping = oscillator_gains(3.0)
    assert stiffness == pytest.approx(350, rel=0.02)  # [RD] 3.8.1 rounds
    assert damping == pytest.approx(37, rel=0.02)


def test_impedance_without_gravity_compensation_sags_until_the_springs_bear_it(arm):
    target, rest = np.array([0.3, 0.8, -0.4]), np.zeros(3)
    q, _ = settle(
        arm,
        target,
        rest,
        lambda q, v: joint_impedance(
            arm, q, v, target, rest, SPRINGS, DAMPERS, compensate_gravity=False
        ),
    )
    assert np.abs(q - target).max() > 0.05
    assert_close(SPRINGS * (target - q), arm.gravity(q), 2e-2)  # [RD] eq. 3.74


def test_inverse_dynamics_control_makes_each_joint_an_oscillator(arm):
    stiffness, damping = oscillator_gains(2.0, damping_ratio=0.5)
    rng = np.random.default_rng(4)
    q, v, target, speed, feed = rng.normal(size=(5, 3))
    tau = inverse_dynamics_control(arm, q, v, target, speed, stiffness, damping, feed)
    expected = feed + stiffness * (target - q) + damping * (speed - v)  # [RD] eq. 3.77, 3.78
    assert_close(arm.forward_dynamics(q, v, tau), expected)


# At the end effector.


def test_the_end_effector_accelerates_as_commanded(panda):
    v, frame = 0.3 * np.ones(7), 'panda_hand'
    target = panda.forward_kinematics(HOME + 0.05, frame)
    wanted = tracking_acceleration(
        target,
        panda.forward_kinematics(HOME, frame),
        np.zeros(6),
        panda.frame_velocity(HOME, v, frame),
        100.0,
        20.0,
    )
    tau = motion_torques(panda, HOME, v, frame, wanted)
    a = panda.forward_dynamics(HOME, v, tau)
    assert_close(panda.frame_acceleration(HOME, v, a, frame), wanted)


def test_a_window_is_pressed_and_wiped(panda):
    """[RD] 3.9.4: a force along the normal, motion in all other directions."""
    v, frame = np.zeros(7), 'panda_hand'
    R = panda.forward_kinematics(HOME, frame)[:3, :3]
    free = [True, True, False, True, True, True]
    push = np.concatenate([-8.0 * R[:, 2], np.zeros(3)])  # the window pushes back
    motion = np.concatenate([0.5 * R[:, 0], np.zeros(3)])
    tau = operational_space_torques(panda, HOME, v, frame, motion, push, free, R)
    # The window holds the hand along its normal; its force is what was asked for.
    row = np.concatenate([R[:, 2], np.zeros(3)]) @ panda.jacobian(HOME, frame)
    window = LinearConstraint.constant([row])
    a, force = panda.constrained_forward_dynamics(HOME, v, tau, window)
    assert force == pytest.approx([-8.0])
    assert_close(panda.frame_acceleration(HOME, v, a, frame)[:3], motion[:3])


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


# Virtual models.


def test_a_virtual_force_on_a_standing_robot_is_felt_by_its_feet(anymal):
    q = anymal.random_configuration(7)
    base = anymal.body_names[0]
    pull = np.array([20.0, -10.0, 50.0, 1.0, 2.0, 3.0])
    tau, forces = virtual_model_torques(anymal, q, FEET, {base: pull})
    assert not tau[:6].any()
    J = constraint_jacobian(anymal, q, FEET)
    # Torques and feet together act on the robot as the virtual wrench would, gravity balanced.
    acts = tau + J.T @ forces - anymal.gravity(q)
    assert_close(acts, anymal.jacobian(q, base).T @ pull, LAW, 100.0)
    weight = np.array([0.0, 0.0, 9.81 * anymal.total_mass])
    assert_close(forces.reshape(4, 3).sum(axis=0), weight + pull[:3])


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        (lambda robot: Task([[1.0]], [1.0, 2.0]), 'target: shape'),
        (lambda robot: Task([[np.nan]], [1.0]), 'task: NaN'),
        (lambda robot: damped_pseudo_inverse(np.eye(2), -1.0), 'damping: -1.0'),
        (lambda robot: weighted_pseudo_inverse(np.eye(2), [1.0, 0.0]), 'row_weights'),
        (lambda robot: solve_equal([]), 'tasks: 0 tasks'),
        (lambda robot: oscillator_gains(0.0), 'frequency: 0.0'),
        (
            lambda robot: joint_impedance(robot, HOME, HOME, HOME, HOME, -1.0, 1.0),
            'stiffness: -1.0',
        ),
        (lambda robot: selection_matrices([True], np.eye(3)), 'free: bool'),
        (lambda robot: pose_error(np.eye(3), np.eye(4)), 'target: shape'),
        (
            lambda robot: virtual_model_torques(robot, HOME, (), {'panda_hand': [1.0]}),
            'virtual_wrenches: shape',
        ),
    ],
)
def test_wrong_arguments_are_named(panda, wrong, said):
    with pytest.raises(InvalidArgumentError, match=said):
        wrong(panda)


@pytest.mark.parametrize(
    'control',
    [
        lambda r, q, v: joint_impedance(r, q, v, q, v, 1.0, 1.0),
        lambda r, q, v: inverse_dynamics_control(r, q, v, q, v, 1.0, 1.0),
        lambda r, q, v: motion_torques(r, q, v, 'LF_FOOT', np.zeros(3), rows=(0, 1, 2)),
        lambda r, q, v: operational_space_torques(
            r, q, v, 'LF_FOOT', np.zeros(6), np.zeros(6), [True] * 6, np.eye(3)
        ),
    ],
)
def test_a_base_without_motors_is_refused_by_what_would_need_them(anymal, control):
    with pytest.raises(InvalidArgumentError, match=r'robot: a base with 6 velocities and no motor'):
        control(anymal, anymal.neutral(), np.zeros(anymal.nv))
