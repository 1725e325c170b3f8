# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node under commands of every kind, as messages and as bytes."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, TwistStamped
from mutations import mutated_bytes
from rclpy.serialization import serialize_message
from servo_harness import SERVO, SPEED, play

from dynamics_ros.wire.conversions import fill

pytestmark = pytest.mark.ros

DOMAIN = 48
RATE, FASTEST, ACCELERATION = 200.0, 2.0, 10.0

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


@pytest.fixture(scope='module')
def led():
    with play(DOMAIN) as one:
        one.ros.wait_for(lambda: one.commands, meanwhile=one.both)
        yield one


def assert_sane(led):
    """It has sent nothing that a joint could not do, and goes on as if nothing had been."""
    v = np.array([m.points[0].velocities for m in led.commands])
    assert np.isfinite(v).all()
    assert np.abs(v).max() <= FASTEST + 1e-9
    assert np.isfinite([m.points[0].positions for m in led.commands]).all()
    steepest = max(ACCELERATION, FASTEST / 0.8) * 2.0 / RATE
    assert np.abs(np.diff(v, axis=0)).max() <= steepest + 1e-9
    led.twist = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0]
    led.wait_for_status('following twist_command', led.both)
    printed = led.servo.printed
    assert 'Traceback' not in printed and 'Warning' not in printed
    assert '\x1b' not in printed and 'rcutils' not in printed
    assert len(printed) < 50_000
    assert max(len(status.message) for status in led.statuses) < 2000


@pytest.mark.parametrize('as_bytes', [False, True])
def test_commands_of_any_numbers_frames_and_bytes(led, as_bytes):
    chance, sent = random.Random(1), [0]
    led.ros.publish(f'{SERVO}/pose_command', PoseStamped())  # has the publisher, with its type

    def send():
        for topic, kind in (('twist_command', TwistStamped), ('pose_command', PoseStamped)):
            message = any_message(chance, kind)
            if as_bytes:
                message = mutated_bytes(serialize_message(message), chance)
            led.ros.publish(f'{SERVO}/{topic}', message)
        sent[0] += 1
        led.report()

    led.ros.wait_for(lambda: sent[0] >= 300, meanwhile=send, period=0.002)
    assert_sane(led)
