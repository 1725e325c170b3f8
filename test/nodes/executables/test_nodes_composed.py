# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes as processes: composed or alone, with models that come and go, until a signal."""

from __future__ import annotations

import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped, Quaternion
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from rcl_interfaces.srv import ListParameters
from ros_harness import LATCHED, NodeProcess, client, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from urdf_texts import pendulum

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_matrix
from dynamics_ros_msgs.msg import ContactState, Payload, Result
from dynamics_ros_msgs.srv import (
    ComputeDynamicsTerms,
    ComputeForwardKinematics,
    ComputeInverseDynamics,
    ComputeJacobian,
    SetPayload,
)

pytestmark = pytest.mark.ros

DOMAIN = 55

# The node calls the same Robot; a pose also goes through a quaternion and back.
SAME = 1e-12


PENDULUM = pendulum('pendulum', 'tip-link.1')

BAD_DESCRIPTIONS = {
    'not XML': ('/etc/hostname', 'URDF as XML text; give a file by robot_description_file'),
    'malformed': ('<robot name="a"><link', 'robot_description refused'),
    'two roots': ('<robot name="a"><link name="a"/><link name="b"/></robot>', 'root'),
    'a cycle': (
        PENDULUM.replace(
            '</robot>',
            '<joint name="back" type="fixed"><parent link="tip-link.1"/><child link="base"/>'
            '</joint></robot>',
        ),
        'cycle of joints',
    ),
    'unknown parent': (PENDULUM.replace('parent link="base"', 'parent link="nose"'), 'nose'),
    'zero axis': (PENDULUM.replace('xyz="0 1 0"', 'xyz="0 0 0"'), 'swing'),
    'negative mass': (PENDULUM.replace('value="1"', 'value="-1"'), 'tip-link.1'),
    'NaN in an origin': (PENDULUM.replace('xyz="0.1 0 0"', 'xyz="nan 0 0"'), 'tip-link.1'),
    'empty': (' ', 'empty'),
}


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def composed(ros):
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    with running('dynamics_ros', DOMAIN) as process:
        yield process


def test_the_composed_process_has_the_topics_of_all_three_nodes(ros, composed):
    received = {
        topic: ros.listen(kind, topic)
        for topic, kind in {
            '/kinematics_node/tool0/pose': PoseStamped,
            '/dynamics_node/gravity_torques': JointState,
            '/contact_node/external_torques': JointState,
            '/contact_node/contact_state': ContactState,
        }.items()
    }

    def send():
        ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=0.02))

    ros.wait_for(lambda: all(received.values()), meanwhile=send)
    pose = received['/kinematics_node/tool0/pose'][-1].pose
    assert_allclose(pose_matrix(pose, 'pose'), ROBOT.forward_kinematics(Q, 'tool0'), atol=SAME)
    effort = received['/dynamics_node/gravity_torques'][-1].effort
    assert_allclose(effort, ROBOT.gravity(Q), atol=SAME)
    assert_allclose(received['/contact_node/external_torques'][-1].effort, 0.0, atol=1e-9)


def test_the_composed_process_has_the_services_of_all_three_nodes(ros, composed):
    message = ros.joint_state(NAMES, Q, STILL)
    request = ComputeForwardKinematics.Request(state=message)
    name = '/kinematics_node/compute_forward_kinematics'
    assert ros.call(ComputeForwardKinematics, name, request).result.code == Result.SUCCESS
    request = ComputeInverseDynamics.Request(state=message)
    name = '/dynamics_node/compute_inverse_dynamics'
    assert ros.call(ComputeInverseDynamics, name, request).result.code == Result.SUCCESS
    assert ros.call(Trigger, '/contact_node/reset').success


def test_the_composed_process_has_one_subscription_of_the_joint_states(ros, composed):
    ros.wait_for(lambda: ros.node.count_subscribers('/joint_states'))
    ros.wait_for(lambda: ros.node.count_subscribers('/robot_description'))
    # Topics of all parts: with them, other subscriptions would have been found as well.
    for name in ('kinematics_node', 'dynamics_node', 'contact_node'):
        ros.wait_for(lambda name=name: ros.node.count_services(f'/{name}/list_parameters'))
    assert ros.node.count_subscribers('/joint_states') == 1
    assert ros.node.count_subscribers('/robot_description') == 1
    assert ros.node.count_subscribers('/payload') == 0
    assert ros.node.count_subscribers('/gravity') == 0


