# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""impedance_controller_node before the simulated arm, and a test that hears what both say."""

from __future__ import annotations

import time
from contextlib import contextmanager

import numpy as np
from arm import ARM, NAMES, ROBOT, Q
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from ros_harness import Managed, client, running, stamp_of
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from dynamics_ros.wire.conversions import fill, pose_message

NODE = 'impedance_controller_node'
TOPIC = f'/{NODE}/joint_commands'
TOOL = 'tool0'
RATE, SPEED = 500.0, 0.25
"""Joint states a simulated second, and how slowly that goes: torques that come late on a busy
machine are another arm's."""

TORQUE_RATE = 400.0
"""Nm/s, where a test bounds it."""

AT_REST = 0.01
"""rad/s."""

TRIES = 60
"""Times that something is tried before a machine that disturbs it fails the test."""

PARAMETERS = {'command_joints': NAMES, 'command_timeout': 5.0, 'joint_state_timeout': 5.0}


class Arm(Managed):
    """A simulated arm that is moved by the node, and what a test does with it."""

    full_name = f'/{NODE}'

    def __init__(self, ros, node, simulator):
        self.ros, self.node, self.simulator = ros, node, simulator
        self.start = 0.8
        self.commands = ros.listen(Float64MultiArray, TOPIC, 5000)
        self.statuses = ros.listen(DiagnosticStatus, f'/{NODE}/status', 200)
        self.states = []
        self.published = 0
        ros.node.create_subscription(JointState, '/joint_states', self._hear_state, 5000)

    def _hear_state(self, message, info):
        self.states.append(message)
        self.published = info['source_timestamp']

    @property
    def q(self):
        return np.array(self.states[-1].position)

    @property
    def v(self):
        return np.array(self.states[-1].velocity)

    @property
    def pose(self):
        return ROBOT.forward_kinematics(self.q, TOOL)

    @property
    def efforts(self):
        """(m, n) that have been commanded."""
        return np.array([message.data for message in self.commands])

    def pass_time(self, seconds, meanwhile=None):
        """Until the arm has lived so long; what it said before that is forgotten."""
        self.catch_up(meanwhile)
        self.ros.wait_for(lambda: len(self.states) > seconds * RATE, meanwhile=meanwhile)

    def catch_up(self, meanwhile=None):
        """Forget all states that the arm had published by now, be they read or still waiting."""
        now = time.time_ns()
        self.ros.wait_for(lambda: self.published > now, meanwhile=meanwhile)
        del self.states[:-1]

    def come_to_rest(self):
        """Until the arm has stood for 0.1 of its seconds."""
        count = int(0.1 * RATE)
        self.catch_up()
        self.ros.wait_for(
            lambda: (
                len(self.states) > count
                and np.abs([state.velocity for state in self.states[-count:]]).max() < AT_REST
            )
        )

    def undisturbed(self, act, status='holding'):
        """What is done, and what comes of it, while the node is answering all the time.

        A busy machine may stop one of the processes: the arm is braked then, as it should be.
        """
        for _ in range(TRIES):
            del self.statuses[:]
            found = act()
            # They fail to come, or are answered too rarely.
            if not any(': ' in m.message and 'joint states' in m.message for m in self.statuses):
                return found
            self.wait_for_status(status)
        raise AssertionError(f'disturbed {TRIES} times')

    def lead_to(self, pose, frame_id=''):
        message = PoseStamped(pose=pose_message(pose))
        message.header.frame_id = frame_id
        self.ros.publish(f'/{NODE}/pose_command', message)

    def lead_along(self, twist, frame_id=''):
        message = fill(TwistStamped(), twist)
        message.header.frame_id = frame_id
        self.ros.publish(f'/{NODE}/twist_command', message)

    def get_going(self, speed=0.1):
        """Lead the tool upward until it moves."""
        self.ros.wait_for(
            lambda: self.states and np.abs(self.v).max() > 0.05,
            meanwhile=lambda: self.lead_along([0, 0, speed, 0, 0, 0]),
        )

    def ends_commanding(self, meanwhile=None):
        """Whether nothing more comes for 0.1 s, once what was on its way has come."""
        for _ in range(TRIES):
            count, end = len(self.commands), time.monotonic() + 0.1
            over = lambda end=end: time.monotonic() > end  # noqa: E731
            self.ros.wait_for(over, meanwhile=meanwhile, period=0.004)
            if len(self.commands) == count:
                return True
        return False

    def assert_bounded(self, seconds=0.05):
        """Torques, and their change in what counts as so many seconds at most."""
        efforts = self.efforts
        assert len(efforts) > 3
        assert np.isfinite(efforts).all()
        assert (np.abs(efforts) <= ROBOT.effort_limits + 1e-9).all()
        assert np.abs(np.diff(efforts, axis=0)).max() <= TORQUE_RATE * seconds + 1e-6


@contextmanager
def arm(domain, *, name=NODE, status='holding', **parameters):
    """The node with these parameters, and the simulated arm, standing still.

    Args:
        domain: of ROS.
        name: of the executable, or path of a script that runs the node.
        status: what it says then.
        parameters: beside ``PARAMETERS``.
    """
    with (
        running(
            'robot_simulator',
            domain,
            {'motion': False, 'joint_state_rate': RATE, 'speed': SPEED},
            remaps={'robot_simulator/forward_effort_commands': TOPIC},
        ) as simulator,
        running(name, domain, {**PARAMETERS, 'autostart': True, **parameters}) as node,
        client(domain, infos=True) as ros,
    ):
        one = Arm(ros, node, simulator)
        ros.wait_for(lambda: one.states)
        one.wait_for_status(status)
        yield one


# --- an arm whose joint states a test plays -----------------------------------------------------

TIMEOUT = 1.0
PLAYED = {
    'robot_description': ARM,
    'command_joints': NAMES,
    'joint_state_timeout': TIMEOUT,
    'command_timeout': 5.0,
    'torque.max_rate': [TORQUE_RATE],
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
        """Have it follow a target at even joint states, also after nobody reported any for long."""
        self.wait_until_led(self.lead, 0.004)
        del self.commands[:]

    def hear(self, count, meanwhile):
        """So many commands more."""
        before = len(self.commands)
        self.ros.wait_for(
            lambda: len(self.commands) > before + count, meanwhile=meanwhile, period=0.004
        )

    def live(self, count, meanwhile):
        """Report so many joint states, be they answered or not."""
        sent = []
        self.ros.wait_for(
            lambda: len(sent) >= count, meanwhile=lambda: sent.append(meanwhile()), period=0.004
        )

    def told(self, words, meanwhile):
        return self.wait_for_status(words, meanwhile, 0.004)


@contextmanager
def played_arm(domain, *, middle=Q, wraps=False, **parameters):
    """The node with these parameters beside ``PLAYED``, holding the arm.

    Args:
        domain: of ROS.
        middle: (7) that it moves around.
        wraps: whether angles are told from -pi to pi.
        parameters: of the node.
    """
    with (
        running(NODE, domain, {**PLAYED, **parameters}) as node,
        client(domain, infos=True) as ros,
    ):
        one = PlayedArm(ros, node)
        one.middle, one.wraps = middle, wraps
        one.told('holding', one.report)
        yield one
