# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics where the answer is known by hand, and single steps of it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.inverse_kinematics.step import DAMPING_FLOOR, inverse_kinematics_step
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
    timeout = 60.0  # it is not what ends the search
    result = robot.inverse_kinematics(target, 'tip_link', position_only=True, timeout=timeout)
    assert result.reason == 'unreachable'
    assert not result.success
    assert result.q == pytest.approx([np.arctan2(4.0, 3.0), 0.0], abs=1e-3)
    # 5 m away, 1.5 m long.
    assert result.position_error == pytest.approx(3.5, rel=1e-6)
    assert result.elapsed < timeout


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


@pytest.mark.parametrize('at_limit', [False, True])
@pytest.mark.parametrize('seed', range(3))
def test_a_step_is_damped_least_squares_of_the_joints_that_may_move(seed, at_limit):
    robot, tool, rng = Robot.from_urdf(urdf_path('ur5')), 'tool0', np.random.default_rng(seed)
    q = rng.uniform(-2.0, 2.0, 6)
    target = robot.forward_kinematics(q + rng.normal(scale=0.1, size=6), tool)
    error, J = pose_error(target, robot.forward_kinematics(q, tool)), robot.jacobian(q, tool)
    upper, moving = np.full(6, 100.0), np.full(6, True)
    if at_limit:  # of the joint that the error pushes most
        pushed = np.argmax(J.T @ error)
        upper[pushed], moving[pushed] = q[pushed], False
    joints = [x.tolist() for x in (-np.full(6, 100.0), upper, np.ones(6), np.ones(6), np.zeros(6))]
    problem = ([target.tolist()], joints, [[[1.0] * 6, [0.0] * 6]], 0.1, 0.0)
    step = inverse_kinematics_step(robot.model, [robot.model.frame(tool)], q.tolist(), *problem)
    # The primal form, while the step computes the dual one in other axes.
    A, expected = J[:, moving], np.zeros(6)
    damped = A.T @ A + (0.1 * error @ error + DAMPING_FLOOR) * np.eye(A.shape[1])
    expected[moving] = np.linalg.solve(damped, A.T @ error)
    longest = np.abs(expected).max()
    # Condition of the damped equations, some 1e3, times rounding.
    assert step.following - q == pytest.approx(expected / max(1.0, longest), abs=1e-11)
    squares = [error[:3] @ error[:3], error[3:] @ error[3:], error @ error, longest]
    assert step[:4] == pytest.approx(squares, rel=1e-9)


def test_without_a_seed_the_search_begins_in_the_middle_of_the_limits():
    robot = planar_arm((1.0, 2.0))
    result = robot.inverse_kinematics(robot.forward_kinematics([0.0, 1.5], 'tip_link'), 'tip_link')
    assert result.iterations == 0
    assert result.q == pytest.approx([0.0, 1.5])
