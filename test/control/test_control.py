# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Controllers do to the simulated robot what their equations promise; tasks share velocities."""

from __future__ import annotations

import numpy as np
import pytest
from few_joint_arms import ARMS, few_joint_arm
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.constraints import LinearConstraint, constraint_jacobian
from dynamics_ros.control import (
    ImpedanceController,
    ImpedanceGains,
    ImpedanceState,
    ImpedanceTarget,
    Task,
    damped_pseudo_inverse,
    inverse_dynamics_control,
    joint_impedance,
    motion_torques,
    null_space_projector,
    operational_space_torques,
    oscillator_gains,
    pose_error,
    selection_matrices,
    solve_equal,
    solve_prioritized,
    solve_task,
    support_consistent_velocity,
    tracking_acceleration,
    trajectory_velocity,
    virtual_model_torques,
    weighted_pseudo_inverse,
)
from dynamics_ros.errors import InvalidArgumentError, RankDeficientError

FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4])


# Joint by joint.


SPRINGS, DAMPERS = np.array([60.0, 30.0, 10.0]), np.array([8.0, 3.0, 0.5])


def test_gains_of_the_lecture_notes():
    stiffness, damping = oscillator_gains(3.0)
    assert stiffness == pytest.approx(350, rel=0.02)  # [RD] 3.8.1 rounds
    assert damping == pytest.approx(37, rel=0.02)


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


SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 6)


@pytest.mark.parametrize('damping', [1e-300, 1e-12, 1e-8, 1.0, 1e200])
@pytest.mark.parametrize('rank', [0, 1, 3])
def test_any_damping_does_for_a_matrix_of_any_rank(damping, rank):
    rng = np.random.default_rng(rank)
    A = rng.normal(size=(3, rank)) @ rng.normal(size=(rank, 7))
    inverse = damped_pseudo_inverse(A, damping)
    assert inverse.shape == (7, 3) and np.isfinite(inverse).all()
    if damping < 1e-6:  # what is next to nothing beside the matrix
        assert_close(A @ inverse @ A, A, 1e-5)
    elif damping == 1.0:
        assert_close(inverse, A.T @ np.linalg.inv(A @ A.T + np.eye(3)), 1e-12)


@examples(30)
@given(SIZES, SIZES, SEEDS, st.floats(0.01, 10.0))
def test_the_damped_inverse_minimizes_error_and_size(m, n, seed, damping):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)
    x = damped_pseudo_inverse(A, damping) @ b
    # The gradient of |A x - b|^2 + damping^2 |x|^2 vanishes.
    assert_close(A.T @ (A @ x - b) + damping**2 * x, np.zeros(n), LAW, 100.0)
    assert np.linalg.norm(x) <= np.linalg.norm(b) / (2.0 * damping) * (1.0 + LAW)


@examples(30)
@given(SEEDS)
def test_a_task_of_lower_priority_does_not_disturb(seed):
    rng = np.random.default_rng(seed)
    tasks = [Task(rng.normal(size=(m, 7)), rng.normal(size=m)) for m in (2, 3, 4)]
    x = solve_prioritized(tasks)
    assert_close(tasks[0].error(x), np.zeros(2), 1e-6)
    assert_close(tasks[1].error(x), np.zeros(3), 1e-6)
    # The third has two directions left, and is best in them.
    stacked = np.vstack([tasks[0].matrix, tasks[1].matrix])
    N = null_space_projector(stacked)
    assert_close(N @ tasks[2].matrix.T @ tasks[2].error(x), np.zeros(7), 1e-6)


def test_weights_decide_between_tasks_that_contradict():
    low, high = Task([[1.0]], [0.0]), Task([[1.0]], [1.0])
    assert solve_equal([low, high]) == pytest.approx([0.5])
    assert solve_equal([low, high], weights=[1.0, 3.0]) == pytest.approx([0.75])
    assert solve_prioritized([low, high]) == pytest.approx([0.0])


# Kinematic control.


def test_a_pose_error_is_the_shortest_turn(panda):
    pose = panda.forward_kinematics(HOME, 'panda_hand')
    q = panda.integrate(HOME, 1e-6 * np.ones(7))
    moved = panda.forward_kinematics(q, 'panda_hand')
    twist = panda.jacobian(HOME, 'panda_hand') @ np.ones(7)
    assert_close(pose_error(moved, pose) / 1e-6, twist, 1e-5)
    assert np.linalg.norm(pose_error(np.diag([-1.0, -1.0, 1.0, 1.0]), np.eye(4))[3:]) == (
        pytest.approx(np.pi)
    )


@pytest.mark.parametrize(
    ('call', 'named'),
    [
        (lambda A, b: Task(A + 0.5j, b), 'matrix'),
        (lambda A, b: Task(A, b + 0.5j), 'target'),
        (lambda A, b: Task([[1.0, 2.0], [3.0]], b), 'matrix'),
        (lambda A, b: null_space_projector(A * np.nan), 'A: NaN'),
        (lambda A, b: damped_pseudo_inverse(b, 0.1), r'A: shape \(2,\)'),
        (lambda A, b: weighted_pseudo_inverse('A'), 'A: not an array'),
        (lambda A, b: weighted_pseudo_inverse(A, [1.0, 'x']), 'row_weights'),
        (lambda A, b: solve_task(Task(A, b), np.zeros(2)), r'preferred: shape \(2,\)'),
        (lambda A, b: solve_task(Task(A, b), np.full(3, np.nan)), 'preferred: NaN'),
    ],
)
def test_matrices_and_targets_are_arrays_of_numbers(call, named):
    with pytest.raises(InvalidArgumentError, match=named):
        call(np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]), np.array([1.0, 2.0]))


@pytest.mark.parametrize('rows', [(0, 1, 2), (3, 4, 5), (0, 1, 2, 3, 4, 5)])
def test_a_trajectory_is_caught_up_with_and_followed(panda, rows):
    frame, step, gain = 'panda_hand', 0.01, 5.0
    target = panda.forward_kinematics(HOME, frame)
    twist = np.array([0.1, 0.05, -0.1, 0.0, 0.0, 0.2])
    c, s = np.cos(0.2 * step), np.sin(0.2 * step)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    q = HOME + 0.1
    errors = []
    for _ in range(150):
        pose = panda.forward_kinematics(q, frame)
        errors.append(np.linalg.norm(pose_error(target, pose)[list(rows)]))
        v = trajectory_velocity(panda, q, frame, target, twist, gain, rows=rows)
        q = panda.integrate(q, step * v)
        target[:3, 3] += step * twist[:3]
        target[:3, :3] = turn @ target[:3, :3]
    assert errors[0] > 0.1
    # It decays as exp(-gain t), down to what the steps leave.
    assert errors[40] < errors[0] * np.exp(-gain * 40 * step) * 1.5
    assert errors[-1] < 1e-3


def test_a_base_moves_over_feet_that_rest(anymal):
    rng = np.random.default_rng(2)
    q, feet = anymal.random_configuration(rng), FEET[:3]
    base = anymal.body_names[0]
    wanted = rng.normal(size=6)
    u = support_consistent_velocity(anymal, q, feet, [Task(anymal.jacobian(q, base), wanted)])
    assert_close(constraint_jacobian(anymal, q, feet) @ u, np.zeros(9))
    assert_close(anymal.frame_velocity(q, u, base), wanted)  # three feet hold all of the base


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
