# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states as no robot should send them: the arm is braked, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from impedance_harness import NAMES, NODE, ROBOT, TOPIC, Arm
from ros_harness import client, description, running, stamp_of
from std_msgs.msg import Float64MultiArray

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 204

Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
TIMEOUT = 1.0
RATE = 400.0
"""Nm/s of the torques."""

PARAMETERS = {
    'robot_description': description(),
    'command_joints': NAMES,
    'joint_state_timeout': TIMEOUT,
    'command_timeout': 5.0,
    'torque.max_rate': [RATE],
    'joint_timeout': 30.0,
}


class Played(Arm):
    """An arm that moves in all joints for ever, as a test plays it."""

    def __init__(self, ros, node):
        self.ros, self.node = ros, node
        self.commands = ros.listen(Float64MultiArray, TOPIC, 5000)
        self.statuses = ros.listen(DiagnosticStatus, f'/{NODE}/status', 200)
        self.time = 0.0
        self.stamp = 10**12

    def message(self, names=NAMES, step=0.004):
        self.time += step
        self.stamp += round(step * 1e9)
        q = Q + 0.1 * np.sin(self.time)
        v = np.full(7, 0.1 * np.cos(self.time))
        places = [NAMES.index(name) for name in names]
        message = self.ros.joint_state(names, q[places], v[places], np.zeros(len(names)))
        message.header.stamp = stamp_of(self.stamp)
        return message

    def report(self, **changes):
        self.ros.publish_joint_state(self.message(**changes))

    def lead(self, **changes):
        self.report(**changes)
        self.lead_along([0, 0, 0.05, 0, 0, 0])

    def follow(self):
        """Have it follow a target at even joint states."""
        self.wait_for_status('following twist_command', self.lead, 0.004)
        del self.commands[:]

    def hear(self, count, meanwhile):
        """So many commands more."""
        before = len(self.commands)
        self.ros.wait_for(
            lambda: len(self.commands) > before + count, meanwhile=meanwhile, period=0.004
        )

    def told(self, words, meanwhile):
        return self.wait_for_status(words, meanwhile, 0.004)

    def assert_bounded(self, seconds=0.02):
        """Torques, and their change in what counts as so many seconds at most."""
        efforts = self.efforts
        assert len(efforts) > 3
        assert np.isfinite(efforts).all()
        assert (np.abs(efforts) <= ROBOT.effort_limits + 1e-9).all()
        assert np.abs(np.diff(efforts, axis=0)).max() <= RATE * seconds + 1e-6


@pytest.fixture(scope='module')
def played():
    with running(NODE, DOMAIN, PARAMETERS) as node, client(DOMAIN) as ros:
        one = Played(ros, node)
        one.told('holding', one.report)
        yield one


def test_joint_states_that_are_too_rare_for_springs_brake_the_arm(played):
    played.follow()
    played.told('braking: fewer than 40 joint states a second', lambda: played.lead(step=0.05))
    played.hear(10, lambda: played.lead(step=0.05))
    played.assert_bounded(0.05)
    played.told('following twist_command', played.lead)


def test_a_joint_that_is_told_of_no_more_brakes_the_arm(played):
    played.follow()
    others = [name for name in NAMES if name != NAMES[3]]
    played.told(f'braking: no news of {NAMES[3]}', lambda: played.lead(names=others))
    # However long it lasts, by what is reckoned of the joint.
    played.hear(200, lambda: played.lead(names=others))
    played.assert_bounded(0.05)
    played.told('following twist_command', played.lead)


def test_time_that_goes_back_and_forth_is_survived_within_bounds(played):
    played.follow()
    for jump in (-10.0, 100.0, -100.0, -0.3, 0.3, -3600.0):
        played.stamp += round(jump * 1e9)
        played.hear(100, played.lead)
    played.assert_bounded(0.05)
    played.told('following twist_command', played.lead)


def test_two_publishers_of_one_joint_a_delay_apart_brake_or_go_on_within_bounds(played):
    played.follow()
    late = []

    def both():
        message = played.message()
        late.append(message)
        played.ros.publish_joint_state(message)
        played.lead_along([0, 0, 0.05, 0, 0, 0])
        if len(late) > 100:
            played.ros.publish_joint_state(late.pop(0))

    played.hear(400, both)
    played.assert_bounded(0.05)


def test_who_else_commands_the_arm_is_told(played):
    rival = played.ros.node.create_publisher(Float64MultiArray, TOPIC, 10)
    status = played.told(f'another publisher on {TOPIC}', played.report)
    assert status.level != b'\0'
    played.ros.node.destroy_publisher(rival)
    del played.statuses[:]
    played.ros.wait_for(
        lambda: played.statuses and 'another' not in played.status,
        meanwhile=played.report,
        period=0.004,
    )


@pytest.mark.parametrize(
    'numbers',
    [
        [1e6] * 6,
        [-10.0] * 6,
        [float('nan')] * 6,
        [float('inf')] * 6,
        [],
        [400.0] * 5,
        [400.0 + i for i in range(36)],
    ],
    ids=['huge', 'negative', 'nan', 'inf', 'empty', 'five', 'asymmetric'],
)
def test_a_stiffness_that_makes_no_sense_is_refused(played, numbers):
    def ask():
        played.report()
        played.ros.publish(f'/{NODE}/stiffness_command', Float64MultiArray(data=numbers))

    played.told('stiffness_command refused', ask)
    played.hear(10, played.report)
    played.assert_bounded(0.1)
    sound = Float64MultiArray(data=[400.0, 400.0, 400.0, 10.0, 10.0, 10.0])
    del played.statuses[:]
    played.ros.wait_for(
        lambda: played.statuses and 'refused' not in played.status,
        meanwhile=lambda: (
            played.report(),
            played.ros.publish(f'/{NODE}/stiffness_command', sound),
        ),
        period=0.004,
    )
