# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics with more than a pose to reach: several frames, slack, locks, postures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from few_joint_arms import few_joint_arm
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError

TOLERANCE = 1e-5
"""Default of the solver [m, rad]."""

HAND = 'panda_hand'
BENT = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02])
OTHER = np.array([0.5, -0.2, 0.3, -2.2, 0.2, 1.7, 0.2, 0.02])

PLENTY = {'timeout': 2.0}
"""Restarts decide, not the clock."""


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


def missing(robot, q, frame, target):
    """Position [m] and rotation vector [rad] that are missing, in the axes of the target."""
    pose = robot.forward_kinematics(q, frame)
    R = pose[:3, :3].T @ target[:3, :3]
    angle = np.arccos(np.clip(0.5 * (np.trace(R) - 1.0), -1.0, 1.0))
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    length = np.linalg.norm(skew)
    rotation = angle * skew / length if length > 0.0 else np.zeros(3)
    return np.concatenate([target[:3, :3].T @ (target[:3, 3] - pose[:3, 3]), rotation])


def arm_within_limits(robot, q):
    return bool(np.all((robot.lower_limits <= q) & (q <= robot.upper_limits)))


def test_two_hands_are_brought_to_two_poses_at_once():
    talos = Robot.from_urdf(urdf_path('talos_reduced'), root_joint='floating')
    hands = ['gripper_left_base_link', 'gripper_right_base_link']
    rng = np.random.default_rng(0)
    seed = talos.random_configuration(rng)
    for _ in range(20):
        goal = talos.random_configuration(rng)
        goal[:7] = seed[:7]  # the base stays where it is
        targets = np.array([talos.forward_kinematics(goal, hand) for hand in hands])
        result = talos.inverse_kinematics(targets, hands, seed, **PLENTY)
        assert result.success
        assert np.array_equal(result.q[:7], seed[:7])
        for hand, target in zip(hands, targets, strict=True):
            assert np.abs(missing(talos, result.q, hand, target)).max() <= 1.001 * TOLERANCE


@pytest.mark.parametrize('axis', range(6))
def test_a_direction_can_be_left_free(panda, axis):
    target = panda.forward_kinematics(OTHER, HAND)
    slack = np.zeros(6)
    slack[axis] = np.inf
    result = panda.inverse_kinematics(target, HAND, BENT, slack=slack, **PLENTY)
    assert result.success
    rest = np.delete(missing(panda, result.q, HAND, target), axis)
    assert np.abs(rest).max() <= 1.001 * TOLERANCE
    assert result.position_error <= TOLERANCE and result.rotation_error <= TOLERANCE


def test_anywhere_in_a_box_counts_as_there(panda):
    target = panda.forward_kinematics(OTHER, HAND)
    box = np.array([0.05, 0.02, 0.1, 0.1, 0.2, 0.05])
    result = panda.inverse_kinematics(target, HAND, BENT, slack=box, **PLENTY)
    assert result.success
    off = np.abs(missing(panda, result.q, HAND, target))
    assert np.all(off <= box + TOLERANCE)
    # Some of the room is used: the box is easier to reach than its middle.
    assert np.any(off > 0.01)


BEYOND = [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5]


@pytest.mark.parametrize('joint', ['panda_joint1', 'panda_joint4', 'panda_joint7'])
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_locked_joint_beyond_its_limit_stays_there_or_is_named(panda, joint, side):
    rng = np.random.default_rng(3)
    place, found = panda.joint_q_indices[joint], 0
    ends = (panda.lower_limits, panda.upper_limits)[side > 0.0]
    for beyond in BEYOND:
        goal = 0.5 * panda.random_configuration(rng) + 0.5 * BENT
        seed = BENT.copy()
        goal[place] = seed[place] = ends[place] + side * beyond
        target = panda.forward_kinematics(goal, HAND)
        wishes = {'locked_joints': [joint], **PLENTY}
        for options in (wishes, wishes | {'posture': 'centre'}, {'joint_weights': {joint: np.inf}}):
            result = panda.inverse_kinematics(target, HAND, seed, **(PLENTY | options))
            found += result.success
            assert not result.success or result.q[place] == seed[place]
        for solution in panda.all_inverse_kinematics(target, HAND, seed, **wishes):
            assert solution.q[place] == seed[place]
            others = solution.q.copy()
            others[place] = ends[place]
            assert arm_within_limits(panda, others)
        target[0, 3] += 3.0
        missed = panda.inverse_kinematics(target, HAND, seed, **wishes)
        assert missed.reason == 'unreachable' and missed.q[place] == seed[place]
    assert found == 3 * len(BEYOND)


@pytest.mark.parametrize('locked', [(), ('panda_joint3',)])
def test_a_rotation_out_of_reach_at_a_position_within_is_unreachable(panda, locked):
    rng, missed = np.random.default_rng(1), 0
    for k in range(25):
        target = panda.forward_kinematics(panda.random_configuration(rng), HAND).copy()
        seed = panda.random_configuration(rng)
        target[:3, :3] = Rotation.random(random_state=k).as_matrix()
        result = panda.inverse_kinematics(target, HAND, seed, locked_joints=locked, timeout=60.0)
        if not result.success and result.position_error < TOLERANCE:
            missed += 1
            assert result.reason == 'unreachable', k
    assert missed >= 4


