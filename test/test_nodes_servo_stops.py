"""cartesian_servo_node before a robot that this test plays: when it stops by itself, and why."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from ros_harness import client, description, running, tf2_for_nodes
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory

from dynamics_ros import Robot
from dynamics_ros.nodes.conversions import transform_stamped, twist_message

pytestmark = pytest.mark.ros

DOMAIN = 99
SERVO = '/cartesian_servo_node'
CAMERA = 'camera'

ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
SPEED = 0.05

# Looks down on the robot: its z is minus z of the root.
CAMERA_POSE = np.diag([1.0, -1.0, -1.0, 1.0])

PARAMETERS = {
    'robot_description': description(),
    # Nobody follows the commands here, and the posture is to make no difference.
    'following_tolerance': math.inf,
    'singularity': {'slow_condition': 1e6, 'stop_condition': 1e7},
}


class Play:
    """A robot that stands where it is, whatever the servo says, and somebody who leads it."""

    def __init__(self, ros, servo):
        self.ros, self.servo = ros, servo
        self.q = Q.copy()
        self.commands = ros.listen(JointTrajectory, f'{SERVO}/joint_trajectory', 100)
        self.statuses = ros.listen(DiagnosticStatus, f'{SERVO}/status', 100)
        self.twist, self.frame_id = [0.0, SPEED, 0.0, 0.0, 0.0, 0.0], ''

    def report(self):
        self.ros.publish_joint_state(self.ros.joint_state(NAMES, self.q, np.zeros(7)))

    def lead(self):
        message = TwistStamped(twist=twist_message(np.array(self.twist)))
        message.header.frame_id = self.frame_id
        self.ros.publish(f'{SERVO}/twist_command', message)

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

    def wait_for_status(self, words, meanwhile):
        """The next status with these words."""
        del self.statuses[:]
        return self.ros.wait_for(
            lambda: next((m for m in self.statuses if words in m.message), None),
            meanwhile=meanwhile,
        )

    def wait_for_stop(self, meanwhile):
        self.ros.wait_for(
            lambda: np.abs(self.commands[-1].points[0].velocities).max() < 1e-9,
            meanwhile=meanwhile,
        )

    def wait_for_velocity(self, expected, meanwhile):
        """Until the tip is sent so fast, in the root frame [m/s]."""

        def near():
            point = self.commands[-1].points[0]
            v = ROBOT.jacobian(np.array(point.positions), 'tool0')[:3] @ point.velocities
            return np.linalg.norm(v - expected) < 0.01 * SPEED

        self.ros.wait_for(lambda: self.commands and near(), meanwhile=meanwhile)


@contextmanager
def play(**parameters):
    with (
        tf2_for_nodes(),
        running('cartesian_servo_node', DOMAIN, PARAMETERS | parameters) as servo,
        client(DOMAIN) as ros,
    ):
        yield Play(ros, servo)


@pytest.fixture
def watched():
    """A twist in the frame of a camera."""
    with play(transform_timeout=0.5) as one:
        one.twist, one.frame_id = [0.0, 0.0, SPEED, 0.0, 0.0, 0.0], CAMERA
        yield one


def test_it_stops_when_joint_states_fail_to_come():
    with play() as one:
        one.wait_for_velocity([0.0, SPEED, 0.0], one.both)
        status = one.wait_for_status('joint states', one.lead)
        assert status.level == DiagnosticStatus.WARN
        one.wait_for_stop(one.lead)


def test_it_stops_when_the_robot_does_not_follow():
    with play(following_tolerance=0.05) as one:
        one.twist = [0.0, 0.2, 0.0, 0.0, 0.0, 0.0]
        one.wait_for_status('from where it was sent', one.both)


def test_it_stops_when_tf_is_lost_and_goes_on_when_it_is_back(watched):
    down = [0.0, 0.0, -SPEED]
    watched.wait_for_status('following twist_command', watched.all)
    watched.wait_for_velocity(down, watched.all)
    status = watched.wait_for_status('s old', watched.both)
    watched.wait_for_stop(watched.both)
    assert status.level == DiagnosticStatus.WARN
    assert CAMERA in status.message and '0.5 s' in status.message
    watched.wait_for_status('following twist_command', watched.all)
    watched.wait_for_velocity(down, watched.all)


def test_a_static_transform_has_no_age(watched):
    def all_static():
        watched.see(Time())
        watched.both()

    watched.wait_for_status('following twist_command', all_static)
    started = len(watched.commands)
    # At 200 Hz twice the time after which another would be lost.
    watched.ros.wait_for(lambda: len(watched.commands) > started + 200, meanwhile=watched.both)
    watched.wait_for_velocity([0.0, 0.0, -SPEED], watched.both)


def test_without_daqp_it_says_who_takes_its_place_and_keeps_to_limits(tmp_path, monkeypatch):
    (tmp_path / 'daqp.py').write_text("raise ImportError('not here')")
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}{os.pathsep}{os.environ.get("PYTHONPATH", "")}')
    with play() as one:
        one.q[-1] = ROBOT.upper_limits[-1] - 0.06
        one.twist, one.frame_id = [0.0, 0.0, 0.0, 0.0, 0.0, 0.5], 'tool0'
        one.wait_for_status('at the limit of', one.both)
        assert 'daqp is not installed (pip install daqp): SciPy solves' in one.servo.printed
