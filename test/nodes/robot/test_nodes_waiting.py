# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a silent node waits for: which topic, and whether anybody publishes it."""

from __future__ import annotations

import time

import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, Q
from control_msgs.msg import DynamicJointState, InterfaceValue
from numpy.testing import assert_allclose
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from ros_harness import LATCHED, client, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from urdf_texts import pendulum

from dynamics_ros.nodes.services import SERVICE_QOS
from dynamics_ros.nodes.workers import FIRST_INPUT_TIMEOUT
from dynamics_ros.wire.conversions import duration_message
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeDynamicsTerms, ComputeInverseKinematics, SetGravity

pytestmark = pytest.mark.ros

DOMAIN = 58
STATES = '/arm/states'
NODE = 'left/dynamics_node'


@pytest.fixture
def ros():
    with client(DOMAIN) as one:
        yield one


def node(parameters=None):
    remaps = {'joint_states': STATES}
    return running('dynamics_node', DOMAIN, parameters, namespace='/left', remaps=remaps)


def test_a_node_without_a_robot_says_who_publishes_descriptions(ros):
    topic = '/left/robot_description'
    with node() as process:
        ros.wait_for_status(NODE, f'waiting for robot_description: {topic} has no publisher')
        # What is published once, by a publisher that does not keep it, comes too early or too late.
        ros.publish(topic, String(data=pendulum('early')), QoSProfile(depth=1))
        ros.wait_for_status(NODE, f'waiting for robot_description: {topic} has 1 publisher')
        ros.wait_for(lambda: 'incompatible QoS' in process.printed)
        keeps = ros.node.create_publisher(String, topic, LATCHED)
        keeps.publish(String(data=pendulum('late')))
        ros.wait_for_status(NODE, 'waiting for swing')


def test_a_node_without_joint_states_says_who_publishes_them(ros):
    swing = JointState(name=['swing'], position=[0.1])
    with node({'robot_description': pendulum('arm')}):
        waiting = f'silent: waiting for swing: {STATES} has'
        ros.wait_for_status(NODE, f'{waiting} no publisher, no message so far')
        # A topic has one type in a participant.
        with client(DOMAIN, 'wrong_client') as wrong:
            wrong.publish(STATES, String())
            types = 'of std_msgs/msg/String, not sensor_msgs/msg/JointState'
            ros.wait_for_status(NODE, f'{waiting} 1 publisher {types}, no message so far')
            assert ros.values(NODE)['reason'] == 'incompatible_publisher'
        one = ros.node.create_publisher(JointState, STATES, qos_profile_sensor_data)
        two = ros.node.create_publisher(JointState, STATES, 10)
        ros.wait_for_status(NODE, f'{waiting} 2 publishers, no message so far')
        ros.node.destroy_publisher(two)
        other = JointState(name=['elbow', 'swing'], velocity=[0.0, 0.0])
        lacking = f'{waiting} 1 publisher, messages so far lack their positions'
        ros.wait_for_status(NODE, lacking, meanwhile=lambda: one.publish(other))
        ros.wait_for_status(NODE, 'publishing to', meanwhile=lambda: one.publish(swing))
        # Silent, and still there; then gone.
        stopped = f'joint_states have stopped coming: {STATES} has'
        ros.wait_for_status(NODE, f'{stopped} 1 publisher')
        ros.node.destroy_publisher(one)
        ros.wait_for_status(NODE, f'{stopped} no publisher')


def test_requests_right_after_the_start_wait_for_the_robot_and_its_state(ros):
    name = f'/{NODE}/compute_dynamics_terms'
    # With the default depth of ten a client loses responses that come together.
    terms = ros.node.create_client(ComputeDynamicsTerms, name, qos_profile=SERVICE_QOS)
    gravity = ros.node.create_client(SetGravity, f'/{NODE}/set_gravity')
    with node():
        ros.wait_for(lambda: terms.service_is_ready() and gravity.service_is_ready())
        ros.wait_for_status(NODE, 'waiting for robot_description')
        refused = ros.call(ComputeDynamicsTerms, name)
        assert refused.result.code == Result.NO_MODEL
        assert '/left/robot_description has no publisher' in refused.result.message
        moon = SetGravity.Request()
        moon.gravity.vector.z = -1.62
        waiting = [terms.call_async(ComputeDynamicsTerms.Request()) for _ in range(17)]
        waiting.append(gravity.call_async(moon))
        ros.publish('/left/robot_description', String(data=pendulum('arm')), LATCHED)
        torques = ros.listen(JointState, f'/{NODE}/gravity_torques')
        swing = JointState(name=['swing'], position=[0.1], velocity=[0.0])
        ros.wait_for(
            lambda: torques and all(future.done() for future in waiting),
            meanwhile=lambda: ros.publish_joint_state(swing, STATES),
        )
        assert {future.result().result.code for future in waiting} == {Result.SUCCESS}
        # What is refused is answered at once, and so is an invalid request.
        begin = time.monotonic()
        assert ros.call(ComputeDynamicsTerms, name).result.code == Result.SUCCESS
        other = ComputeDynamicsTerms.Request(state=JointState(name=['elbow'], position=[0.0]))
        assert ros.call(ComputeDynamicsTerms, name, other).result.code == Result.UNKNOWN_JOINT
        assert time.monotonic() - begin < FIRST_INPUT_TIMEOUT


