# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity of the nodes, followed from an IMU on the base or from tf."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import qos_profile_sensor_data
from ros_harness import client, description, running, tf2_for_nodes
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu, JointState
from tf2_msgs.msg import TFMessage

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import transform_stamped

pytestmark = pytest.mark.ros

DOMAIN = 91
G = 9.81

ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
ZERO = np.zeros(ROBOT.nv)

PARAMETERS = {
    'robot_description': description(),
    'gravity_source': {'kind': 'imu', 'time_constant': 0.0, 'least_angle': 0.001},
}


@pytest.fixture(scope='module')
def ros():
    with running('dynamics_node', DOMAIN, PARAMETERS), client(DOMAIN) as one:
        torques = one.listen(JointState, '/dynamics_node/gravity_torques')
        one.exchange(one.joint_state(NAMES, Q, ZERO, ZERO), torques)
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
    ],
    ids=['at rest', 'a sensor that reads too much', 'orientation'],
)
def test_gravity_torques_follow_the_tilt_of_the_base(ros, angle, reading):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    expected = ROBOT.with_gravity(tuple(tilted(angle))).gravity(Q)

    def tell():
        send(ros, imu(ros, **reading))
        ros.publish_joint_state(ros.joint_state(NAMES, Q, ZERO, ZERO))

    ros.wait_for(
        lambda: torques and np.allclose(torques[-1].effort, expected, atol=1e-9), meanwhile=tell
    )
    np.testing.assert_allclose(ros.get_parameter('dynamics_node', 'gravity'), tilted(angle))


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
            ros.publish_joint_state(ros.joint_state(NAMES, Q, ZERO, ZERO)),
        ),
    )


def test_a_base_that_moves_in_the_model_has_nothing_to_follow():
    with running('dynamics_node', DOMAIN, PARAMETERS | {'root_joint': 'floating'}) as process:
        assert process.wait() == 1
        assert 'gravity_source.kind' in process.printed


def test_without_tf2_or_the_frame_the_reason_is_told():
    source, carried = {'kind': 'tf', 'level_frame': 'nowhere'}, ROBOT.gravity(Q)
    with (
        running('contact_node', DOMAIN, PARAMETERS | {'gravity_source': source}),
        client(DOMAIN) as one,
    ):
        one.wait_for(
            lambda: any(
                text in one.status('contact_node').message for text in ('tf2_ros', 'nowhere')
            ),
            meanwhile=lambda: one.publish_joint_state(one.joint_state(NAMES, Q, ZERO, carried)),
        )


PAUSE = 0.5
"""A busy machine may stop a node for as long between two looks at clocks [s]."""


def lost_since(message):
    """When gravity was lost by the diagnostics [s]."""
    return float(re.search(r'gravity follows nothing since (\d+\.\d+) s: ', message)[1])


def test_an_imu_that_falls_silent_is_told_with_the_time_and_the_topic(ros):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    expected = ROBOT.with_gravity(tuple(tilted(0.4))).gravity(Q)

    def report():
        ros.publish_joint_state(ros.joint_state(NAMES, Q, ZERO, ZERO))

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


def test_it_follows_tf_and_says_when_that_is_lost():
    source = {**PARAMETERS['gravity_source'], 'kind': 'tf', 'level_frame': 'world'}
    # A namespace of its own: the node of the other tests is still there, and has another gravity.
    name = 'tilting/dynamics_node'
    with (
        tf2_for_nodes(),
        running(
            'dynamics_node', DOMAIN, PARAMETERS | {'gravity_source': source}, namespace='/tilting'
        ) as process,
        client(DOMAIN) as one,
    ):
        torques = one.listen(JointState, f'/{name}/gravity_torques')
        tilt = np.eye(4)
        tilt[:3, :3] = Rotation.from_rotvec([0.0, 0.3, 0.0]).as_matrix()
        expected = ROBOT.with_gravity(tilted(0.3)).gravity(Q)
        stood = 0.0

        def report():
            one.publish_joint_state(one.joint_state(NAMES, Q, ZERO, ZERO), '/tilting/joint_states')

        def stand():
            nonlocal stood
            now = one.node.get_clock().now()
            stood = now.nanoseconds * 1e-9
            message = transform_stamped(now.to_msg(), 'world', ROBOT.root_frame, tilt)
            one.publish('/tf', TFMessage(transforms=[message]))
            report()

        def follows():
            return torques and np.allclose(torques[-1].effort, expected, atol=1e-6)

        one.wait_for(follows, meanwhile=stand)
        status = one.wait_for_status(name, 'which is older than 2 s', meanwhile=report)
        # A look found it young enough until then.
        assert lost_since(status.message) < stood + 2.0 + PAUSE
        assert follows()
        # However often it looks, the log has it once.
        logged = process.printed.count('gravity follows nothing')
        again = one.reported_at(name) + 10**9
        one.wait_for(lambda: one.reported_at(name) > again, meanwhile=report)
        assert process.printed.count('gravity follows nothing') == logged
        one.wait_for_status(name, 'publishing to', meanwhile=stand)


def test_a_tf_that_may_not_be_listened_to_is_told_and_harms_nothing_else():
    source = {**PARAMETERS['gravity_source'], 'kind': 'tf'}
    parameters = PARAMETERS | {'gravity_source': source}
    # A topic has one type: that of its first subscription, which is the one of joint states.
    remaps = {'/tf': '/deaf/joint_states'}
    with (
        tf2_for_nodes(),
        running('dynamics_node', DOMAIN, parameters, namespace='/deaf', remaps=remaps) as process,
        client(DOMAIN) as one,
    ):
        torques = one.listen(JointState, '/deaf/dynamics_node/gravity_torques')

        def report():
            one.publish_joint_state(one.joint_state(NAMES, Q, ZERO, ZERO), '/deaf/joint_states')

        told = 'gravity follows nothing yet: tf cannot be listened to: '
        one.wait_for_status('deaf/dynamics_node', told, meanwhile=report)
        one.wait_for(lambda: torques, meanwhile=report)
        np.testing.assert_allclose(torques[-1].effort, ROBOT.gravity(Q), atol=1e-9)
        assert 'a callback raised' not in process.printed