def test_a_dear_joint_moves_less(panda):
    target = panda.forward_kinematics(OTHER, HAND)
    usual = panda.inverse_kinematics(target, HAND, BENT)
    spared = panda.inverse_kinematics(target, HAND, BENT, joint_weights={'panda_joint1': 100.0})
    assert usual.success and spared.success
    assert abs(spared.q[0] - BENT[0]) < 0.2 * abs(usual.q[0] - BENT[0])


@pytest.mark.parametrize('posture', ['seed', 'centre'])
def test_no_small_motion_that_keeps_the_hand_comes_nearer_to_the_posture(panda, posture):
    target = panda.forward_kinematics(OTHER, HAND)
    result = panda.inverse_kinematics(target, HAND, BENT, posture=posture)
    assert result.success
    liked = BENT if posture == 'seed' else 0.5 * (panda.lower_limits + panda.upper_limits)
    J = panda.jacobian(result.q, HAND)[:, :7]
    still = np.linalg.svd(J)[2][6]  # the motion of the elbow alone
    assert abs(still @ (liked - result.q)[:7]) < 1e-3


def test_with_one_joint_locked_a_redundant_arm_has_few_solutions_and_all_hold(panda):
    target = panda.forward_kinematics(OTHER, HAND)
    results = panda.all_inverse_kinematics(
        target, HAND, OTHER, locked_joints=['panda_joint7'], timeout=2.0
    )
    more = panda.all_inverse_kinematics(
        target, HAND, OTHER, locked_joints=['panda_joint7'], timeout=2.0, max_restarts=2000
    )
    assert 1 < len(results) == len(more) <= 8
    assert results[0].q == pytest.approx(OTHER, abs=1e-4)
    for result in results:
        assert result.q[6] == OTHER[6]
        assert np.abs(missing(panda, result.q, HAND, target)).max() <= 1.001 * TOLERANCE


def test_solutions_say_how_far_they_are_from_limits_and_singularities(panda):
    target = panda.forward_kinematics(OTHER, HAND)
    for result in panda.all_inverse_kinematics(target, HAND, OTHER, max_solutions=4):
        arm = slice(0, 7)
        lower, upper = panda.lower_limits[arm], panda.upper_limits[arm]
        q = result.q[arm]
        assert result.limit_margin == min(np.min(q - lower), np.min(upper - q)) >= 0.0
        J = panda.jacobian(result.q, HAND)[:, arm]
        assert result.manipulability == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-6)


def test_a_hundred_times_smaller_robot_is_solved_in_the_same_number_of_steps():
    def arm(scale):
        axes = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0')
        inertia = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
        body = f"<inertial><mass value='1'/>{inertia}</inertial>"
        parts = [f"<link name='l{k}'>{body}</link>" for k in range(7)] + [
            f"<joint name='j{k}' type='revolute'><parent link='l{k}'/><child link='l{k + 1}'/>"
            f"<origin xyz='{0.1 * scale} 0 {0.3 * scale}'/><axis xyz='{axis}'/>"
            "<limit lower='-2.5' upper='2.5' effort='1' velocity='1'/></joint>"
            for k, axis in enumerate(axes)
        ]
        return Robot.from_urdf(f"<robot name='r'>{''.join(parts)}</robot>")

    large, small = arm(1.0), arm(0.01)
    rng = np.random.default_rng(6)
    for _ in range(20):
        q = large.random_configuration(rng)
        # The tolerance of the position is scaled too.
        first = large.inverse_kinematics(
            large.forward_kinematics(q, 'l6'), 'l6', position_tolerance=1e-5, **PLENTY
        )
        second = small.inverse_kinematics(
            small.forward_kinematics(q, 'l6'), 'l6', position_tolerance=1e-7, **PLENTY
        )
        assert first.success and second.success
        assert first.iterations == second.iterations
        assert second.q == pytest.approx(first.q, abs=1e-6)


def narrowed(robot, share):
    """The robot with a share of each joint's range, at most 6 rad, about its middle."""
    joints = []
    for joint in robot.model.joints:
        lower, upper = max(joint.limits.lower, -3.0), min(joint.limits.upper, 3.0)
        middle, half = 0.5 * (lower + upper), 0.5 * share * (upper - lower)
        limits = replace(joint.limits, lower=middle - half, upper=middle + half)
        joints.append(replace(joint, limits=limits))
    return Robot(replace(robot.model, joints=tuple(joints)))


