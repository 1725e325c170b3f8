# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed forms of inverse kinematics: recognized, every branch, exact, singular ones too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from random_robots import SEEDS, random_robot
from six_axis_arms import KINDS, random_axes, urdf_of_axes

from dynamics_ros import Robot
from dynamics_ros.algorithms.inverse_kinematics.six_axis_geometry import Geometry
from dynamics_ros.algorithms.inverse_kinematics.solutions import analytic_solutions, solvable_arm

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
@given(SEEDS, st.sampled_from(KINDS), st.booleans())
def test_a_random_arm_is_recognized_and_the_positions_of_a_pose_are_found_again(
    seed, kind, inverted
):
    rng = np.random.default_rng(seed)
    axes = random_axes(rng, *kind)
    robot, arm = arm_of_axes(axes[::-1] if inverted else axes, seed)
    assert arm.geometry == Geometry(inverted, *kind)
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
    axes = random_axes(rng, 'spherical', 'skew')
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


@pytest.mark.parametrize(('shoulder', 'side'), [(0.0, 0.15), (0.175, 0.0), (0.175, 0.1)])
def test_arms_of_industry_have_eight_branches_in_reach(shoulder, side):
    robot, arm = arm_of_axes(industrial(shoulder, side=side))
    assert arm.geometry.family == 'spherical'
    q = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    target = robot.forward_kinematics(q, 'tool')
    found = solutions(arm, q, target)
    assert len(found) == 8
    np.testing.assert_array_equal(found[0], q)
    assert_each_reaches(robot, 'tool', found, target)


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
