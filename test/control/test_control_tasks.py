# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks share the velocities of a robot as their priorities and weights say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from tolerances import LAW

from dynamics_ros.constraints import constraint_jacobian
from dynamics_ros.control import (
    Task,
    damped_pseudo_inverse,
    null_space_projector,
    pose_error,
    solve_equal,
    solve_prioritized,
    solve_task,
    support_consistent_velocity,
    trajectory_velocity,
    weighted_pseudo_inverse,
)
from dynamics_ros.errors import InvalidArgumentError

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 6)

FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')

HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.8, 0.4])


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
@given(SIZES, SIZES, SEEDS)
def test_the_weighted_inverse_minimizes_weighted_errors_and_motions(m, n, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)
    rows, columns = rng.uniform(0.5, 2.0, m), rng.uniform(0.5, 2.0, n)
    x = weighted_pseudo_inverse(A, rows, columns) @ b
    assert_close(A.T @ (rows * (A @ x - b)), np.zeros(n), 1e-6)
    # Of all with that error it is smallest: orthogonal in its weights to what A does not see.
    assert_close(null_space_projector(A) @ (columns * x), np.zeros(n), 1e-6)


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