def test_a_payload_reaches_every_part(ros, composed):
    torques = ros.listen(JointState, '/contact_node/external_torques')
    request = SetPayload.Request()
    request.payload.header.frame_id = 'tool0'
    request.payload.inertia.m = 1.5
    assert ros.call(SetPayload, '/dynamics_node/set_payload', request).result.code == Result.SUCCESS
    loaded = ROBOT.with_payload('tool0', 1.5).gravity(Q)
    # The robot carries it: what the motors do to hold it is no external torque any more.
    ros.wait_for(
        lambda: torques and np.abs(torques[-1].effort).max() < 1e-3,
        meanwhile=lambda: ros.publish_joint_state(
            ros.joint_state(NAMES, Q, STILL, loaded, step=0.02)
        ),
    )
    assert ros.call(SetPayload, '/dynamics_node/set_payload').result.code == Result.SUCCESS


def test_each_node_tells_its_diagnostics(ros, composed):
    def send():
        ros.publish_joint_state(ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=0.02))

    for node in ('kinematics_node', 'dynamics_node', 'contact_node'):
        status = ros.wait_for_status(node, 'publishing', meanwhile=send)
        assert status.hardware_id == 'seven_joint_arm'
        # Large kernels follow: until then both are named.
        ros.wait_for(
            lambda node=node: (
                ros.values(node)['kernel back end'] in ('llvm', 'python')
                and float(ros.values(node)['kernel compile time [s]']) > 0.0
            ),
            meanwhile=send,
        )
        assert ros.values(node)['degrees of freedom'] == '7'


def test_when_joint_states_stop_diagnostics_say_so(ros, composed):
    status = ros.wait_for_status('dynamics_node', 'joint_states have stopped coming')
    assert status.level == status.ERROR


def test_a_new_description_on_the_topic_takes_over(ros, composed):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.publish('/robot_description', String(data=PENDULUM), LATCHED)
    message = ros.joint_state(['swing'], [0.5], [0.0], [0.0])
    torque = ros.exchange(message, torques)
    assert torque.name == ['swing']
    assert_allclose(torque.effort, Robot.from_urdf(PENDULUM).gravity([0.5]), atol=SAME)


@pytest.mark.parametrize('case', BAD_DESCRIPTIONS)
def test_a_bad_description_is_refused_with_its_reason_and_the_old_one_kept(ros, composed, case):
    text, words = BAD_DESCRIPTIONS[case]
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.publish('/robot_description', String(data=PENDULUM), LATCHED)
    ros.exchange(ros.joint_state(['swing'], [0.5], [0.0], [0.0]), torques)

    def refused():
        return ros.values('dynamics_node').get('refused change', '')

    before = refused()  # for another reason
    ros.publish('/robot_description', String(data=text), LATCHED)
    ros.wait_for(
        lambda: refused() != before and words in refused(),
        meanwhile=lambda: ros.publish_joint_state(ros.joint_state(['swing'], [0.5], [0.0], [0.0])),
    )
    ros.wait_for_status(
        'dynamics_node',
        'the one before is kept',
        meanwhile=lambda: ros.publish_joint_state(ros.joint_state(['swing'], [0.5], [0.0], [0.0])),
    )
    assert ros.exchange(ros.joint_state(['swing'], [0.5]), torques).name == ['swing']
    reason = ros.values('dynamics_node')['refused change']
    assert composed.printed.count(f'[dynamics_node]: {reason}') == 1
    # The one in force, sent again, is the newest.
    ros.publish('/robot_description', String(data=PENDULUM), LATCHED)
    ros.wait_for(lambda: not refused())


def test_after_bad_descriptions_a_good_one_is_taken_and_nothing_is_refused(ros, composed):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.publish('/robot_description', String(data=PENDULUM), LATCHED)
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    torque = ros.exchange(ros.joint_state(NAMES, Q, STILL), torques)
    assert_allclose(torque.effort, ROBOT.gravity(Q), atol=SAME)
    ros.wait_for(lambda: 'refused change' not in ros.values('dynamics_node'))


