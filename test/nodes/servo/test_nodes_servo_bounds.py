# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cartesian_servo_node is told is limited or refused by name, however large it is."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from ros_harness import description, shared
from servo_harness import ROBOT, play

from dynamics_ros import Robot
from dynamics_ros.commanding.joints import check_speeds_bounded
from dynamics_ros.errors import InvalidArgumentError

pytestmark = pytest.mark.ros

DOMAIN = 202
FASTEST = 0.5
"""m/s that the frame may go by default."""

played = shared(play, DOMAIN)


def test_a_twist_beyond_the_largest_speed_is_scaled_and_told(played):
    played.twist = [0.0, 100.0, 0.0, 0.0, 0.0, 0.0]
    status = played.wait_for_status('at the largest speed', played.both)
    assert status.level == DiagnosticStatus.OK  # as with a joystick that is pushed to its end
    played.ros.wait_for(lambda: len(played.commands) > 100, meanwhile=played.both)
    for command in played.commands:
        point = command.points[0]
        v = ROBOT.jacobian(np.array(point.positions), 'tool0')[:3] @ point.velocities
        assert np.linalg.norm(v) < 1.05 * FASTEST


def test_a_joint_without_any_limit_of_speed_is_not_commanded():
    text = re.sub(r' velocity="[^"]*"', '', description(), count=1)
    robot = Robot.from_urdf(text)
    free = robot.joint_names[int(np.argmax(np.isinf(robot.velocity_limits)))]
    check_speeds_bounded(robot, robot.joint_names, 1.0)
    with pytest.raises(InvalidArgumentError, match=rf'speed\.joint.*{free!r}'):
        check_speeds_bounded(robot, robot.joint_names, math.inf)


def test_an_angle_that_its_driver_wraps_is_no_deviation():
    last = ROBOT.joint_names[-1]
    urdf = description().replace(
        f'<joint name="{last}" type="revolute">', f'<joint name="{last}" type="continuous">'
    )
    assert urdf != description()
    # A turn is more than that, and what a busy machine is behind is less.
    with play(DOMAIN + 1, robot_description=urdf, following_tolerance=3.0) as one:
        one.q[-1] = math.pi - 0.05
        one.twist, one.frame_id = [0.0, 0.0, 0.0, 0.0, 0.0, 0.3], 'tool0'

        def follow():
            """As a robot that is where it was sent, and wraps its angles."""
            if one.commands:
                sent = np.array(one.commands[-1].points[0].positions)
                one.q = (sent + np.pi) % (2.0 * np.pi) - np.pi
            one.both()

        one.wait_for_status('following', follow)
        del one.statuses[:]
        one.ros.wait_for(
            lambda: one.commands and abs(one.commands[-1].points[0].positions[-1]) > np.pi + 0.1,
            meanwhile=follow,
        )
        assert not any('from where it was sent' in m.message for m in one.statuses)
