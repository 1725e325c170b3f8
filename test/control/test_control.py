# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Controllers do to the simulated robot what their equations promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import assert_close
from planar_arms import planar_arm
from tolerances import LAW

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.constraints import LinearConstraint, constraint_jacobian
from dynamics_ros.control import (
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
from dynamics_ros.errors import InfeasibleError, InvalidArgumentError, RankDeficientError

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 6)

FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')


@pytest.fixture(scope='module')
def panda():
    locked = {'panda_finger_joint1': 0.02}
    return Robot.from_urdf(urdf_path('panda'), locked_joints=locked, backend='python')


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(planar_arm((0.5, 0.4, 0.3)), backend='python')


@pytest.fixture(scope='module')
def anymal():
    return Robot.from_urdf(urdf_path('anymal'), 'floating', backend='python')


HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4])


# Tasks.


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


@settings(max_examples=30, deadline=None)
@given(SIZES, SIZES, SEEDS)
def test_without_damping_the_damped_inverse_is_the_pseudo_inverse(m, n, seed):
    A = np.random.default_rng(seed).normal(size=(m, n))
    assert_close(damped_pseudo_inverse(A, 0.0), np.linalg.pinv(A), 1e-6)


@settings(max_examples=30, deadline=None)
@given(SIZES, SIZES, SEEDS, st.floats(0.01, 10.0))
def test_the_damped_inverse_minimizes_error_and_size(m, n, seed, damping):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)
    x = damped_pseudo_inverse(A, damping) @ b
    # The gradient of |A x - b|^2 + damping^2 |x|^2 vanishes.
    assert_close(A.T @ (A @ x - b) + damping**2 * x, np.zeros(n), LAW, 100.0)
    assert np.linalg.norm(x) <= np.linalg.norm(b) / (2.0 * damping) * (1.0 + LAW)


@settings(max_examples=30, deadline=None)
@given(SIZES, SIZES, SEEDS)
def test_the_weighted_inverse_minimizes_weighted_errors_and_motions(m, n, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)
    rows, columns = rng.uniform(0.5, 2.0, m), rng.uniform(0.5, 2.0, n)
    x = weighted_pseudo_inverse(A, rows, columns) @ b
    assert_close(A.T @ (rows * (A @ x - b)), np.zeros(n), 1e-6)
    # Of all with that error it is smallest: orthogonal in its weights to what A does not see.
    assert_close(null_space_projector(A) @ (columns * x), np.zeros(n), 1e-6)


@settings(max_examples=30, deadline=None)
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


def test_a_task_that_repeats_an_earlier_one_adds_nothing():
    A = np.array([[1.0, 2.0, 3.0]])
    x = solve_prioritized([Task(A, [1.0]), Task(A, [5.0]), Task(np.eye(3), np.zeros(3))])
    assert_close(x, solve_task(Task(A, [1.0])))


def test_weights_decide_between_tasks_that_contradict():
    low, high = Task([[1.0]], [0.0]), Task([[1.0]], [1.0])
    assert solve_equal([low, high]) == pytest.approx([0.5])
    assert solve_equal([low, high], weights=[1.0, 3.0]) == pytest.approx([0.75])
    assert solve_prioritized([low, high]) == pytest.approx([0.0])


def test_a_preferred_motion_fills_the_null_space(panda):
    J = panda.jacobian(HOME, 'panda_hand')
    wanted, preferred = np.arange(6) * 0.1, np.ones(7)
    x = solve_task(Task(J, wanted), preferred)
    assert_close(J @ x, wanted)
    assert_close(null_space_projector(J) @ (x - preferred), np.zeros(7))


def test_damping_keeps_velocities_small_at_a_singularity(arm):
    stretched = np.array([0.3, 1e-7, 0.0])
    J = arm.jacobian(stretched, 'tip')[[0, 2]]
    inwards = -np.array([np.sin(0.3), np.cos(0.3)])
    assert np.abs(damped_pseudo_inverse(J, 0.05) @ inwards).max() < 1.0
    assert np.abs(solve_task(Task(J, inwards), damping=0.05)).max() < 1.0


def test_tasks_broadcast_over_leading_axes():
    rng = np.random.default_rng(1)
    tasks = [
        Task(rng.normal(size=(5, 2, 4)), rng.normal(size=2)),
        Task(rng.normal(size=(3, 4)), rng.normal(size=(5, 3))),
    ]
    for solve in (solve_equal, solve_prioritized):
        together = solve(tasks)
        for i in range(5):
            single = [
                Task(tasks[0].matrix[i], tasks[0].target),
                Task(tasks[1].matrix, tasks[1].target[i]),
            ]
            assert_close(together[i], solve(single))


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


