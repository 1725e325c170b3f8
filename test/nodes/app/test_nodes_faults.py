# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a robot: the nodes stay alive, say what it is, and are right again."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped, Quaternion, TwistStamped
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from ros_harness import LATCHED, NodeProcess, client, running, stamp_of
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from shared_memory import left_behind, needs_shared_memory, segments
from std_msgs.msg import String
from urdf_texts import massive_link, pendulum
from visualization_msgs.msg import MarkerArray

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_matrix
from dynamics_ros_msgs.msg import ContactState, Result
from dynamics_ros_msgs.srv import (
    ComputeDynamicsTerms,
    ComputeForwardKinematics,
    ComputeInverseDynamics,
    ComputeInverseKinematics,
    ComputeJacobian,
)

pytestmark = pytest.mark.ros

DOMAIN = 64
SAME = 1e-12


POST = (
    '<robot name="post">' + massive_link('post', 2) + '<link name="lamp"/>'
    '<joint name="top" type="fixed"><parent link="post"/><child link="lamp"/>'
    '<origin xyz="0 0 2"/></joint></robot>'
)


def swing(mass: float = 1.0) -> str:
    return pendulum('swing', mass=mass)


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def composed(ros):
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    with running('dynamics_ros', DOMAIN) as process:
        yield process


@pytest.fixture
def on_the_arm(ros, composed):
    """The composed nodes with the arm in force."""
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    ros.exchange(at_q(ros), torques)
    return composed


def at_q(ros, step: float = 0.001) -> JointState:
    return ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=step)


def test_two_drivers_that_publish_half_of_the_joints_each_make_one_state(ros, on_the_arm):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    states = ros.listen(ContactState, '/contact_node/contact_state')
    effort = ROBOT.gravity(Q)
    reversed_names = NAMES[4:][::-1]
    sent = []

    def send():
        sent.append(ros.joint_state(NAMES[:4], Q[:4], STILL[:4], effort[:4], step=0.002))
        sent.append(
            ros.joint_state(reversed_names, Q[4:][::-1], STILL[4:], effort[4:][::-1], step=0.002)
        )
        for message in sent[-2:]:
            ros.publish_joint_state(message)

    ros.wait_for(lambda: len(torques) > 40 and len(states) > 10, meanwhile=send, period=0.004)
    for torque in torques:
        assert torque.name == NAMES
        assert_allclose(torque.effort, effort, atol=SAME)
    # Each half is a millisecond old when the other comes: nothing is felt, nothing is stale.
    for state in states:
        assert state.state == ContactState.NONE
        assert_allclose(state.external_torques, 0.0, atol=1e-9)


def test_joint_states_of_another_robot_on_the_same_topic_change_nothing(ros, on_the_arm):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    other = ros.joint_state(['left_wheel', 'right_wheel'], [1.0, 2.0])

    def send():
        ros.publish_joint_state(other)
        ros.publish_joint_state(at_q(ros))

    ros.wait_for(lambda: len(torques) > 5, meanwhile=send)
    ros.wait_for(lambda: 'ignored joint: left_wheel' in ros.values('dynamics_node'), meanwhile=send)
    assert all(torque.header.stamp != other.header.stamp for torque in torques)
    assert_allclose(torques[-1].effort, ROBOT.gravity(Q), atol=SAME)


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


START = 'from dynamics_ros.nodes.executables import dynamics_node; dynamics_node()'


@pytest.mark.parametrize(
    ('module', 'method'),
    [
        ('dynamics_ros.nodes.diagnostics', 'Diagnostics.report_change'),
        ('dynamics_ros.nodes.dynamics_node', 'Dynamics.start'),
        ('dynamics_ros.nodes.robot_changes', 'RobotChanges.build_first'),
        ('dynamics_ros.nodes.robot_changes', 'RobotChanges._take'),
        ('dynamics_ros.nodes.workers', 'WarmUp._next'),
        ('rclpy.service', 'Service.send_response'),
        ('dynamics_ros.nodes.rclpy_private', '_message'),
    ],
)
@pytest.mark.few(3)
def test_an_error_in_a_task_is_logged_and_the_process_goes_on(ros, tmp_path, module, method):
    """The events executor of rclpy 9.1.2 crashes if a task raises."""
    script = tmp_path / 'node'
    script.write_text(f"""#!{sys.executable}
import {module} as module
from functools import wraps

def failing(function):
    failures = [ZeroDivisionError('on purpose')]
    @wraps(function)
    def fail(*arguments, **options):
        if failures:
            raise failures.pop()
        return function(*arguments, **options)
    return fail

module.{method} = failing(module.{method})
{START}
""")
    script.chmod(0o755)
    parameters = {'robot_description': swing()}
    with running(str(script), DOMAIN, parameters, namespace='/failing') as process:

        def ask():
            ros.ask(name, ComputeDynamicsTerms.Request())

        name = '/failing/dynamics_node/compute_dynamics_terms'
        ros.call(ComputeDynamicsTerms, name)
        ros.wait_for(lambda: 'unexpected error' in process.printed, meanwhile=ask, period=0.2)
        assert ros.call(ComputeDynamicsTerms, name).result.message
        assert 'ZeroDivisionError: on purpose' in process.printed
        assert process.end()[0] == 0
        assert 'Fatal' not in process.printed