APPROACHED = {
    'five axes': lambda: (Robot.from_urdf(few_joint_arm('five axes')), 'tip'),
    'scara': lambda: (Robot.from_urdf(few_joint_arm('scara')), 'tip'),
    'planar 4R': lambda: (Robot.from_urdf(few_joint_arm('planar 4R')), 'tip'),
    'narrow ur5': lambda: (narrowed(Robot.from_urdf(urdf_path('ur5')), 0.4), 'tool0'),
    'narrow panda': lambda: (narrowed(Robot.from_urdf(urdf_path('panda')), 0.4), HAND),
}


def turned_less(robot, frame, target, q):
    """Smallest rotation error [rad] near q at the position of the target, by SLSQP."""

    def half_chord(q):
        return 0.5 * np.sum((robot.forward_kinematics(q, frame) - target)[:3, :3] ** 2)

    def slope(q):
        S = robot.forward_kinematics(q, frame)[:3, :3] @ target[:3, :3].T
        skew = np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]])
        return robot.jacobian(q, frame)[3:].T @ skew

    at_place = {
        'type': 'eq',
        'fun': lambda q: (robot.forward_kinematics(q, frame) - target)[:3, 3],
        'jac': lambda q: robot.jacobian(q, frame)[:3],
    }
    ends = [np.clip(x, -9.0, 9.0) for x in (robot.lower_limits, robot.upper_limits)]
    bounds = list(zip(*ends, strict=True))
    found = minimize(
        half_chord, q, jac=slope, bounds=bounds, constraints=at_place, options={'ftol': 1e-14}
    )
    off = np.linalg.norm(at_place['fun'](found.x))
    return 2.0 * np.arcsin(np.sqrt(min(found.fun / 4.0, 1.0))) if off < 1e-6 else np.inf


@pytest.mark.parametrize('name', APPROACHED)
def test_the_closest_approach_has_the_position_first_and_then_the_least_rotation(name):
    robot, frame = APPROACHED[name]()
    frame = robot.frame_names[-1] if frame == 'tip' else frame
    rng = np.random.default_rng(7)
    compared = 0
    for _ in range(25):
        target = robot.forward_kinematics(robot.random_configuration(rng), frame)
        turn = Rotation.random(random_state=rng).as_matrix() if rng.random() < 0.5 else None
        target[:3, :3] = (
            turn
            if turn is not None
            else target[:3, :3] @ (Rotation.from_rotvec(0.2 * rng.normal(size=3)).as_matrix())
        )
        place = robot.inverse_kinematics(target, frame, position_only=True, **PLENTY)
        result = robot.inverse_kinematics(target, frame, **PLENTY)
        if result.success or not place.success:
            continue
        compared += 1
        assert result.position_error < 1e-6
        assert arm_within_limits(robot, result.q)
        error = np.abs(missing(robot, result.q, frame, target)[:3])
        assert error.max() < 1e-6
        least = turned_less(robot, frame, target, result.q)
        assert result.rotation_error < least + 2e-3
    assert compared >= 8


def test_with_a_direction_free_the_others_come_first(panda):
    narrow = narrowed(panda, 0.3)
    target = narrow.forward_kinematics(narrow.nominal(), HAND)
    target[:3, :3] = target[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    slack = np.array([0.05, 0.0, 0.0, 0.0, 0.0, np.inf])
    result = narrow.inverse_kinematics(target, HAND, slack=slack, **PLENTY)
    off = np.abs(missing(narrow, result.q, HAND, target)[:3])
    assert not result.success and result.position_error < 1e-6
    assert np.all(off <= [0.05 + 1e-6, 1e-6, 1e-6])


def test_a_locked_joint_that_excludes_the_goal_is_named(panda):
    seed, limit = BENT.copy(), panda.upper_limits[5]
    goal = seed.copy()
    goal[5] = limit
    pair = {'locked_joints': ['panda_joint6', 'panda_joint7', 'panda_joint1'], **PLENTY}
    target = panda.forward_kinematics(goal, HAND)
    seed[5] = limit + 0.3
    for method in (panda.inverse_kinematics, panda.all_inverse_kinematics):
        with pytest.raises(InvalidArgumentError, match=r"locked_joints.*'panda_joint6' beyond"):
            method(target, HAND, seed, **pair)
    seed[5] = limit + 3.0
    for method in (panda.inverse_kinematics, panda.all_inverse_kinematics):
        with pytest.raises(InvalidArgumentError, match=r"locked_joints.*'panda_joint6' is at"):
            method(target, HAND, seed, **pair)


def test_the_closest_approach_puts_the_positions_of_two_frames_first(panda):
    both = panda.with_tool(panda, 'panda_link0', prefix='other_')
    hands = [HAND, f'other_{HAND}']
    rng = np.random.default_rng(3)
    q = both.random_configuration(rng)
    targets = np.array([both.forward_kinematics(q, hand) for hand in hands])
    narrow = narrowed(both, 0.3)
    targets[:, :3, 3] = [narrow.forward_kinematics(narrow.nominal(), h)[:3, 3] for h in hands]
    result = narrow.inverse_kinematics(targets, hands, **PLENTY)
    assert not result.success and result.position_error < 1e-6
