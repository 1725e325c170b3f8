# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes as processes: composed or alone, with models that come and go, until a signal."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped, Quaternion
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from rclpy.qos import QoSProfile, ReliabilityPolicy
from ros_harness import LATCHED, NodeProcess, client, faulty, running
from sensor_msgs.msg import JointState
from shared_memory import left_behind, needs_shared_memory, segments
from std_msgs.msg import String
from urdf_texts import massive_link, pendulum

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
    'negative mass': (PENDULUM.replace('value="1"', 'value="-1"'), 'tip-link.1'),
}


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


def test_a_bad_description_parameter_does_not_end_the_node(ros):
    with running('kinematics_node', DOMAIN, {'robot_description': '<robot/>'}, namespace='/bad'):
        status = ros.wait_for_status('bad/kinematics_node', 'robot_description refused')
        assert status.level == status.ERROR
        response = ros.call(ComputeJacobian, '/bad/kinematics_node/compute_jacobian')
        assert response.result.code == Result.NO_MODEL


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


def test_a_wrong_contact_parameter_silences_contacts_only(ros):
    parameters = {'robot_description': PENDULUM, 'observer.gain': [1.0, 2.0]}
    with running('dynamics_ros', DOMAIN, parameters, namespace='/silent'):
        torques = ros.listen(JointState, '/silent/dynamics_node/gravity_torques')
        ros.exchange(ros.joint_state(['swing'], [0.1]), torques, '/silent/joint_states')
        status = ros.wait_for_status('silent/contact_node', 'observer.gain: 2 values')
        assert status.level == status.ERROR


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


@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        ({'root_joint': 'sliding'}, "root_joint: 'sliding'"),
        ({'locked_joints.names': ['swing']}, 'locked_joints'),
        ({'publish_rate': 'fast'}, 'publish_rate'),
        ({'frame_prefix': '/left/'}, "no '/' at its start, which tf2 refuses: 'left/'"),
        ({'frame_prefix': 'left\n'}, 'characters that can be printed'),
    ],
)
def test_a_wrong_parameter_at_start_ends_in_one_clear_line(parameters, words):
    with running('dynamics_node', DOMAIN, parameters) as process:
        assert process.wait() == 1
        assert words in process.printed
        assert 'Traceback' not in process.printed


POST = (
    '<robot name="post">' + massive_link('post', 2) + '<link name="lamp"/>'
    '<joint name="top" type="fixed"><parent link="post"/><child link="lamp"/>'
    '<origin xyz="0 0 2"/></joint></robot>'
)


def swing(mass: float = 1.0) -> str:
    return pendulum('swing', mass=mass)


@pytest.fixture
def on_the_arm(ros, composed):
    """The composed nodes with the arm in force."""
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    ros.exchange(at_q(ros), torques)
    return composed


def at_q(ros, step: float = 0.001) -> JointState:
    return ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=step)


@pytest.mark.parametrize(
    'reliability', [ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE], ids=['best', 'all']
)
def test_publishers_and_subscribers_of_either_reliability_are_served(ros, on_the_arm, reliability):
    qos = QoSProfile(depth=50, reliability=reliability)
    topic = f'/joint_states_{reliability.name.lower()}'
    remaps = {'joint_states': topic}
    parameters = {'robot_description': swing()}
    with running('dynamics_node', DOMAIN, parameters, namespace='/qos', remaps=remaps):
        torques = ros.listen(JointState, '/qos/dynamics_node/gravity_torques', qos)
        state = ros.joint_state(['swing'], [0.5])
        ros.wait_for(lambda: torques, meanwhile=lambda: ros.publish(topic, state, qos))
        assert torques[-1].name == ['swing']