def test_a_description_that_is_replaced_under_load_never_mixes_two_robots(ros, on_the_arm):
    torques = ros.listen(
        JointState,
        '/dynamics_node/gravity_torques',
        QoSProfile(depth=1000, history=HistoryPolicy.KEEP_LAST),
    )
    masses = [1.0, 2.0, 3.0, 4.0, 5.0]
    expected = [Robot.from_urdf(swing(m)).gravity([0.5])[0] for m in masses]

    def send():
        ros.publish_joint_state(
            ros.joint_state(['swing', *NAMES], [0.5, *Q], [0.0, *STILL], [0.0, *STILL])
        )

    for mass, torque in zip(masses, expected, strict=True):
        ros.publish('/robot_description', String(data=swing(mass)), LATCHED)
        ros.wait_for(
            lambda torque=torque: torques and abs(torques[-1].effort[0] - torque) < SAME,
            meanwhile=send,
            period=0.002,
        )
    for message in torques:
        if message.name == ['swing']:
            assert min(abs(message.effort[0] - torque) for torque in expected) < SAME
        else:
            assert message.name == NAMES
            assert_allclose(message.effort, ROBOT.gravity(Q), atol=SAME)


def test_a_client_that_dies_in_the_middle_of_a_call_harms_nobody(ros, on_the_arm):
    calls = f"""
import rclpy
from rclpy.node import Node
from dynamics_ros_msgs.srv import ComputeInverseKinematics as Kind
rclpy.init(domain_id={DOMAIN})
node = Node('mortal')
client = node.create_client(Kind, '/kinematics_node/compute_inverse_kinematics')
assert client.wait_for_service(20.0)
request = Kind.Request(frame='tool0')
request.target.pose.position.z = 0.9
request.position_tolerance = request.rotation_tolerance = 1e-300
request.timeout.sec = 1
client.call_async(request)
print('asked', flush=True)
rclpy.spin(node)
"""
    mortal = subprocess.Popen([sys.executable, '-c', calls], stdout=subprocess.PIPE, text=True)
    assert mortal.stdout.readline() == 'asked\n'
    mortal.kill()
    mortal.communicate()
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.exchange(at_q(ros), torques)
    request = ComputeInverseKinematics.Request(frame='tool0')
    request.target.pose.position.z = 0.9
    request.position_only = True
    request.timeout.sec = 5  # the search for nobody may take its second first
    response = ros.call(
        ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics', request
    )
    assert response.result.code == Result.SUCCESS, response.result.message
    assert on_the_arm.alive


def test_frames_that_are_not_configured_are_answered_from_kernels_of_their_own(ros, on_the_arm):
    for frame in ROBOT.frame_names:
        request = ComputeJacobian.Request(frame=frame, reference='local')
        request.state = at_q(ros)
        response = ros.call(ComputeJacobian, '/kinematics_node/compute_jacobian', request)
        assert response.result.code == Result.SUCCESS, response.result.message
        expected = ROBOT.jacobian(Q, frame, 'local')
        assert_allclose(np.reshape(response.jacobian, expected.shape), expected, atol=SAME)
    # One kernel for each frame would be as many more than the node has for itself.
    assert int(ros.wait_for_report('kinematics_node')['kernels']) < 22


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


def test_a_description_without_masses_has_poses_and_axes_all_the_same(ros):
    """As many have that were made to be looked at."""
    text = re.sub('<inertial>.*</inertial>', '', swing())
    assert '<mass' not in text
    parameters = {'robot_description': text, 'publish_tf': True}
    with running('dynamics_ros', DOMAIN, parameters, namespace='/sketch') as process:
        poses = ros.listen(PoseStamped, '/sketch/kinematics_node/rod/pose')
        twists = ros.listen(TwistStamped, '/sketch/kinematics_node/rod/twist')
        shown = ros.listen(MarkerArray, '/sketch/kinematics_node/markers')
        torques = ros.listen(JointState, '/sketch/dynamics_node/gravity_torques')

        def send():
            ros.publish_joint_state(
                ros.joint_state(['swing'], [0.5], [0.2], [0.0]), '/sketch/joint_states'
            )

        ros.wait_for(lambda: poses and twists and shown and torques, meanwhile=send)
        assert poses[-1].pose.orientation.y == pytest.approx(np.sin(0.25))
        assert twists[-1].twist.angular.y == pytest.approx(0.2)
        assert list(torques[-1].effort) == [0.0]
        assert {marker.ns for marker in shown[-1].markers} == {'frames'}
        ros.wait_for_status('sketch/kinematics_node', 'publishing', meanwhile=send)
        assert 'ERROR' not in process.printed


