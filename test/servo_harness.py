# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node before a robot that a test plays, seen from the end of the controller."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager

import numpy as np
from arm import ARM, NAMES, ROBOT, Q
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from ros_harness import Managed, client, running, tf2_for_nodes
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.wire.conversions import fill, transform_stamped

SERVO = '/cartesian_servo_node'
CAMERA = 'camera'

SPEED = 0.05

# Looks down on the robot: its z is minus z of the root.
CAMERA_POSE = np.diag([1.0, -1.0, -1.0, 1.0])

PARAMETERS = {
    'robot_description': ARM,
    # Nobody follows the commands here, and the posture is to make no difference.
    'following_tolerance': math.inf,
    # A test that computes for a while, or waits for another process, publishes no states.
    'joint_state_timeout': 10.0,
    'singularity': {'slow_condition': 1e6, 'stop_condition': 1e7},
}

HOLD, MOST = 0.25, 0.02
"""Seconds for which a robot goes on at a velocity that is sent no more, in all and by a report."""

TOPICS = {
    'trajectory': (JointTrajectory, 'joint_trajectory'),
    'position': (Float64MultiArray, 'joint_commands'),
    'velocity': (Float64MultiArray, 'joint_commands'),
}


class Play(Managed):
    """A robot that stands where it is, whatever the servo says, and somebody who leads it."""

    def __init__(self, ros, servo, kind='trajectory', node=SERVO):
        self.ros, self.servo, self.kind, self.node = ros, servo, kind, node
        self.q = Q.copy()
        message, topic = TOPICS[kind]
        self.commands = self._listen(message, f'{node}/{topic}')
        self.statuses = ros.listen(DiagnosticStatus, f'{node}/status', 100)
        self.twist, self.frame_id = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0], ''

    def _listen(self, kind, topic):
        return self.ros.listen(kind, topic, 1000)

    def report(self):
        self.ros.publish_joint_state(self.ros.joint_state(NAMES, self.q, np.zeros(7)))

    def lead(self):
        message = fill(TwistStamped(), self.twist)
        message.header.frame_id = self.frame_id
        self.ros.publish(f'{self.node}/twist_command', message)

    def both(self):
        self.report()
        self.lead()

    def see(self, stamp=None):
        """Tell tf where the camera is, now unless a stamp is given."""
        if stamp is None:
            stamp = self.ros.node.get_clock().now().to_msg()
        camera = transform_stamped(stamp, ROBOT.root_frame, CAMERA, CAMERA_POSE)
        self.ros.publish('/tf', TFMessage(transforms=[camera]))

    def all(self):
        self.see()
        self.both()

    @property
    def full_name(self):
        return self.node

    @property
    def velocity(self):
        """The last command's: of the joints, where the interface tells it."""
        if self.kind == 'trajectory':
            return np.array(self.commands[-1].points[0].velocities)
        return np.array(self.commands[-1].data)

    def pass_time(self, seconds, meanwhile):
        end = time.monotonic() + seconds
        self.ros.wait_for(lambda: time.monotonic() > end, meanwhile=meanwhile, period=0.002)

    def wait_for_stop(self, meanwhile):
        self.ros.wait_for(lambda: np.abs(self.velocity).max() < 1e-9, meanwhile=meanwhile)

    def wait_for_velocity(self, expected, meanwhile):
        """Until the tip is sent so fast, in the root frame [m/s]."""

        def near():
            point = self.commands[-1].points[0]
            v = ROBOT.jacobian(np.array(point.positions), 'tool0')[:3] @ point.velocities
            return np.linalg.norm(v - expected) < 0.01 * SPEED

        self.ros.wait_for(lambda: self.commands and near(), meanwhile=meanwhile)


class MovingPlay(Play):
    """A robot whose joints move as they are commanded, whatever it reports.

    Attributes:
        gain: share of a commanded velocity at which the joints move; -1 for the wrong sign.
        report_of: the positions that it reports for those that it has; the last ones where it
            returns None.
        path: true positions, one row a step.
        time: up to which it has moved [s].
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.gain, self.report_of, self.path = 1.0, lambda q: q, []
        self.time, self._reported = time.time(), self.q
        self._sent, self._holds = np.zeros(7), 0.0

    def _listen(self, kind, topic):
        if self.kind != 'velocity':
            return super()._listen(kind, topic)
        commands = []

        def obey(message, info):
            """Move at a velocity from when it was sent, whenever this process reads it."""
            sent = 1e-9 * info['source_timestamp']
            self._go(sent)
            self._sent, self._holds = np.array(message.data), sent + HOLD
            commands.append(message)

        self.ros.node.create_subscription(kind, topic, obey, 1000)
        return commands

    def _go(self, until):
        dt = min(until, self._holds) - min(self.time, self._holds)
        self.q, self.time = self.q + self.gain * dt * self._sent, until

    def move(self):
        now = time.time()
        if self.kind == 'velocity':
            # If this process was held up, newer velocities wait to be read.
            self._go(max(self.time, min(now, self.time + MOST)))
        else:
            dt, self.time = now - self.time, now
        if self.commands and self.kind != 'velocity':
            last = self.commands[-1]
            sent = np.array(last.data if self.kind == 'position' else last.points[0].positions)
            most = 4.0 * dt
            self.q = self.q + np.clip(self.gain * (sent - self.q), -most, most)
        self.path.append(self.q)
        del self.commands[:-50]

    @property
    def stopped(self):
        """Whether the last commands were a stop."""
        if self.kind == 'position':
            return not np.diff([m.data for m in self.commands[-5:]], axis=0).any()
        return not self.velocity.any()

    def report(self):
        self.move()
        reported = self.report_of(self.q)
        self._reported = self._reported if reported is None else reported
        self.ros.publish_joint_state(self.ros.joint_state(NAMES, self._reported))


@contextmanager
def play(domain, kind='trajectory', *, name='cartesian_servo_node', robot=Play, **parameters):
    """The servo with these parameters, on an interface, before a robot that is played.

    Args:
        domain: of ROS.
        kind: command_type.
        name: of the executable, or path of a script that runs the node.
        robot: the class of what is played.
        parameters: beside ``PARAMETERS``; a value None leaves one of those out.
    """
    given = {'command_type': kind, **PARAMETERS, **parameters}
    if kind != 'trajectory':
        given.setdefault('command_joints', NAMES)
    given = {name: value for name, value in given.items() if value is not None}
    infos = kind == 'velocity' and issubclass(robot, MovingPlay)
    with tf2_for_nodes(), running(name, domain, given) as servo, client(domain, infos=infos) as ros:
        yield robot(ros, servo, kind)
