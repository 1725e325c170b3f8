# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics where the answer is known by hand: small mechanisms, worked examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples

from dynamics_ros import Robot
from dynamics_ros.multibody.end_effector import pose_error

ARRIVED = 2e-5
"""Twice the default tolerance [m, rad]: errors of a joint are those of the frame over a lever."""

JOINT = """
  <joint name='{name}' type='{type}'>
    <parent link='{parent}'/><child link='{child}'/>
    <origin xyz='{xyz}'/><axis xyz='{axis}'/>{extra}
  </joint>"""


def urdf(*joints):
    """A serial robot: a joint is (name, type, xyz, axis, further elements)."""
    links = ["<link name='base'/>"]
    text = []
    parent = 'base'
    for name, kind, xyz, axis, extra in joints:
        child = f'{name}_link'
        links.append(
            f"<link name='{child}'><inertial><mass value='1'/>"
            "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        )
        text.append(
            JOINT.format(
                name=name, type=kind, parent=parent, child=child, xyz=xyz, axis=axis, extra=extra
            )
        )
        parent = child
    return f"<robot name='by_hand'>{''.join(links)}{''.join(text)}</robot>"


def limits(lower, upper):
    return f"<limit lower='{lower}' upper='{upper}' effort='1' velocity='1'/>"


def planar_arm(elbow):
    """Two links of 1 m and 0.5 m that turn about z; ``elbow`` limits the second."""
    return Robot.from_urdf(
        urdf(
            ('shoulder', 'revolute', '0 0 0', '0 0 1', limits(-3.1, 3.1)),
            ('elbow', 'revolute', '1 0 0', '0 0 1', limits(*elbow)),
            ('tip', 'fixed', '0.5 0 0', '0 0 1', ''),
        )
    )


def at(x, y, angle=0.0):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, 0], [0, 0, 0, 1.0]])


@pytest.mark.parametrize('elbow', [0.7, -0.7])
def test_the_posture_that_the_limits_allow_is_found(elbow):
    robot = planar_arm((0.1, 2.5) if elbow > 0 else (-2.5, -0.1))
    q = np.array([0.4, elbow])
    target = robot.forward_kinematics(q, 'tip_link')
    wrong_side = -q
    result = robot.inverse_kinematics(target, 'tip_link', wrong_side, position_only=True)
    assert result.success
    assert result.q == pytest.approx(q, abs=ARRIVED)


def test_a_target_behind_a_limit_is_not_claimed():
    robot = planar_arm((-0.5, 0.5))
    # Only elbow angles of about 1.8 rad bring the tip there.
    target = planar_arm((-2.5, 2.5)).forward_kinematics(np.array([0.2, 1.8]), 'tip_link')
    result = robot.inverse_kinematics(target, 'tip_link', position_only=True)
    assert not result.success
    # The closest place is at the limit, whose bend it can choose, in the target's direction.
    assert abs(result.q[1]) == pytest.approx(0.5)
    longest = np.hypot(1.0 + 0.5 * np.cos(0.5), 0.5 * np.sin(0.5))
    assert result.position_error == pytest.approx(longest - np.linalg.norm(target[:3, 3]), rel=1e-3)


def test_a_target_out_of_reach_is_told_with_the_closest_approach():
    robot = planar_arm((-2.5, 2.5))
    target = at(3.0, 4.0)
    results = [robot.inverse_kinematics(target, 'tip_link', position_only=True) for _ in range(5)]
    for result in results:
        assert result.reason == 'unreachable'
        assert not result.success
        assert result.q == pytest.approx([np.arctan2(4.0, 3.0), 0.0], abs=1e-3)
        # 5 m away, 1.5 m long.
        assert result.position_error == pytest.approx(3.5, rel=1e-6)
    # Half of the default timeout: it is not what ends the search. A busy machine may stop some.
    assert min(result.elapsed for result in results) < 0.05


def test_running_out_of_time_is_called_timed_out():
    robot = planar_arm((-2.5, 2.5))
    robot.inverse_kinematics(at(1.5, 0.0), 'tip_link')
    result = robot.inverse_kinematics(at(0.9, 0.6, 3.0), 'tip_link', timeout=1e-7)
    assert result.reason == 'timed_out'


def test_a_sliding_joint_has_no_turns():
    robot = Robot.from_urdf(
        urdf(
            ('slide', 'prismatic', '0 0 0', '1 0 0', limits(-20, 20)),
            ('turn', 'continuous', '0 0 0', '0 0 1', ''),
            ('tip', 'fixed', '0.5 0 0', '0 0 1', ''),
        )
    )
    result = robot.inverse_kinematics(
        at(12.0, 0.0), 'tip_link', [0.0, 6.0 * np.pi + 0.1], timeout=1.0
    )
    assert result.q == pytest.approx([11.5, 6.0 * np.pi], abs=ARRIVED)


