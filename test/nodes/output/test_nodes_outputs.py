# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Outputs: their quality of service can be overridden, and markers of former frames go away."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from ros_harness import LATCHED, running
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import SetPayload

pytestmark = pytest.mark.ros

DOMAIN = 78
ZERO = [0.0] * ROBOT.nv
POSE = '/kinematics_node/tool0/pose'


def quality(ros, topic):
    (publisher,) = ros.wait_for(lambda: ros.node.get_publishers_info_by_topic(topic))
    return publisher.qos_profile


def test_an_output_takes_its_quality_of_service_from_parameters(ros):
    parameters = {
        'robot_description': ARM,
        'frames': ['tool0', 'flange_link'],
        f'qos_overrides.{POSE}.publisher.durability': 'transient_local',
        f'qos_overrides.{POSE}.publisher.reliability': 'reliable',
        'qos_overrides./kinematics_node/markers.publisher.reliability': 'best_effort',
    }
    with running('kinematics_node', DOMAIN, parameters) as process:
        assert quality(ros, POSE).durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert quality(ros, '/kinematics_node/markers').reliability == ReliabilityPolicy.BEST_EFFORT
        # One topic, not those that have the same to begin with.
        other = quality(ros, '/kinematics_node/flange_link/pose')
        assert other.durability == DurabilityPolicy.VOLATILE
        assert other.reliability == ReliabilityPolicy.RELIABLE
        assert 'qos_overrides' not in process.printed
        # Whoever comes late is told all the same.
        poses = ros.listen(PoseStamped, POSE)
        ros.exchange(ros.joint_state(NAMES, ZERO), poses)
        late = ros.listen(PoseStamped, POSE, LATCHED)
        ros.wait_for(lambda: late)


@pytest.mark.parametrize(('policy', 'value'), [('reliability', 'sometimes'), ('depth', 'deep')])
def test_a_policy_that_does_not_exist_ends_the_node_by_name(policy, value):
    name = f'qos_overrides./kinematics_node/markers.publisher.{policy}'
    with running('kinematics_node', DOMAIN, {name: value}) as process:
        assert process.wait() == 1
        assert 'qos_overrides./kinematics_node/markers.publisher' in process.printed
        assert 'Traceback' not in process.printed


@pytest.mark.parametrize('node', ['kinematics_node', 'contact_node'])
def test_markers_of_frames_that_are_gone_are_taken_away(ros, node):
    parameters = {'robot_description': ARM, 'frames': ['tool0', 'forearm_link']}
    with running(node, DOMAIN, parameters):
        received = ros.listen(MarkerArray, f'/{node}/markers', 100)

        def send():
            ros.publish_joint_state(ros.joint_state(NAMES, ZERO, ZERO, ROBOT.gravity(ZERO)))

        def told(action, identifier):
            return {
                marker.ns
                for message in received
                for marker in message.markers
                if marker.action == action and marker.id == identifier
            }

        shown = {'frames'} if node == 'kinematics_node' else {'force', 'torque'}
        ros.wait_for(lambda: told(Marker.ADD, 1) >= shown, meanwhile=send)
        assert ros.set_parameter(node, 'frames', ['tool0']).successful
        ros.wait_for(lambda: told(Marker.DELETEALL, 0), meanwhile=send)
        received.clear()
        ros.wait_for(lambda: told(Marker.ADD, 0) >= shown, meanwhile=send)
        assert not told(Marker.ADD, 1)


# A topic has one type: where another one is given to it by mistake, its publisher cannot be made.
TAKEN = '/joint_states'

# The nodes call the same Robot with the same numbers.
SAME = 1e-12


def moving(ros):
    return lambda: ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q)))


def test_an_output_of_the_node_itself_that_cannot_be_made_takes_no_other_with_it(ros):
    parameters = {'robot_description': ARM, 'payload': {'frame': 'tool0', 'mass': 1.0}}
    remaps = {'/kinematics_node/markers': TAKEN, 'payload': TAKEN}
    with running('dynamics_ros', DOMAIN, parameters, remaps=remaps) as process:
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
        ros.wait_for(lambda: poses and torques, meanwhile=moving(ros))
        carrying = ROBOT.with_payload('tool0', 1.0).gravity(Q)
        assert_allclose(torques[-1].effort, carrying, atol=SAME)
        for node, topic in (
            ('kinematics_node', '/kinematics_node/markers'),
            ('dynamics_node', '/payload'),
        ):
            told = f'publishing, but not {topic} (remapped to {TAKEN})'
            ros.wait_for_status(node, told, meanwhile=moving(ros))
        ros.wait_for_status('contact_node', 'publishing to', meanwhile=moving(ros))
        # What the missing topic would tell is in force all the same.
        response = ros.call(SetPayload, '/dynamics_node/set_payload')
        assert response.result.code == Result.SUCCESS, response.result.message
        ros.wait_for(
            lambda: np.allclose(torques[-1].effort, ROBOT.gravity(Q), atol=SAME),
            meanwhile=moving(ros),
        )
        assert 'Traceback' not in process.printed
