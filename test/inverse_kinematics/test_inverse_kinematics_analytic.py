# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed forms of inverse kinematics, and what a robot with one answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from random_robots import SEEDS, random_robot
from six_axis_arms import CASES, random_axes, urdf_of_axes

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.inverse_kinematics.six_axis_geometry import Geometry
from dynamics_ros.algorithms.inverse_kinematics.solutions import analytic_solutions, solvable_arm
from dynamics_ros.inverse_kinematics.problem import Options, Problem
from dynamics_ros.inverse_kinematics.solve import closed_form_of, closed_form_solutions

X, Y, Z = np.eye(3)

HERE = 1e-6
"""rad: where the joint positions that made a target are found again. Rounding of 1e-15 over the
smallest singular value that the tests admit, squared where branches meet."""

REGULAR = 1e-3
"""Smallest singular value of the Jacobian, from which on positions are told apart."""

REACHED = 1e-9
"""m and entries of a rotation: what a solution may miss its target by."""

SINGULAR = 1e-4
"""rad: where the pose changes with the square of a move, by the root of what it may be off."""

NEAR_ENOUGH = [1e-9, 1e-9, 1e-4]
"""Position and rotation tolerance of a solution [m, rad], and what tells two apart [rad]."""


def solutions(arm, near, target):
    """Rows of joint positions, by the algorithm itself on floats."""
    found = analytic_solutions(arm, np.asarray(near).tolist(), target.tolist(), NEAR_ENOUGH)
    return np.array(found['positions'])[: int(found['counts'][0])]


def distance(found, q):
    """How far the nearest row is in its worst joint, a full turn not counting."""
    return np.abs(np.angle(np.exp(1j * (found - q)))).max(axis=1).min(initial=math.inf)


def assert_each_reaches(robot, frame, found, target):
    for q in found:
        np.testing.assert_allclose(robot.forward_kinematics(q, frame), target, atol=REACHED)


def assert_distinct(found):
    for k in range(len(found)):
        assert distance(found[:k], found[k]) > NEAR_ENOUGH[2]


def arm_of_axes(axes, seed=0, limit=None):
    robot = Robot.from_urdf(
        urdf_of_axes(axes, np.random.default_rng(seed), limit), backend='python'
    )
    return robot, solvable_arm(robot.model, robot.model.frame('tool'))


@examples(100)
@given(SEEDS, st.sampled_from(CASES), st.booleans())
def test_a_random_arm_is_recognized_and_the_positions_of_a_pose_are_found_again(
    seed, case, inverted
):
    rng = np.random.default_rng(seed)
    axes = random_axes(rng, case)
    robot, arm = arm_of_axes(axes[::-1] if inverted else axes, seed)
    assert arm.geometry == Geometry(inverted, case)
    q, near = rng.uniform(-math.pi, math.pi, (2, 6))
    target = robot.forward_kinematics(q, 'tool')
    found = solutions(arm, near, target)
    assert_each_reaches(robot, 'tool', found, target)
    assert_distinct(found)
    distances = np.linalg.norm(found - near, axis=1)
    assert np.all(np.diff(distances) >= 0.0)
    assert np.all(np.abs(found - near) <= math.pi + 1e-9)
    if np.linalg.svd(robot.jacobian(q, 'tool'))[1][-1] > REGULAR:
        assert distance(found, q) < HERE


@examples(25)
@given(SEEDS)
def test_an_arm_of_any_other_geometry_has_no_closed_form(seed):
    rng = np.random.default_rng(seed)
    axes = random_axes(rng, 'parallel_23')
    # A wrist that is not one by a millimetre.
    axes[5] = (axes[5][0], axes[5][1] + 1e-3 * np.cross(axes[5][0], axes[4][0]))
    assert arm_of_axes(axes, seed)[1] is None
    robot = random_robot(seed)
    for frame in robot.frame_names:
        assert solvable_arm(robot.model, robot.model.frame(frame)) is None


def industrial(shoulder, reach=(0.7, 0.8), side=0.0):
    """An arm with a shoulder offset, an elbow offset of a tenth, and a spherical wrist."""
    upper, fore = reach
    elbow = np.array([shoulder, side, 0.5 + upper])
    centre = elbow + np.array([fore, 0.0, 0.1])
    return [
        (Z, np.zeros(3)),
        (Y, np.array([shoulder, 0.0, 0.5])),
        (Y, elbow),
        (X, centre),
        (Y, centre),
        (X, centre),
    ]