def test_a_joint_that_others_follow_by_a_gear_is_not_turned_around():
    robot = Robot.from_urdf(
        urdf(
            ('leader', 'continuous', '0 0 0', '0 0 1', ''),
            (
                'follower',
                'continuous',
                '1 0 0',
                '0 0 1',
                "<mimic joint='leader' multiplier='0.5'/>",
            ),
            ('tip', 'fixed', '0.5 0 0', '0 0 1', ''),
        )
    )
    q = np.array([0.8])
    target = robot.forward_kinematics(q, 'tip_link')
    for seed in (q + 0.3, q + 2.0 * np.pi):
        result = robot.inverse_kinematics(target, 'tip_link', seed, timeout=1.0)
        assert result.success
        reached = robot.forward_kinematics(result.q, 'tip_link')
        assert reached == pytest.approx(target, abs=ARRIVED)


def three_rotations():
    """The arm of the worked examples: three joints about z, y, x in one point."""
    return Robot.from_urdf(
        urdf(
            ('z', 'revolute', '0 0 0', '0 0 1', limits(-3.2, 3.2)),
            ('y', 'revolute', '0 0 0', '0 1 0', limits(-3.2, 3.2)),
            ('x', 'revolute', '0 0 0', '1 0 0', limits(-3.2, 3.2)),
        )
    )


def test_worked_example_2_9_8_arrives_at_its_target():
    """[RD] example 2.9.8: from (-0.7, 0, 1.5) to (0.7, 1.5, -0.5), Euler angles z y x."""
    robot = three_rotations()
    z, y, x = goal = np.array([0.7, 1.5, -0.5])
    target = robot.forward_kinematics(goal, 'x_link')
    result = robot.inverse_kinematics(target, 'x_link', [-0.7, 0.0, 1.5], max_restarts=0)
    assert result.success
    # The two sets of Euler angles of one rotation. Near the singularity at y = pi/2 joint errors
    # are 1 / cos(1.5) = 14 times those of the frame.
    same = [goal, np.array([z - np.pi, np.pi - y, x + np.pi])]
    assert any(result.q == pytest.approx(angles, abs=20e-5) for angles in same)


def test_small_steps_along_the_error_turn_about_one_axis():
    """[RD] eq. 2.255: the way of the rotation vector is the shortest, about a fixed axis."""
    robot = three_rotations()
    target = robot.forward_kinematics([0.7, 0.4, -0.5], 'x_link')
    q = np.array([-0.7, 0.0, 1.5])
    first = pose_error(target, robot.forward_kinematics(q, 'x_link'))[3:]
    for _ in range(100):
        error = pose_error(target, robot.forward_kinematics(q, 'x_link'))[3:]
        # Steps of 1 % leave the axis by their curvature, some 1e-3 in all.
        assert error == pytest.approx(
            first * np.linalg.norm(error) / np.linalg.norm(first), abs=0.01
        )
        q = q + 0.01 * np.linalg.solve(robot.jacobian(q, 'x_link')[3:], error)
    assert np.linalg.norm(error) < 0.5 * np.linalg.norm(first)


# Rotation errors. 1e-12 absolute: a few operations on numbers of order one.
directions = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1)


def rotation_matrix(phi):
    """Rodrigues' formula, written for the test."""
    angle = np.linalg.norm(phi)
    x, y, z = phi / angle if angle > 0 else np.zeros(3)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + 2.0 * np.sin(angle / 2) ** 2 * K @ K


@examples(300)
@given(
    direction=directions,
    angle=st.one_of(st.floats(0.0, np.pi), st.floats(0.0, 1e-6), st.floats(np.pi - 1e-5, np.pi)),
)
def test_the_rotation_error_gives_the_rotation_back(direction, angle):
    axis = np.array(direction) / np.linalg.norm(direction)
    target = np.eye(4)
    target[:3, :3] = rotation_matrix(angle * axis)
    phi = pose_error(target, np.eye(4))[3:]
    assert np.linalg.norm(phi) <= np.pi + 1e-12
    if angle < np.pi - 1e-3:
        assert phi == pytest.approx(angle * axis, abs=1e-12)
    else:
        # At a half turn both signs are right.
        assert rotation_matrix(phi) == pytest.approx(rotation_matrix(angle * axis), abs=1e-12)
