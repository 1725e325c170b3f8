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

pytestmark = pytest.mark.ros

DOMAIN = 48
RATE, FASTEST, ACCELERATION = 200.0, 2.0, 10.0

NUMBERS = [
    *(0.0, -0.0, 1e-320, 1e-9, -0.05, 0.05, 0.5, 1.0, -1.0, 10.0, 1e9, -1e154, 1e200),
    *(1e308, -1.7e308, math.nan, math.inf, -math.inf),
]
FORGED = '\x1b[2J\x07\n[ERROR] forged'
FRAMES = ['', 'tool0', 'base_link', 'nowhere', FORGED, '/', 'ä' * 300, 'x' * 10**6]


class Fuzz:
    """Messages that may be anything; the same ones for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self):
        return self.random.choice(NUMBERS)

    def fill(self, message, *fields):
        for field in fields:
            setattr(message, field, self.number())

    def header(self, header):
        header.frame_id = self.random.choice(FRAMES[: 7 if self.random.random() < 0.95 else 8])
        header.stamp.sec = self.random.choice([0, 1, -(2**31), 2**31 - 1])
        header.stamp.nanosec = self.random.choice([0, 999_999_999, 2**32 - 1])

    def twist(self):
        message = TwistStamped()
        self.header(message.header)
        self.fill(message.twist.linear, 'x', 'y', 'z')
        self.fill(message.twist.angular, 'x', 'y', 'z')
        return message

    def pose(self):
        message = PoseStamped()
        self.header(message.header)
        self.fill(message.pose.position, 'x', 'y', 'z')
        self.fill(message.pose.orientation, 'x', 'y', 'z', 'w')
        if self.random.random() < 0.5:
            turn = np.array([self.random.gauss(0.0, 1.0) for _ in range(4)])
            orientation = message.pose.orientation
            orientation.x, orientation.y, orientation.z, orientation.w = turn / np.linalg.norm(turn)
        return message

    def mutated(self, message):
        return mutated_bytes(serialize_message(message), self.random)


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


def send(led, make, count):
    """So many commands of each kind, with joint states between them."""
    sent = [0]

    def step():
        for topic, message in make():
            led.ros.publish(f'{SERVO}/{topic}', message)
        sent[0] += 1
        led.report()

    led.ros.wait_for(lambda: sent[0] >= count, meanwhile=step, period=0.002)


def test_messages_of_any_numbers_and_frames(led):
    fuzz = Fuzz(1)
    send(led, lambda: [('twist_command', fuzz.twist())], 200)
    send(led, lambda: [('twist_command', fuzz.twist()), ('pose_command', fuzz.pose())], 300)
    assert_sane(led)


def test_bytes_that_are_no_message(led):
    fuzz = Fuzz(2)

    def make():
        return [
            ('twist_command', fuzz.mutated(fuzz.twist())),
            ('pose_command', fuzz.mutated(fuzz.pose())),
        ]

    led.ros.publish(f'{SERVO}/pose_command', fuzz.pose())  # has the publisher, with its type
    send(led, make, 300)
    assert_sane(led)