def test_a_request_waits_no_longer_than_its_time_limit(ros):
    limit = 0.5
    name = '/left/kinematics_node/compute_inverse_kinematics'
    request = ComputeInverseKinematics.Request(frame='rod', timeout=duration_message(limit))
    parameters = {'robot_description': pendulum('arm')}
    with running('kinematics_node', DOMAIN, parameters, namespace='/left'):
        ros.wait_for_status('left/kinematics_node', 'waiting for swing')
        ros.call(ComputeInverseKinematics, name, request)  # finds the service
        begin = time.monotonic()
        response = ros.call(ComputeInverseKinematics, name, request)
        waited = time.monotonic() - begin
    assert response.result.code == Result.NO_STATE
    assert 'waiting for swing: /left/joint_states has no publisher' in response.result.message
    assert limit <= waited < FIRST_INPUT_TIMEOUT


def test_a_node_takes_its_robot_from_a_file_and_not_from_the_topic(ros, tmp_path):
    file = tmp_path / 'arm.urdf'
    file.write_text(pendulum('filed'))
    with node({'robot_description_file': str(file)}):
        ros.publish('/left/robot_description', String(data=pendulum('published')), LATCHED)
        ros.wait_for_status(NODE, 'waiting for swing')
        assert ros.values(NODE)['robot'] == 'filed'
        refused = ros.set_parameter(NODE, 'robot_description_file', '/etc/hostname')
        assert not refused.successful
    ros.diagnostics.clear()
    with node({'robot_description_file': str(tmp_path / 'none.urdf')}):
        status = ros.wait_for_status(NODE, 'robot_description_file')
        assert 'none.urdf' in status.message and 'No such file' in status.message
        assert 'it is fixed at start: correct it and start the node anew' in status.message
        assert ros.values(NODE)['reason'] == 'change_refused'
    ros.diagnostics.clear()
    with node({'payload': {'frame': 'nose', 'mass': 1.0}}):
        ros.publish('/left/robot_description', String(data=pendulum('arm')), LATCHED)
        told = ros.wait_for_status(NODE, "refused: payload.frame: unknown frame 'nose'").message
        assert 'fixed at start' in told


def message(ros, **changed):
    """A state of all joints, of a wheel without a position and of a sensor."""
    told = DynamicJointState(joint_names=[*NAMES, 'wheel', 'sensor'])
    told.header.stamp = ros.next_stamp()
    told.interface_values = [
        InterfaceValue(interface_names=['temperature', 'position'], values=[30.0, q]) for q in Q
    ]
    told.interface_values += [InterfaceValue(interface_names=['velocity'], values=[1.0])] * 2
    for name, value in changed.items():
        setattr(told, name, value)
    return told


def test_gravity_torques_follow_and_what_makes_no_sense_is_refused(ros):
    parameters = {'robot_description': ARM, 'joint_state_topic': 'dynamic_joint_states'}
    with running('dynamics_node', DOMAIN, parameters):
        ros.wait_for_status('dynamics_node', '/dynamic_joint_states has no publisher')
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        ros.wait_for(
            lambda: torques,
            meanwhile=lambda: ros.publish('/dynamic_joint_states', message(ros)),
        )
        assert torques[-1].name == NAMES
        assert_allclose(torques[-1].effort, ROBOT.gravity(Q), atol=1e-12)
        ros.wait_for(
            lambda: any(key.startswith('refused') for key in ros.values('dynamics_node')),
            meanwhile=lambda: ros.publish(
                '/dynamic_joint_states', message(ros, joint_names=NAMES[:3])
            ),
        )
