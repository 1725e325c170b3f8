# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cartesian_servo_node is sent, as messages and bytes, is limited or refused by name."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy')

import random

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from mutations import mutated_bytes
from rclpy.serialization import serialize_message
from ros_harness import description, shared
from servo_harness import ROBOT, SERVO, SPEED, play

from dynamics_ros import Robot
from dynamics_ros.commanding.joints import check_speeds_bounded
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.wire.conversions import fill

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


RATE, JOINT_SPEED, ACCELERATION = 200.0, 2.0, 10.0

NUMBERS = [
    *(0.0, -0.0, 1e-320, 1e-9, -0.05, 0.05, 0.5, 1.0, -1.0, 10.0, 1e9, -1e154, 1e200),
    *(1e308, -1.7e308, math.nan, math.inf, -math.inf),
]
FORGED = '\x1b[2J\x07\n[ERROR] forged'
FRAMES = ['', 'tool0', 'base_link', 'nowhere', FORGED, '/', 'ä' * 300, 'x' * 10**6]


def any_message(chance, kind):
    """A twist or a pose of any numbers, in any frame."""
    message = kind()
    header = message.header
    header.frame_id = chance.choice(FRAMES[: 7 if chance.random() < 0.95 else 8])
    header.stamp.sec = chance.choice([0, 1, -(2**31), 2**31 - 1])
    header.stamp.nanosec = chance.choice([0, 999_999_999, 2**32 - 1])
    if kind is TwistStamped:
        fill(message.twist, [chance.choice(NUMBERS) for _ in range(6)])
    else:
        turn = np.array([chance.gauss(0.0, 1.0) for _ in range(4)])
        turn = turn / np.linalg.norm(turn)
        if chance.random() < 0.5:
            turn = [chance.choice(NUMBERS) for _ in range(4)]
        fill(message.pose, [*(chance.choice(NUMBERS) for _ in range(3)), *turn])
    return message


def assert_sane(played):
    """It has sent nothing that a joint could not do, and goes on as if nothing had been."""
    v = np.array([m.points[0].velocities for m in played.commands])
    assert np.isfinite(v).all()
    assert np.abs(v).max() <= JOINT_SPEED + 1e-9
    assert np.isfinite([m.points[0].positions for m in played.commands]).all()
    steepest = max(ACCELERATION, JOINT_SPEED / 0.8) * 2.0 / RATE
    assert np.abs(np.diff(v, axis=0)).max() <= steepest + 1e-9
    played.twist = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
    played.wait_for_status('following twist_command', played.both)
    printed = played.servo.printed
    assert 'Traceback' not in printed and 'Warning' not in printed
    assert '\x1b' not in printed and 'rcutils' not in printed
    assert len(printed) < 50_000
    assert max(len(status.message) for status in played.statuses) < 2000


@pytest.mark.parametrize('as_bytes', [False, True])
def test_commands_of_any_numbers_frames_and_bytes(played, as_bytes):
    if played.lifecycle == 'inactive':  # handed over, since nobody reports states between tests
        assert played.change('activate')
    played.ros.wait_for(lambda: played.commands, meanwhile=played.both)
    chance, sent = random.Random(1), [0]
    played.ros.publish(f'{SERVO}/pose_command', PoseStamped())  # has the publisher, with its type

    def send():
        for topic, kind in (('twist_command', TwistStamped), ('pose_command', PoseStamped)):
            message = any_message(chance, kind)
            if as_bytes:
                message = mutated_bytes(serialize_message(message), chance)
            played.ros.publish(f'{SERVO}/{topic}', message)
        sent[0] += 1
        played.report()

    played.ros.wait_for(lambda: sent[0] >= 300, meanwhile=send, period=0.002)
    assert_sane(played)
