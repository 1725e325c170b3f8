# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A commanding process that is stopped in motion and goes on later: no old command moves the robot.

What was sent while the process stood still waits in the middleware, and looks new when it is read.
"""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')

from impedance_harness import TOPIC, played_arm
from servo_harness import play
from std_msgs.msg import Float64MultiArray

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 218

HELD_UP = 1.5
"""Seconds, longer than any target stays fresh."""


@contextmanager
def stopped(process):
    """The process stands still in this block."""
    process.send(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send(signal.SIGCONT)


def pass_seconds(ros, seconds, meanwhile):
    """Time by the machine's clock, which goes on while a process is stopped."""
    end = time.monotonic() + seconds
    ros.wait_for(lambda: time.monotonic() > end, meanwhile=meanwhile, period=0.004)


def said(one):
    return [message.message for message in one.statuses]


def is_told(one):
    """The one or the other, by what is read first: a target of before, or joint states."""
    whys = 'held up', 'failed to come', 'stopped coming'
    return any(why in words for why in whys for words in said(one))


def followed(words):
    """Whether a target was, but for a step in the middle of which the process stopped."""
    return any('following' in one for one in words[1:])


@pytest.mark.parametrize('kind', ['trajectory', 'velocity'])
def test_a_servo_follows_nothing_that_was_sent_while_it_stood_still(kind):
    with play(DOMAIN, kind, command_timeout=1.0, joint_state_timeout=0.3) as one:
        one.wait_for_status('following twist_command', one.both)
        with stopped(one.servo):
            pass_seconds(one.ros, HELD_UP, one.both)
            # Before it goes on: all that it has to say may come before this process is next.
            del one.statuses[:], one.commands[:]
        # A busy machine may have kept this process from sending while the other stood still.
        waits = 'waiting for a command'
        one.ros.wait_for(lambda: is_told(one) or waits in one.status, meanwhile=one.report)
        pass_seconds(one.ros, 0.3, one.report)
        assert not followed(said(one))
        one.ros.wait_for(lambda: one.commands, meanwhile=one.report)
        one.wait_for_stop(one.report)
        # What comes from now on is followed.
        one.wait_until_led(one.both)


def test_an_arm_on_springs_follows_nothing_that_was_sent_while_its_node_stood_still():
    with played_arm(DOMAIN + 1, joint_state_timeout=0.1, command_timeout=2.0) as one:
        one.follow()
        one.hear(50, one.lead)
        with stopped(one.node):
            pass_seconds(one.ros, HELD_UP + 1.0, one.lead)
            del one.statuses[:], one.commands[:]
        # It brakes for half a second at most, as this arm never comes to rest.
        pass_seconds(one.ros, 1.5, one.report)
        assert is_told(one)
        assert not followed(said(one))
        one.assert_bounded(0.05)
        one.wait_until_led(one.lead, 0.004)


def test_torques_after_a_standstill_keep_to_their_rate_in_real_time():
    """The states that waited are answered at once, and motors do not go by their stamps."""
    rate, uneven = 20.0, 0.02
    with played_arm(DOMAIN + 1, **{'torque.max_rate': [rate]}) as one:
        one.follow()
        one.hear(50, one.lead)
        sent = []

        def hear(message, info):
            sent.append((1e-9 * info['source_timestamp'], np.array(message.data)))

        one.ros.node.create_subscription(Float64MultiArray, TOPIC, hear, 5000)
        one.ros.wait_for(lambda: len(sent) > 10, meanwhile=one.lead, period=0.004)
        with stopped(one.node):
            pass_seconds(one.ros, 0.6, one.lead)
        one.ros.wait_for(lambda: sent[-1][0] > sent[0][0] + 1.0, meanwhile=one.lead, period=0.004)
    times, torques = (np.array(column) for column in zip(*sent, strict=True))
    for k in range(len(times)):
        changes = np.abs(torques[k:] - torques[k]).max(axis=1)
        assert (changes <= rate * (times[k:] - times[k] + uneven)).all()
