# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics on real arms: found, within limits, near the seed, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples

from benchmarks.robots import urdf_path
from dynamics_ros import Robot

HANDS = {
    'panda': 'panda_hand',
    'ur5': 'tool0',
    'xarm7': 'link_eef',
    'kinova': 'j2s6s200_end_effector',
}

TARGETS = 250
"""A robot: enough to tell 99.5 % from less, in about half a second."""

TOLERANCE = 1e-5
"""Default of the solver [m, rad]."""

RECHECK = 1.001 * TOLERANCE
"""The check uses another formula for the angle; it differs by rounding."""

PLENTY = {'timeout': 2.0, 'max_restarts': 60}
"""Restarts decide, not the clock: the outcome does not depend on the load of the machine. Sixty
take some 20 ms."""


@pytest.fixture(scope='module', params=HANDS)
def arm(request):
    return Robot.from_urdf(urdf_path(request.param)), HANDS[request.param]


@pytest.fixture(scope='module')
def ur5():
    return Robot.from_urdf(urdf_path('ur5'))


@pytest.fixture(scope='module')
def kinova():
    return Robot.from_urdf(urdf_path('kinova'))


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


def pose_errors(robot, q, frame, target):
    """Distance [m] and angle [rad] to the target, found without the solver's own formulas."""
    pose = robot.forward_kinematics(q, frame)
    # |R - R*| (Frobenius) is 2 sqrt(2) sin(angle / 2), exact at small angles too.
    chord = np.linalg.norm(pose[:3, :3] - target[:3, :3]) / (2.0 * np.sqrt(2.0))
    distance = np.linalg.norm(pose[:3, 3] - target[:3, 3])
    return distance, 2.0 * np.arcsin(min(chord, 1.0))


def within_limits(robot, q):
    return bool(np.all((robot.lower_limits <= q) & (q <= robot.upper_limits)))


def test_joints_beside_the_chain_are_within_their_limits_without_a_seed():
    """A second arm and a gripper whose ranges exclude zero, and a mimic joint that excludes it."""
    panda = Robot.from_urdf(urdf_path('panda'))
    both = panda.with_tool(panda, 'panda_link0', prefix='other_')
    rng = np.random.default_rng(3)
    assert not within_limits(both, both.neutral())
    goals = [both.random_configuration(rng) for _ in range(5)]
    targets = np.array([both.forward_kinematics(q, 'panda_hand') for q in goals])
    for result in (both.inverse_kinematics(x, 'panda_hand', **PLENTY) for x in targets):
        assert result.success and within_limits(both, result.q)
    batch = both.inverse_kinematics(targets, 'panda_hand', **PLENTY)
    assert batch.success.all() and all(within_limits(both, q) for q in batch.q)
    solutions = both.all_inverse_kinematics(targets[0], 'panda_hand', max_solutions=3, **PLENTY)
    assert len(solutions) == 3 and all(within_limits(both, q) for q in solutions.q)
    seeded = both.inverse_kinematics(targets[0], 'panda_hand', both.neutral(), **PLENTY)
    np.testing.assert_array_equal(seeded.q[8:], both.neutral()[8:])


def test_reachable_poses_are_found_and_every_answer_holds_outside_the_solver(arm):
    robot, hand = arm
    rng = np.random.default_rng(1)
    solved = 0
    for _ in range(TARGETS):
        target = robot.forward_kinematics(robot.random_configuration(rng), hand)
        result = robot.inverse_kinematics(target, hand, **PLENTY)
        if not result.success:
            continue
        solved += 1
        distance, angle = pose_errors(robot, result.q, hand, target)
        assert distance <= RECHECK and angle <= RECHECK
        assert within_limits(robot, result.q)
        assert result.reason == 'converged'
    assert solved >= 0.995 * TARGETS


def test_the_same_question_has_the_same_answer(panda):
    rng = np.random.default_rng(3)
    for _ in range(10):
        target = panda.forward_kinematics(panda.random_configuration(rng), 'panda_hand')
        first = panda.inverse_kinematics(target, 'panda_hand', **PLENTY)
        again = panda.inverse_kinematics(target, 'panda_hand', **PLENTY)
        assert np.array_equal(first.q, again.q)
        assert first.iterations == again.iterations


def test_a_seed_that_is_a_solution_is_the_answer(arm):
    robot, hand = arm
    q = robot.random_configuration(np.random.default_rng(4))
    result = robot.inverse_kinematics(robot.forward_kinematics(q, hand), hand, q)
    assert np.array_equal(result.q, q)
    assert result.iterations == 0


def test_following_a_circle_gives_a_continuous_joint_path(panda):
    q = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.0])
    start = panda.forward_kinematics(q, 'panda_hand')
    for angle in np.linspace(0.0, 2.0 * np.pi, 200):
        target = start.copy()
        target[:3, 3] += 0.1 * np.array([0.0, np.sin(angle), 1.0 - np.cos(angle)])
        result = panda.inverse_kinematics(target, 'panda_hand', q)
        assert result.success
        # 3 mm a step on a lever of at least 0.1 m.
        assert np.abs(result.q - q).max() < 0.04
        q = result.q