def test_pose_errors_broadcast_and_refuse_what_is_no_pose(panda):
    poses = panda.forward_kinematics(np.array([HOME, HOME + 0.1, HOME - 0.2]), 'panda_hand')
    together = pose_error(poses, poses[0])
    assert_close(together, np.array([pose_error(pose, poses[0]) for pose in poses]))
    assert (together[0] == 0.0).all()
    for wrong, said in (
        (poses + 0.5j, 'pose: dtype complex128'),
        (poses[:, :3], r'pose: shape \(3, 3, 4\)'),
        (poses * np.nan, 'pose: nan'),
        (poses[:2], r'target, pose: leading axes \(3,\), \(2,\)'),
    ):
        with pytest.raises(InvalidArgumentError, match=said):
            pose_error(poses, wrong)


@pytest.mark.parametrize(
    'call',
    [
        lambda robot, one, other: joint_impedance(robot, one, other, HOME, HOME, 1.0, 1.0),
        lambda robot, one, other: inverse_dynamics_control(robot, HOME, one, HOME, other, 1.0, 1.0),
        lambda robot, one, other: motion_torques(robot, one, HOME, 'panda_hand', other[..., :6]),
    ],
)
def test_leading_axes_that_do_not_go_together_are_named(panda, call):
    with pytest.raises(InvalidArgumentError, match=r'leading axes .*\(2,\).*\(3,\)'):
        call(panda, np.array([HOME, HOME]), np.array([HOME, HOME, HOME]))


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


def test_two_feet_let_the_base_move_in_five_directions(anymal):
    rng = np.random.default_rng(2)
    q, feet, base = anymal.random_configuration(rng), FEET[:2], anymal.body_names[0]
    missed = []
    for wanted in np.eye(6):
        task = Task(anymal.jacobian(q, base), wanted)
        u = support_consistent_velocity(anymal, q, feet, [task])
        assert_close(constraint_jacobian(anymal, q, feet) @ u, np.zeros(6))
        missed.append(task.error(u))
    # The turn about the line between the feet needs no joint: it is free. All else is met by the
    # joints, so nothing at all is missed.
    assert_close(np.array(missed), np.zeros((6, 6)))


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


def test_impedance_with_gravity_compensation_reaches_its_target(arm):
    target, rest = np.array([0.3, 0.8, -0.4]), np.zeros(3)
    q, v = settle(
        arm, rest, rest, lambda q, v: joint_impedance(arm, q, v, target, rest, SPRINGS, DAMPERS)
    )
    assert_close(q, target, 1e-3)
    assert_close(v, rest, 1e-2)


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


def test_the_position_of_a_planar_arm_accelerates_as_commanded(arm):
    q, v = np.array([0.3, 0.5, -0.7]), np.array([1.0, -1.0, 2.0])
    tau = motion_torques(arm, q, v, 'tip', [1.0, -2.0], rows=(0, 2))
    a = arm.forward_dynamics(q, v, tau)
    assert_close(arm.frame_acceleration(q, v, a, 'tip')[[0, 2]], np.array([1.0, -2.0]))
    with pytest.raises(RankDeficientError):
        motion_torques(arm, q, v, 'tip', np.zeros(6))


def test_selection_matrices_split_space_along_the_contact():
    c, s = np.cos(0.3), np.sin(0.3)
    R = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    S_M, S_F = selection_matrices([True, True, False, True, True, True], R)
    assert_close(S_M + S_F, np.eye(6))
    assert_close(S_M @ S_M, S_M)
    normal = np.concatenate([R[:, 2], np.zeros(3)])
    assert_close(S_F @ normal, normal)
    assert_close(S_F @ np.concatenate([R[:, 0], R[:, 1]]), np.zeros(6))


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


def test_two_feet_cannot_bear_every_virtual_torque(anymal):
    q = anymal.random_configuration(7)
    base = anymal.body_names[0]
    with pytest.raises(InfeasibleError, match='cannot carry'):
        virtual_model_torques(anymal, q, FEET[:2], {base: np.ones(6)})
    tau, _ = virtual_model_torques(anymal, q, FEET[:2], {base: np.ones(6)}, approximate=True)
    assert np.isfinite(tau).all()


def test_a_virtual_force_on_a_fixed_arm_is_its_jacobian_transposed(panda):
    pull = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    tau, forces = virtual_model_torques(panda, HOME, (), {'panda_hand': pull})
    assert forces.shape == (0,)
    J = panda.jacobian(HOME, 'panda_hand')
    assert_close(tau, panda.gravity(HOME) + J.T @ pull)


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