def test_a_frame_with_signs_that_topics_cannot_have_gets_a_topic(ros, composed):
    ros.publish('/robot_description', String(data=PENDULUM), LATCHED)
    poses = ros.listen(PoseStamped, '/kinematics_node/tip_link_1/pose')
    ros.exchange(ros.joint_state(['swing'], [0.5], [0.0], [0.0]), poses)


def test_the_composed_process_is_alive_and_well_after_all_this(composed):
    assert composed.alive
    assert 'Traceback' not in composed.printed and 'callback raised' not in composed.printed
    code, seconds = composed.end(signal.SIGINT)
    assert code == 0, composed.printed
    assert seconds < 1.0
    assert 'Traceback' not in composed.printed and 'callback raised' not in composed.printed


def test_without_a_description_a_node_waits_says_so_and_answers(ros):
    ros.diagnostics.clear()
    with running('dynamics_node', DOMAIN, namespace='/waiting'):
        ros.wait_for_status('waiting/dynamics_node', 'waiting for robot_description')
        name = '/waiting/dynamics_node/compute_dynamics_terms'
        response = ros.call(ComputeDynamicsTerms, name)
        assert response.result.code == Result.NO_MODEL
        assert response.result.message
        response = ros.call(SetPayload, '/waiting/dynamics_node/set_payload')
        assert response.result.code == Result.NO_MODEL
        # A bad one first: it waits on for a better one.
        ros.publish('/waiting/robot_description', String(data='<robot'), LATCHED)
        ros.wait_for_status('waiting/dynamics_node', 'robot_description refused')
        ros.publish('/waiting/robot_description', String(data=PENDULUM), LATCHED)
        ros.wait_for_status('waiting/dynamics_node', 'waiting for swing')
        assert ros.call(ComputeDynamicsTerms, name).result.code == Result.NO_STATE


def test_a_bad_description_parameter_does_not_end_the_node(ros):
    with running('kinematics_node', DOMAIN, {'robot_description': '<robot/>'}, namespace='/bad'):
        status = ros.wait_for_status('bad/kinematics_node', 'robot_description refused')
        assert status.level == status.ERROR
        response = ros.call(ComputeJacobian, '/bad/kinematics_node/compute_jacobian')
        assert response.result.code == Result.NO_MODEL
        assert ros.set_parameter('bad/kinematics_node', 'robot_description', PENDULUM).successful
        ros.wait_for_status('bad/kinematics_node', 'waiting for swing')


def test_a_payload_from_the_topic_reaches_a_node_that_runs_alone(ros):
    with running(
        'contact_node', DOMAIN, {'robot_description': PENDULUM}, namespace='/alone'
    ) as one:
        payload = Payload()
        payload.header.frame_id = 'tip-link.1'
        payload.inertia.m = 1.0
        payload.inertia.com.x = 0.5
        ros.publish('/alone/payload', payload, LATCHED)
        torques = ros.listen(JointState, '/alone/contact_node/external_torques')
        loaded = Robot.from_urdf(PENDULUM).with_payload('tip-link.1', 1.0, (0.5, 0.0, 0.0))
        effort = loaded.gravity([0.0])
        ros.wait_for(
            lambda: torques and abs(torques[-1].effort[0]) < 1e-6,
            meanwhile=lambda: ros.publish_joint_state(
                ros.joint_state(['swing'], [0.0], [0.0], effort, step=0.02), '/alone/joint_states'
            ),
        )
        assert one.alive


