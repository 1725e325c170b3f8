# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""impedance_controller_node before an arm whose joint states a test plays."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from impedance_harness import NAMES, NODE, ROBOT, TOPIC, Arm
from ros_harness import client, description, running, stamp_of
from std_msgs.msg import Float64MultiArray

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


class PlayedArm(Arm):
    """An arm that moves in all joints for ever, as a test plays it."""

    def __init__(self, ros, node):
        self.ros, self.node = ros, node
        self.middle, self.wraps, self.stands = Q, False, False
        self.commands = ros.listen(Float64MultiArray, TOPIC, 5000)
        self.statuses = ros.listen(DiagnosticStatus, f'/{NODE}/status', 200)
        self.time = 0.0
        self.stamp = 10**12

    def message(self, names=NAMES, step=0.004):
        self.time += 0.0 if self.stands else step
        self.stamp += round(step * 1e9)
        q = self.middle + 0.1 * np.sin(self.time)
        v = np.full(7, 0.1 * np.cos(self.time))
        places = [NAMES.index(name) for name in names]
        if self.wraps:
            q = (q + np.pi) % (2.0 * np.pi) - np.pi
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


@contextmanager
def played_arm(domain, *, middle=Q, wraps=False, **parameters):
    """The node with these parameters beside ``PARAMETERS``, holding the arm.

    Args:
        domain: of ROS.
        middle: (7) that it moves around.
        wraps: whether angles are told from -pi to pi.
        parameters: of the node.
    """
    with (
        running(NODE, domain, {**PARAMETERS, **parameters}) as node,
        client(domain, infos=True) as ros,
    ):
        one = PlayedArm(ros, node)
        one.middle, one.wraps = middle, wraps
        one.told('holding', one.report)
        yield one