def test_a_body_without_joints_goes_where_odometry_says(ros):
    parameters = {'robot_description': POST, 'root_joint': 'floating'}
    with running('dynamics_ros', DOMAIN, parameters, namespace='/drone') as process:
        poses = ros.listen(PoseStamped, '/drone/kinematics_node/lamp/pose')
        odom = Odometry(child_frame_id='post')
        odom.header.frame_id = 'map'
        odom.header.stamp = ros.next_stamp()
        odom.pose.pose.position.x = 3.0
        odom.pose.pose.orientation = Quaternion(w=1.0)
        ros.wait_for(lambda: poses, meanwhile=lambda: ros.publish('/drone/odom', odom))
        assert poses[-1].header.stamp == odom.header.stamp
        place = poses[-1].pose.position
        assert [place.x, place.y, place.z] == [3.0, 0.0, 2.0]
        assert 'unexpected' not in process.printed


def test_a_planar_base_takes_its_place_and_turn_from_odometry(ros):
    parameters = {'robot_description': swing(), 'root_joint': 'planar', 'state_timeout': 0.0}
    with running('dynamics_ros', DOMAIN, parameters, namespace='/cart'):
        poses = ros.listen(PoseStamped, '/cart/kinematics_node/rod/pose')
        odom = Odometry(child_frame_id='base')
        odom.header.frame_id = 'map'
        odom.header.stamp = ros.next_stamp()
        odom.pose.pose.position.x, odom.pose.pose.position.y = 3.0, -1.0
        odom.pose.pose.orientation = Quaternion(z=np.sin(0.4), w=np.cos(0.4))

        def send():
            ros.publish('/cart/odom', odom)
            ros.publish_joint_state(
                ros.joint_state(['swing'], [0.5], [0.2], [0.0]), '/cart/joint_states'
            )

        ros.wait_for(lambda: poses, meanwhile=send)
        robot = Robot.from_urdf(swing(), root_joint='planar')
        expected = robot.forward_kinematics([3.0, -1.0, 0.8, 0.5], 'rod')
        assert_allclose(pose_matrix(poses[-1].pose, 'pose'), expected, atol=SAME)
        assert poses[-1].header.frame_id == 'map'
        response = ros.call(ComputeDynamicsTerms, '/cart/dynamics_node/compute_dynamics_terms')
        assert response.result.code == Result.SUCCESS, response.result.message
        assert response.velocity_names == ['base_vx', 'base_vy', 'base_wz', 'swing']


def test_with_simulated_time_outputs_follow_their_inputs_whatever_the_clock_does(ros):
    parameters = {'robot_description': swing(), 'use_sim_time': True}
    with running('dynamics_node', DOMAIN, parameters, namespace='/sim'):
        torques = ros.listen(JointState, '/sim/dynamics_node/gravity_torques')
        # No clock yet: diagnostics and outputs do not wait for one.
        ros.wait_for_status('sim/dynamics_node', 'waiting for swing')
        for seconds in (0, 500, 20):  # a bag that begins, goes on, and loops
            stamp = stamp_of(seconds * 10**9 + 5)
            clock = Clock(clock=stamp)
            state = JointState(name=['swing'], position=[0.5])
            state.header.stamp = stamp

            def send(clock=clock, state=state):
                ros.publish('/clock', clock)
                ros.publish_joint_state(state, '/sim/joint_states')

            ros.wait_for(
                lambda stamp=stamp: sum(t.header.stamp == stamp for t in torques) > 3,
                meanwhile=send,
            )
            # What is answered later was sent later.
            assert torques[-1].header.stamp == stamp
            now = seconds * 10**9 + 5
            ros.wait_for(
                lambda now=now: (
                    ros.reported_at('sim/dynamics_node') == now
                    and 'publishing' in ros.status('sim/dynamics_node').message
                ),
                meanwhile=send,
            )


def test_the_file_of_all_parameters_suits_the_composed_process():
    file = Path(__file__).parents[3] / 'config' / 'dynamics_ros.yaml'
    process = NodeProcess('dynamics_ros', DOMAIN + 1, ['--ros-args', '--params-file', str(file)])
    with client(DOMAIN + 1) as one:
        one.wait_for_status('contact_node', 'waiting for robot_description')
    assert process.end()[0] == 0
    assert 'parameter' not in process.printed
    process.close()


@needs_shared_memory
@pytest.mark.parametrize(
    ('name', 'by'), [('dynamics_ros', signal.SIGINT), ('contact_node', signal.SIGTERM)]
)
def test_a_signal_in_the_middle_of_publishing_leaves_no_word_and_no_shared_memory(name, by):
    space = f'/busy_{name}'
    with (
        running(name, DOMAIN, {'robot_description': ARM}, namespace=space) as process,
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
        ended = pool.submit(process.end, by)
        while not ended.done():
            send(5)  # faster than a busy machine answers
            time.sleep(0.001)  # between two bursts, not to wait for anything
        code, seconds = ended.result()
        assert code == 0, process.printed
        assert seconds < 5.0
        assert 'Traceback' not in process.printed and 'rror' not in process.printed
    assert left_behind(used) == []


def test_the_composed_process_is_alive_and_well_after_all_this(on_the_arm):
    assert on_the_arm.alive
    assert 'Traceback' not in on_the_arm.printed and 'callback raised' not in on_the_arm.printed
