"""cartesian_servo_node told in a frame of tf: it goes on while tf does, and stops without it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from numpy.testing import assert_allclose
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

# Looks down on the robot: its z is minus z of the root.
CAMERA_POSE = np.diag([1.0, -1.0, -1.0, 1.0])
SPEED = 0.05

PARAMETERS = {
    'robot_description': description(),
    'transform_timeout': 0.5,
    # Nobody follows the commands here, and the posture is to make no difference.
    'following_tolerance': float('inf'),
    'singularity': {'slow_condition': 1e6, 'stop_condition': 1e7},
}


class Camera:
    """A robot that stands, a twist in the frame of a camera, and a tf that may be lost."""

    def __init__(self, ros):
        self.ros = ros
        self.commands = ros.listen(JointTrajectory, f'{SERVO}/joint_trajectory', 100)
        self.statuses = ros.listen(DiagnosticStatus, f'{SERVO}/status', 100)

    def see(self, stamp=None):
        if stamp is None:
            stamp = self.ros.node.get_clock().now().to_msg()
        root = ROBOT.root_frame
        self.ros.publish(
            '/tf', TFMessage(transforms=[transform_stamped(stamp, root, CAMERA, CAMERA_POSE)])
        )

    def lead(self):
        self.ros.publish_joint_state(self.ros.joint_state(NAMES, Q, np.zeros(7)))
        message = TwistStamped(twist=twist_message(np.array([0.0, 0.0, SPEED, 0.0, 0.0, 0.0])))
        message.header.frame_id = CAMERA
        self.ros.publish(f'{SERVO}/twist_command', message)

    def wait_for_status(self, words, meanwhile):
        del self.statuses[:]
        self.ros.wait_for(
            lambda: self.statuses and words in self.statuses[-1].message, meanwhile=meanwhile
        )

    def speed(self):
        """Of the tip in the root frame, as the newest command has it [m/s]."""
        point = self.commands[-1].points[0]
        return ROBOT.jacobian(np.array(point.positions), 'tool0')[:3] @ point.velocities


@pytest.fixture
def camera():
    with (
        tf2_for_nodes(),
        running('cartesian_servo_node', DOMAIN, PARAMETERS),
        client(DOMAIN) as ros,
    ):
        yield Camera(ros)


def test_it_stops_when_tf_is_lost_and_goes_on_when_it_is_back(camera):
    def both():
        camera.see()
        camera.lead()

    camera.wait_for_status('following twist_command', both)
    camera.ros.wait_for(lambda: camera.speed()[2] < -0.99 * SPEED, meanwhile=both)
    assert_allclose(camera.speed(), [0.0, 0.0, -SPEED], atol=0.01 * SPEED)
    camera.wait_for_status('s old', camera.lead)
    camera.ros.wait_for(
        lambda: np.abs(camera.commands[-1].points[0].velocities).max() < 1e-9,
        meanwhile=camera.lead,
    )
    status = camera.statuses[-1]
    assert status.level == DiagnosticStatus.WARN
    assert CAMERA in status.message and '0.5 s' in status.message
    camera.wait_for_status('following twist_command', both)
    camera.ros.wait_for(lambda: camera.speed()[2] < -0.99 * SPEED, meanwhile=both)


def test_a_static_transform_has_no_age(camera):
    def both():
        camera.see(Time())
        camera.lead()

    camera.wait_for_status('following twist_command', both)
    started = len(camera.commands)
    # At 200 Hz twice the time after which another would be lost.
    camera.ros.wait_for(lambda: len(camera.commands) > started + 200, meanwhile=camera.lead)
    assert_allclose(camera.speed(), [0.0, 0.0, -SPEED], atol=0.01 * SPEED)
