# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity of the nodes, followed from an IMU on the base."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import qos_profile_sensor_data
from ros_harness import client, running
from sensor_msgs.msg import Imu, JointState

pytestmark = pytest.mark.ros

DOMAIN = 91
G = 9.81


WITH_IMU = ARM.replace(
    '</robot>',
    '<link name="imu"/><joint name="imu" type="fixed"><parent link="base_link"/><child link="imu"/>'
    '<origin rpy="0 0 1.5707963267948966"/></joint></robot>',
)

PARAMETERS = {
    'robot_description': WITH_IMU,
    'gravity_source': {'kind': 'imu', 'time_constant': 0.0, 'least_angle': 0.001},
}


@pytest.fixture(scope='module')
def ros():
    with running('dynamics_node', DOMAIN, PARAMETERS), client(DOMAIN) as one:
        torques = one.listen(JointState, '/dynamics_node/gravity_torques')
        one.exchange(one.joint_state(NAMES, Q, STILL, STILL), torques)
        yield one


def imu(ros, frame_id='', acceleration=None, tilt=None):
    """A reading at rest: the specific force, or the orientation of a base tilted about y."""
    message = Imu()
    message.header.stamp = ros.next_stamp()
    message.header.frame_id = frame_id
    message.orientation_covariance[0] = -1.0
    if acceleration is not None:
        vector = message.linear_acceleration
        vector.x, vector.y, vector.z = map(float, acceleration)
    if tilt is not None:
        message.orientation_covariance[0] = 0.0
        message.orientation.y, message.orientation.w = math.sin(tilt / 2), math.cos(tilt / 2)
    return message


def send(ros, message):
    ros.publish('/imu', message, qos_profile_sensor_data)


def tilted(angle):
    """Gravity in the axes of a base that is turned about its y by so much."""
    return G * np.array([math.sin(angle), 0.0, -math.cos(angle)])


@pytest.mark.parametrize(
    ('angle', 'reading'),
    [
        (0.3, {'acceleration': -tilted(0.3)}),
        (-0.5, {'acceleration': -1.02 * tilted(-0.5)}),
        (0.8, {'tilt': 0.8}),
        (0.2, {'frame_id': 'imu', 'acceleration': (0.0, G * np.sin(0.2), G * np.cos(0.2))}),
    ],
    ids=['at rest', 'a sensor that reads too much', 'orientation', 'turned'],
)
def test_gravity_torques_follow_the_tilt_of_the_base(ros, angle, reading):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    expected = ROBOT.with_gravity(tuple(tilted(angle))).gravity(Q)

    def tell():
        send(ros, imu(ros, **reading))
        ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, STILL))

    ros.wait_for(
        lambda: torques and np.allclose(torques[-1].effort, expected, atol=1e-9), meanwhile=tell
    )
    np.testing.assert_allclose(
        ros.get_parameter('dynamics_node', 'gravity'), tilted(angle), atol=1e-9
    )


def test_an_imu_that_joints_move_is_refused_and_named(ros):
    moving = ROBOT.body_names[2]
    ros.wait_for_status(
        'dynamics_node',
        'moved by joints',
        meanwhile=lambda: send(ros, imu(ros, moving, acceleration=(0.0, 0.0, G))),
    )
    ros.wait_for_status(
        'dynamics_node',
        'nose',
        meanwhile=lambda: send(ros, imu(ros, 'nose', acceleration=(0.0, 0.0, G))),
    )
    # The next good one is taken as if nothing had been.
    ros.wait_for_status(
        'dynamics_node',
        'publishing to',
        meanwhile=lambda: (
            send(ros, imu(ros, acceleration=(0.0, 0.0, G))),
            ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, STILL)),
        ),
    )


def test_a_base_that_moves_in_the_model_has_nothing_to_follow():
    with running('dynamics_node', DOMAIN, PARAMETERS | {'root_joint': 'floating'}) as process:
        assert process.wait() == 1
        assert 'gravity_source.kind' in process.printed


PAUSE = 0.5
"""A busy machine may stop a node for as long between two looks at clocks [s]."""


def lost_since(message):
    """When gravity was lost by the diagnostics [s]."""
    return float(re.search(r'gravity follows nothing since (\d+\.\d+) s: ', message)[1])


def test_an_imu_that_falls_silent_is_told_with_the_time_and_the_topic(ros):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    expected = ROBOT.with_gravity(tuple(tilted(0.4))).gravity(Q)

    def report():
        ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, STILL))

    def tell(reading=None):
        send(ros, imu(ros, acceleration=-tilted(0.4) if reading is None else reading))
        report()

    def follows():
        return torques and np.allclose(torques[-1].effort, expected, atol=1e-9)

    def now():
        return ros.node.get_clock().now().nanoseconds * 1e-9

    begun = now()
    ros.wait_for(follows, meanwhile=tell)
    silent = 'no message for 2 s: /imu has 1 publisher'
    status = ros.wait_for_status('dynamics_node', silent, meanwhile=report)
    assert status.level == DiagnosticStatus.ERROR
    lost = lost_since(status.message)
    assert begun < lost < 1e-9 * ros.reported_at('dynamics_node') - 2.0 + PAUSE
    assert follows()
    ros.wait_for_status('dynamics_node', 'publishing to', meanwhile=tell)
    # A sensor that tells its acceleration in g comes to nothing either.
    in_g = np.array([0.0, 0.0, 1.0])
    ros.wait_for_status('dynamics_node', 'is not about 9.81 m/s^2', meanwhile=lambda: tell(in_g))
    assert lost_since(ros.status('dynamics_node').message) > lost
    ros.wait_for_status('dynamics_node', 'publishing to', meanwhile=tell)