@examples(25)
@given(turns=st.lists(st.integers(-3, 3), min_size=3, max_size=3))
def test_continuous_joints_come_on_the_turn_nearest_the_seed(kinova, turns):
    free = np.flatnonzero(np.isinf(kinova.lower_limits))
    rng = np.random.default_rng(5)
    q = kinova.random_configuration(rng)
    seed = q.copy()
    seed[free] += 2.0 * np.pi * np.array(turns[: len(free)])
    target = kinova.forward_kinematics(kinova.random_configuration(rng), HANDS['kinova'])
    result = kinova.inverse_kinematics(target, HANDS['kinova'], seed, **PLENTY)
    assert result.success
    # Rounding at the point where two turns are equally near.
    assert np.abs(result.q - seed)[free].max() <= np.pi + 1e-9


def test_a_joint_of_two_turns_takes_the_one_nearest_the_seed_that_its_limits_allow(ur5):
    q = np.array([3.0, -1.2, 1.4, -1.0, -1.5, 3.0])
    target = ur5.forward_kinematics(q, 'tool0')
    other_turn = q - np.array([2.0 * np.pi, 0.0, 0.0, 0.0, 0.0, 2.0 * np.pi])
    for seed in (q, other_turn):
        # 0.01 rad off: the solver has to move and comes back to the seed's own turn.
        result = ur5.inverse_kinematics(target, 'tool0', seed + 0.01)
        # Not the other turn, 6 rad away; the search ends within 1e-5 of the target.
        assert result.q == pytest.approx(seed, abs=1e-3)
        assert within_limits(ur5, result.q)


def test_a_floating_base_keeps_its_place_and_the_joints_do_the_work():
    robot = Robot.from_urdf(urdf_path('xarm7'), root_joint='floating')
    rng = np.random.default_rng(8)
    seed = robot.random_configuration(rng)
    goal = robot.random_configuration(rng)
    goal[:7] = seed[:7]
    target = robot.forward_kinematics(goal, 'link_eef')
    result = robot.inverse_kinematics(target, 'link_eef', seed, **PLENTY)
    assert result.success
    assert np.array_equal(result.q[:7], seed[:7])
    assert max(pose_errors(robot, result.q, 'link_eef', target)) <= RECHECK


def test_the_position_alone_can_be_asked_for(ur5):
    target = np.full((4, 4), np.nan)
    target[:3, 3] = [0.3, 0.2, 0.5]
    result = ur5.inverse_kinematics(target, 'tool0', position_only=True)
    assert result.success
    reached = ur5.forward_kinematics(result.q, 'tool0')[:3, 3]
    assert reached == pytest.approx(target[:3, 3], abs=RECHECK)
    assert result.rotation_error == 0.0


def test_tolerances_are_what_counts_as_arrived(panda):
    rng = np.random.default_rng(9)
    target = panda.forward_kinematics(panda.random_configuration(rng), 'panda_hand')
    coarse = panda.inverse_kinematics(
        target, 'panda_hand', position_tolerance=1e-2, rotation_tolerance=1e-2, **PLENTY
    )
    fine = panda.inverse_kinematics(
        target, 'panda_hand', position_tolerance=1e-10, rotation_tolerance=1e-10, **PLENTY
    )
    assert coarse.success and coarse.position_error <= 1e-2
    assert fine.success and fine.position_error <= 1e-10 and fine.rotation_error <= 1e-10
    assert coarse.iterations < fine.iterations


@pytest.mark.parametrize(
    ('targets', 'seeds'), [((2, 3), ()), ((), (4,)), ((3,), (2, 1)), ((0,), ())]
)
def test_targets_and_seeds_broadcast_over_leading_axes(panda, targets, seeds):
    rng = np.random.default_rng(10)
    q = rng.uniform(panda.lower_limits, panda.upper_limits, (*targets, 8))
    seed = rng.uniform(panda.lower_limits, panda.upper_limits, (*seeds, 8))
    target = panda.forward_kinematics(q, 'panda_hand')
    result = panda.inverse_kinematics(target, 'panda_hand', seed, **PLENTY)
    leading = np.broadcast_shapes(targets, seeds)
    assert result.q.shape == (*leading, 8)
    assert result.success.shape == result.position_error.shape == leading
    assert result.success.all() and np.all(result.reason == 'converged')
    targets_of_each = np.broadcast_to(target, (*leading, 4, 4))
    seeds_of_each = np.broadcast_to(seed, (*leading, 8))
    for i in np.ndindex(leading):
        alone = panda.inverse_kinematics(
            targets_of_each[i], 'panda_hand', seeds_of_each[i], **PLENTY
        )
        assert np.array_equal(result.q[i], alone.q)
        assert result.iterations[i] == alone.iterations
        assert result.rotation_error[i] == alone.rotation_error