def test_a_floating_base_takes_its_pose_from_odometry_and_frames_their_prefix(ros):
    parameters = {
        'robot_description': PENDULUM,
        'root_joint': 'floating',
        'frame_prefix': 'left/',
    }
    with running('dynamics_ros', DOMAIN, parameters, namespace='/left'):
        poses = ros.listen(PoseStamped, '/left/kinematics_node/tip_link_1/pose')
        odom = Odometry(child_frame_id='left/base')
        odom.header.frame_id = 'map'
        odom.header.stamp = ros.next_stamp()
        odom.pose.pose.position.x = 3.0
        odom.pose.pose.orientation = Quaternion(z=np.sqrt(0.5), w=np.sqrt(0.5))
        state = ros.joint_state(['swing'], [0.5], [0.0], [0.0])
        ros.wait_for_status(
            'left/kinematics_node',
            'waiting for odom',
            meanwhile=lambda: ros.publish_joint_state(state, '/left/joint_states'),
        )

        def send():
            ros.publish('/left/odom', odom)
            ros.publish_joint_state(state, '/left/joint_states')

        ros.wait_for(lambda: poses, meanwhile=send)
        assert poses[-1].header.frame_id == 'map'
        q = [3.0, 0.0, 0.0, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5), 0.5]
        robot = Robot.from_urdf(PENDULUM, root_joint='floating')
        expected = robot.forward_kinematics(q, 'tip-link.1')
        assert_allclose(pose_matrix(poses[-1].pose, 'pose'), expected, atol=SAME)

        request = ComputeDynamicsTerms.Request(state=ros.joint_state(['swing'], [0.5], [0.2]))
        request.base_pose.orientation = Quaternion(x=1.0, w=0.0)
        request.base_twist.angular.x = 0.3
        response = ros.call(
            ComputeDynamicsTerms, '/left/dynamics_node/compute_dynamics_terms', request
        )
        assert response.velocity_names[:2] == ['base_vx', 'base_vy']
        q = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.5]
        v = [0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.2]
        assert_allclose(response.nonlinear_effects, robot.nonlinear_effects(q, v), atol=SAME)


def test_two_robots_in_two_namespaces_keep_apart(ros):
    parameters = {'robot_description': PENDULUM}
    with (
        running('dynamics_node', DOMAIN, parameters, namespace='/one'),
        running('dynamics_node', DOMAIN, parameters, namespace='/two'),
    ):
        one = ros.listen(JointState, '/one/dynamics_node/gravity_torques')
        two = ros.listen(JointState, '/two/dynamics_node/gravity_torques')
        torque = ros.exchange(ros.joint_state(['swing'], [0.5]), one, '/one/joint_states')
        other = ros.exchange(ros.joint_state(['swing'], [1.0]), two, '/two/joint_states')
        assert abs(torque.effort[0] - other.effort[0]) > 0.1
        assert all(message.effort == torque.effort for message in one)


def test_inputs_can_be_remapped(ros):
    remaps = {'joint_states': '/measured'}
    with running('dynamics_node', DOMAIN, {'robot_description': PENDULUM}, remaps=remaps):
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        ros.exchange(ros.joint_state(['swing'], [0.5]), torques, '/measured')


@pytest.mark.parametrize(
    ('name', 'by'),
    [
        ('kinematics_node', signal.SIGINT),
        ('dynamics_node', signal.SIGTERM),
        ('contact_node', signal.SIGTERM),
        ('dynamics_ros', signal.SIGTERM),
    ],
)
def test_a_signal_ends_a_node_at_once_with_exit_code_0(ros, name, by):
    node = 'dynamics_node' if name == 'dynamics_ros' else name
    space = f'/ending_{name}'
    with running(name, DOMAIN, {'robot_description': ARM}, namespace=space) as process:
        ros.call(ListParameters, f'{space}/{node}/list_parameters')
        code, seconds = process.end(by)
        assert code == 0, process.printed
        assert seconds < 1.0
        assert 'Traceback' not in process.printed


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'root_joint': 'sliding'}, "root_joint: 'sliding'"),
        ({'locked_joints.names': ['swing']}, 'locked_joints'),
        ({'publish_rate': 'fast'}, 'publish_rate'),
    ],
)
def test_a_wrong_parameter_at_start_ends_in_one_clear_line(parameters, words):
    with running('dynamics_node', DOMAIN, parameters) as process:
        assert process.wait() == 1
        assert words in process.printed
        assert 'Traceback' not in process.printed


def test_parameters_that_do_not_exist_are_told(ros):
    with running('dynamics_node', DOMAIN, {'publish_rat': 5}, namespace='/typo') as process:
        ros.call(ListParameters, '/typo/dynamics_node/list_parameters')
        ros.wait_for(lambda: "no parameter 'publish_rat'" in process.printed)


def test_whole_numbers_are_numbers(ros):
    with running('dynamics_node', DOMAIN, {'publish_rate': 5}, namespace='/whole'):
        assert ros.get_parameter('whole/dynamics_node', 'publish_rate') == 5.0


def test_the_harness_itself_notices_a_node_that_dies(ros):
    with running('dynamics_node', DOMAIN, {'root_joint': 'sliding'}) as process:
        assert isinstance(process, NodeProcess)
        process.wait()
        with pytest.raises(AssertionError, match='a node has died'):
            ros.wait_for(lambda: False)
