# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot with a closed form answers: every branch a search finds, the nearest one first."""

from __future__ import annotations

import numpy as np
import pytest
from six_axis_arms import random_axes, urdf_of_axes

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.inverse_kinematics.analytic import closed_form_of, closed_form_solutions
from dynamics_ros.inverse_kinematics.problem import Problem, ProblemOptions

ARMS = {
    'ur5': ('tool0', ()),
    'kinova': ('j2s6s200_end_effector', ()),
    'panda': ('panda_link8', ('panda_joint7',)),
    'xarm7': ('link_eef', ('joint7',)),
    'tiago': ('arm_tool_link', ('arm_3_joint', 'torso_lift_joint')),
    'pr2': ('r_gripper_palm_link', ('r_upper_arm_roll_joint', 'torso_lift_joint')),
}
"""Frame, and which joints are locked."""

FOUND = 1e-3
"""rad: where a search ends, within 1e-5 m of the target, from the exact branch."""

TOLERANCE = 1.001e-5
"""Default of the solver [m, rad]; the check uses other formulas."""

PLENTY = {'timeout': 10.0, 'max_restarts': 150}


@pytest.fixture(scope='module', params=ARMS)
def arm(request):
    frame, locked = ARMS[request.param]
    return Robot.from_urdf(urdf_path(request.param)), frame, locked


@pytest.fixture(scope='module')
def ur5():
    return Robot.from_urdf(urdf_path('ur5'))


def closed_form(robot, frame, **wishes):
    target = robot.forward_kinematics(robot.neutral(), frame)
    return closed_form_of(Problem(robot, target, frame, robot.neutral(), ProblemOptions(**wishes)))


def turns_apart(q, other):
    return np.abs(np.angle(np.exp(1j * (q - other)))).max()


def test_whatever_a_long_search_finds_is_among_the_branches(arm):
    robot, frame, locked = arm
    assert closed_form(robot, frame, locked_joints=locked) is not None
    rng = np.random.default_rng(1)
    for _ in range(4):
        q = robot.random_configuration(rng)
        target = robot.forward_kinematics(q, frame)
        options = {'locked_joints': locked, 'max_solutions': 100}
        branches = robot.all_inverse_kinematics(target, frame, q, **options)
        # A posture is a wish that no closed form knows.
        searched = robot.all_inverse_kinematics(
            target, frame, q, **options, posture='seed', **PLENTY
        )
        assert 1 <= len(searched) <= len(branches) <= 8
        for result in searched:
            assert min(turns_apart(result.q, x.q) for x in branches) < FOUND
        assert turns_apart(branches[0].q, q) < FOUND
        for result in branches:
            pose = robot.forward_kinematics(result.q, frame)
            np.testing.assert_allclose(pose, target, atol=TOLERANCE)
            assert np.all(result.q >= robot.lower_limits)
            assert np.all(result.q <= robot.upper_limits)
            for name in locked:
                place = robot.joint_q_indices[name]
                assert result.q[place] == q[place]


def test_the_answer_is_the_branch_nearest_to_the_seed(ur5):
    rng = np.random.default_rng(2)
    for _ in range(20):
        q, seed = ur5.random_configuration(rng), ur5.random_configuration(rng)
        target = ur5.forward_kinematics(q, 'tool0')
        branches = ur5.all_inverse_kinematics(target, 'tool0', seed)
        result = ur5.inverse_kinematics(target, 'tool0', seed)
        np.testing.assert_array_equal(result.q, branches[0].q)
        distances = [np.linalg.norm(x.q - seed) for x in branches]
        assert distances == sorted(distances)
        assert result.success
        assert result.reason == 'converged'
        assert result.iterations == 0


def test_solutions_are_rows_of_an_array_and_a_sequence_of_results(ur5):
    q = np.array([0.4, -1.1, 1.3, -0.9, -1.4, 0.3])
    target = ur5.forward_kinematics(q, 'tool0')
    branches = ur5.all_inverse_kinematics(target, 'tool0', q)
    assert len(branches) == len(branches.q) == 8
    for row, result in zip(branches.q, branches, strict=True):
        np.testing.assert_array_equal(row, result.q)
        assert result.limit_margin > 0.0
        assert result.manipulability > 0.0
        assert result.elapsed == branches.elapsed > 0.0
    np.testing.assert_array_equal(branches[-1].q, branches.q[7])
    assert [x.q.tolist() for x in branches[2:4]] == branches.q[2:4].tolist()
    with pytest.raises(IndexError):
        branches[8]
    assert len(ur5.all_inverse_kinematics(target, 'tool0', q, max_solutions=3)) == 3
    # All eight differ by more than a radian in some joint, but not by more than three.
    assert len(ur5.all_inverse_kinematics(target, 'tool0', q, min_separation=3.2)) == 1


def test_where_a_locked_joint_spoils_the_closed_form_a_search_answers():
    panda = Robot.from_urdf(urdf_path('panda'))
    rng = np.random.default_rng(4)
    for position, has_branches in ((0.0, False), (1.5, True)):
        q = panda.random_configuration(rng)
        # At zero, axes 5 and 7 are parallel: nowhere else.
        q[5] = position
        target = panda.forward_kinematics(q, 'panda_hand')
        wishes = {'locked_joints': ['panda_joint6']}
        problem = Problem(panda, target, 'panda_hand', q, ProblemOptions(**wishes))
        branches, hopeless = closed_form_solutions(closed_form_of(problem), problem, 0.0, most=16)
        assert bool(branches) == has_branches
        assert not hopeless
        seed = q.copy()
        seed[:5] += 0.1
        seed = np.clip(seed, panda.lower_limits, panda.upper_limits)
        result = panda.inverse_kinematics(target, 'panda_hand', seed, **wishes, timeout=5.0)
        assert result.success
        assert result.q[5] == q[5]


def test_an_arm_on_a_moving_base_and_with_other_joints_keeps_what_is_not_its_own():
    rng = np.random.default_rng(3)
    text = urdf_of_axes(random_axes(rng, 'spherical', 'parallel_23'), rng)
    other = (
        '<link name="lid"/><joint name="hinge" type="continuous"><parent link="link_0"/>'
        '<child link="lid"/><axis xyz="1 0 0"/></joint></robot>'
    )
    robot = Robot.from_urdf(text.replace('</robot>', other), root_joint='floating')
    assert closed_form(robot, 'tool') is not None
    q = robot.random_configuration(rng)
    target = robot.forward_kinematics(q, 'tool')
    seed = q.copy()
    arm = [robot.joint_q_indices[f'joint_{k}'] for k in range(1, 7)]
    seed[arm] += 0.2
    branches = robot.all_inverse_kinematics(target, 'tool', seed)
    assert min(turns_apart(x.q, q) for x in branches) < FOUND
    for result in branches:
        np.testing.assert_allclose(robot.forward_kinematics(result.q, 'tool'), target, atol=1e-8)
        kept = np.delete(np.arange(robot.nq), arm)
        np.testing.assert_array_equal(result.q[kept], q[kept])