@pytest.mark.parametrize(
    'function',
    ['dynamics_ros.nodes.dynamics_node:Dynamics.start', 'rclpy.service:Service.send_response'],
)
def test_an_error_in_a_task_is_logged_and_the_process_goes_on(ros, tmp_path, function):
    """The events executor of rclpy 9.1.2 crashes if a task raises."""
    script, flag = faulty(tmp_path, 'dynamics_node', function)
    flag.touch()
    parameters = {'robot_description': swing()}
    with running(script, DOMAIN, parameters, namespace='/failing') as process:
        name = '/failing/dynamics_node/compute_dynamics_terms'
        asking = ros.node.create_client(ComputeDynamicsTerms, name)
        ros.wait_for(asking.service_is_ready)
        ros.wait_for(
            lambda: 'ZeroDivisionError: a fault of the program' in process.printed,
            meanwhile=lambda: asking.call_async(ComputeDynamicsTerms.Request()),
            period=0.2,
        )
        flag.unlink()
        assert ros.call(ComputeDynamicsTerms, name).result.message
        assert process.end()[0] == 0
        assert 'Fatal' not in process.printed


def test_a_robot_without_joints_is_no_reason_to_fall_silent_without_a_word(ros):
    parameters = {'robot_description': POST}
    with running('dynamics_ros', DOMAIN, parameters, namespace='/post') as process:
        ros.wait_for_status('post/dynamics_node', 'no joint that moves')
        name = '/post/kinematics_node/compute_forward_kinematics'
        request = ComputeForwardKinematics.Request(frames=['lamp'])
        response = ros.call(ComputeForwardKinematics, name, request)
        assert response.result.code == Result.SUCCESS, response.result.message
        assert response.poses[0].pose.position.z == 2.0
        name = '/post/dynamics_node/compute_inverse_dynamics'
        response = ros.call(ComputeInverseDynamics, name)
        assert response.result.code == Result.SUCCESS, response.result.message
        assert response.torques.name == []
        # Nothing that moves has no centre of mass.
        response = ros.call(ComputeDynamicsTerms, '/post/dynamics_node/compute_dynamics_terms')
        assert response.result.code == Result.INVALID_ARGUMENT
        assert 'mass' in response.result.message
        assert 'unexpected' not in process.printed


def test_the_file_of_all_parameters_suits_the_composed_process():
    file = Path(__file__).parents[3] / 'config' / 'dynamics_ros.yaml'
    process = NodeProcess('dynamics_ros', DOMAIN + 1, ['--ros-args', '--params-file', str(file)])
    with client(DOMAIN + 1) as one:
        one.wait_for_status('contact_node', 'waiting for robot_description')
    assert process.end()[0] == 0
    assert 'parameter' not in process.printed
    process.close()


@needs_shared_memory
def test_a_signal_in_the_middle_of_publishing_leaves_no_word_and_no_shared_memory():
    space = '/busy'
    with (
        running('dynamics_ros', DOMAIN, {'robot_description': ARM}, namespace=space) as process,
        client(DOMAIN) as one,
        ThreadPoolExecutor() as pool,
    ):
        states = one.listen(ContactState, f'{space}/contact_node/contact_state')
        torques = one.listen(JointState, f'{space}/contact_node/external_torques')

        def send(count):
            for _ in range(count):
                one.publish_joint_state(at_q(one, step=0.0005), f'{space}/joint_states')

        # One at a time: of more, a busy machine loses so many that the observer sees a gap.
        one.wait_for(
            lambda: len(states) > 20 and len(torques) > 20,
            meanwhile=lambda: send(1),
            period=0.01,
        )
        used = segments(process.pid)
        assert used
        ended = pool.submit(process.end)
        while not ended.done():
            send(5)  # faster than a busy machine answers
            time.sleep(0.001)  # between two bursts, not to wait for anything
        code, seconds = ended.result()
        assert code == 0, process.printed
        assert seconds < 30.0
        assert 'Traceback' not in process.printed and 'rror' not in process.printed
    assert left_behind(used) == []


def test_the_composed_process_is_alive_and_well_after_all_this(composed):
    assert composed.alive
    assert 'Traceback' not in composed.printed and 'callback raised' not in composed.printed
    code, seconds = composed.end(signal.SIGINT)
    assert code == 0, composed.printed
    assert seconds < 30.0
    assert 'Traceback' not in composed.printed and 'callback raised' not in composed.printed