UR = [
    (Z, np.zeros(3)),
    (Y, np.array([0.0, 0.0, 0.09])),
    (Y, np.array([0.425, 0.12, 0.09])),
    (Y, np.array([0.817, 0.0, 0.09])),
    (-Z, np.array([0.817, 0.11, 0.0])),
    (Y, np.array([0.817, 0.0, -0.005])),
]


@pytest.mark.parametrize(
    ('axes', 'q'),
    [
        # Wrist: axes 4 and 6 along one line.
        (industrial(0.175), [0.3, 0.4, 0.5, 0.6, 0.0, 0.8]),
        (industrial(0.175), [0.3, 0.4, 0.5, 0.6, math.pi, 0.8]),
        # Elbow: stretched, which is where two branches meet.
        (industrial(0.175), [0.3, 0.4, -math.atan2(0.8, 0.1), 0.6, 0.7, 0.8]),
        # Shoulder: the wrist is on axis 1.
        (industrial(0.0, (0.8, 0.8)), [0.3, 0.0, math.pi - math.atan2(0.8, 0.1), 0.6, 0.7, 0.8]),
        (industrial(0.0), [0.0] * 6),
        # Three parallel axes: axis 6 parallel to them, and the arm stretched.
        (UR, [0.3, -1.2, 1.4, -1.0, 0.0, 0.2]),
        (UR, [0.3, -1.2, 1.4, -1.0, math.pi, 0.2]),
        (UR, [0.3, -1.2, 0.0, -1.0, -1.5, 0.2]),
        (UR, [0.0] * 6),
    ],
)
def test_a_singular_configuration_that_is_the_seed_is_kept(axes, q):
    robot, arm = arm_of_axes(axes)
    target = robot.forward_kinematics(q, 'tool')
    found = solutions(arm, q, target)
    assert_each_reaches(robot, 'tool', found, target)
    np.testing.assert_allclose(found[0], q, atol=SINGULAR)
    elsewhere = solutions(arm, np.add(q, 0.5), target)
    assert len(elsewhere) >= 1
    assert_each_reaches(robot, 'tool', elsewhere, target)


def test_a_pose_out_of_reach_has_no_branch():
    robot, arm = arm_of_axes(industrial(0.175))
    target = robot.forward_kinematics(np.zeros(6), 'tool')
    target[:3, 3] += 5.0
    found = analytic_solutions(arm, [0.0] * 6, target.tolist(), NEAR_ENOUGH)
    assert found['counts'] == [0.0, 0.0]


@examples(25)
@given(SEEDS)
def test_limits_take_branches_away_and_choose_the_turn(seed):
    rng = np.random.default_rng(seed)
    limit = rng.uniform(1.0, 2.5 * math.pi)
    robot, arm = arm_of_axes(industrial(0.175), seed, limit)
    _, free = arm_of_axes(industrial(0.175), seed)
    q, near = rng.uniform(-limit, limit, (2, 6))
    target = robot.forward_kinematics(q, 'tool')
    found = solutions(arm, near, target)
    assert np.all(np.abs(found) <= limit)
    assert_each_reaches(robot, 'tool', found, target)
    for row in solutions(free, near, target):
        # Some full turn of it is allowed where it is within the limits by itself.
        if np.all(np.abs(row) < limit - HERE):
            assert distance(found, row) < HERE
    if np.linalg.svd(robot.jacobian(q, 'tool'))[1][-1] > REGULAR:
        assert distance(found, q) < HERE


ARMS = {
    'ur5': ('tool0', ()),
    'kinova': ('j2s6s200_end_effector', ()),
    'panda': ('panda_link8', ('panda_joint7',)),
    'xarm7': ('link_eef', ('joint7',)),
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
    return closed_form_of(Problem(robot, target, frame, robot.neutral(), Options(**wishes)))


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
    # Shoulder left or right, elbow up or down, wrist flipped or not; nearest to the seed first.
    np.testing.assert_allclose(branches[0].q, q, atol=1e-4)
    assert_distinct(branches.q)
    assert_each_reaches(ur5, 'tool0', branches.q, target)
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
        problem = Problem(panda, target, 'panda_hand', q, Options(**wishes))
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
    text = urdf_of_axes(random_axes(rng, 'parallel_23'), rng)
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
