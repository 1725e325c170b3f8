# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""kinematics_node: poses and twists of frames as topics; kinematics as services."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, TwistStamped
from numpy.testing import assert_allclose
from ros_harness import client, description, running
from visualization_msgs.msg import MarkerArray

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_matrix, pose_message, twist_array
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseKinematics,
    ComputeJacobian,
)

pytestmark = pytest.mark.ros

DOMAIN = 52
FRAMES = ['tool0', 'flange_link']

# The node calls the same Robot; a pose also goes through a quaternion and back.
SAME = 1e-12

ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
V = np.array([0.1, 0.2, -0.3, 0.4, -0.5, 0.6, -0.7])


@pytest.fixture(scope='module')
def node():
    parameters = {
        'robot_description': description(),
        'frames': FRAMES,
        'state_timeout': 0.0,  # however long a busy machine takes from one test to the next
    }
    with running('kinematics_node', DOMAIN, parameters) as process:
        yield process


@pytest.fixture(scope='module')
def ros(node):
    with client(DOMAIN) as one:
        poses = one.listen(PoseStamped, '/kinematics_node/tool0/pose')
        one.exchange(one.joint_state(NAMES, Q, V), poses)
        yield one


@cache
def poses_of(ros):
    """The one list of poses that ``in_state`` looks at."""
    return ros.listen(PoseStamped, '/kinematics_node/tool0/pose')


def in_state(ros, q=Q, v=V):
    """Have the node hold a state as its latest."""
    received = poses_of(ros)
    received.clear()
    ros.exchange(ros.joint_state(NAMES, q, v), received)


def pose_of(matrix) -> PoseStamped:
    return PoseStamped(pose=pose_message(matrix))


@pytest.mark.parametrize('frame', FRAMES)
def test_the_pose_of_a_frame_carries_the_stamp_of_its_joint_state(ros, frame):
    poses = ros.listen(PoseStamped, f'/kinematics_node/{frame}/pose')
    message = ros.joint_state(NAMES, Q, V)
    pose = ros.exchange(message, poses)
    assert pose.header.stamp == message.header.stamp
    assert pose.header.frame_id == 'base_link'
    expected = ROBOT.forward_kinematics(Q, frame)
    assert_allclose(pose_matrix(pose.pose, 'pose'), expected, atol=SAME)


@pytest.mark.parametrize('frame', FRAMES)
def test_the_twist_of_a_frame_is_that_of_the_robot(ros, frame):
    twists = ros.listen(TwistStamped, f'/kinematics_node/{frame}/twist')
    message = ros.joint_state(NAMES, Q, V)
    twist = ros.exchange(message, twists)
    assert twist.header.frame_id == 'base_link'
    expected = ROBOT.frame_velocity(Q, V, frame)
    assert_allclose(twist_array(twist.twist, 'twist'), expected, atol=SAME)


def test_the_twist_reference_can_be_changed_while_running(ros):
    twists = ros.listen(TwistStamped, '/kinematics_node/tool0/twist')
    assert ros.set_parameter('kinematics_node', 'twist_reference', 'local').successful
    message = ros.joint_state(NAMES, Q, V)
    ros.wait_for(
        lambda: twists and twists[-1].header.frame_id == 'tool0',
        meanwhile=lambda: ros.publish_joint_state(message),
    )
    expected = ROBOT.frame_velocity(Q, V, 'tool0', 'local')
    assert_allclose(twist_array(twists[-1].twist, 'twist'), expected, atol=SAME)
    assert ros.set_parameter('kinematics_node', 'twist_reference', 'local_world_aligned').successful
    ros.wait_for(
        lambda: twists[-1].header.frame_id == 'base_link',
        meanwhile=lambda: ros.publish_joint_state(message),
    )


def test_markers_show_the_frames_and_the_centre_of_mass(ros):
    received = ros.listen(MarkerArray, '/kinematics_node/markers')
    message = ros.joint_state(NAMES, Q, V)
    ros.wait_for(lambda: received, meanwhile=lambda: ros.publish_joint_state(message))
    markers = received[-1].markers
    assert [marker.ns for marker in markers] == ['frames', 'frames', 'center_of_mass']
    center = markers[-1].pose.position
    assert_allclose([center.x, center.y, center.z], ROBOT.center_of_mass(Q), atol=SAME)


def test_without_velocities_there_are_poses_but_no_twists(ros):
    poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
    twists = ros.listen(TwistStamped, '/kinematics_node/tool0/twist')
    message = ros.joint_state(NAMES, Q, [math.nan] * 7)
    ros.exchange(message, poses)
    ros.wait_for_status(
        'kinematics_node',
        'no velocity of shoulder_yaw',
        meanwhile=lambda: ros.publish_joint_state(message),
    )
    assert all(twist.header.stamp != message.header.stamp for twist in twists)
    in_state(ros)


def test_forward_kinematics_of_a_given_state(ros):
    q = Q[::-1].copy()
    request = ComputeForwardKinematics.Request(frames=['elbow_link', 'tool0'])
    request.state = ros.joint_state(NAMES, q, V)
    response = ros.call(
        ComputeForwardKinematics, '/kinematics_node/compute_forward_kinematics', request
    )
    assert response.result.code == Result.SUCCESS, response.result.message
    for frame, pose, twist in zip(request.frames, response.poses, response.twists, strict=True):
        expected = ROBOT.forward_kinematics(q, frame)
        assert_allclose(pose_matrix(pose.pose, 'pose'), expected, atol=SAME)
        expected = ROBOT.frame_velocity(q, V, frame)
        assert_allclose(twist_array(twist.twist, 'twist'), expected, atol=SAME)


def test_forward_kinematics_without_a_state_is_that_of_the_latest(ros):
    in_state(ros)
    response = ros.call(ComputeForwardKinematics, '/kinematics_node/compute_forward_kinematics')
    assert response.result.code == Result.SUCCESS, response.result.message
    expected = [ROBOT.forward_kinematics(Q, frame) for frame in FRAMES]
    assert_allclose([pose_matrix(p.pose, 'pose') for p in response.poses], expected, atol=SAME)


def test_a_state_of_some_joints_is_completed_by_the_latest(ros):
    in_state(ros)
    request = ComputeForwardKinematics.Request(frames=['tool0'])
    request.state = ros.joint_state(['elbow_pitch'], [0.25])
    response = ros.call(
        ComputeForwardKinematics, '/kinematics_node/compute_forward_kinematics', request
    )
    q = Q.copy()
    q[NAMES.index('elbow_pitch')] = 0.25
    expected = ROBOT.forward_kinematics(q, 'tool0')
    assert_allclose(pose_matrix(response.poses[0].pose, 'pose'), expected, atol=SAME)


@pytest.mark.parametrize('reference', ['', 'local_world_aligned', 'local', 'world'])
def test_the_jacobian_of_a_frame(ros, reference):
    request = ComputeJacobian.Request(frame='tool0', reference=reference)
    request.state = ros.joint_state(NAMES, Q)
    response = ros.call(ComputeJacobian, '/kinematics_node/compute_jacobian', request)
    assert response.result.code == Result.SUCCESS, response.result.message
    expected = ROBOT.jacobian(Q, 'tool0', reference or 'local_world_aligned')
    assert response.velocity_names == NAMES
    jacobian = np.reshape(response.jacobian, (response.rows, response.columns))
    assert_allclose(jacobian, expected, atol=SAME)
    # Both are products of six singular values of size one; the determinant squares the rounding.
    squared = np.linalg.det(expected @ expected.T)
    assert response.manipulability == pytest.approx(math.sqrt(squared), rel=1e-9)


def inverse_kinematics(ros, matrix, **fields):
    request = ComputeInverseKinematics.Request(frame='tool0', target=pose_of(matrix))
    for name, value in fields.items():
        setattr(request, name, value)
    return ros.call(
        ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics', request
    )


def test_inverse_kinematics_finds_what_forward_kinematics_confirms(ros):
    in_state(ros)
    target = ROBOT.forward_kinematics(Q + 0.2, 'tool0')
    response = inverse_kinematics(ros, target)
    assert response.result.code == Result.SUCCESS, response.result.message
    assert response.solution.name == NAMES
    found = ROBOT.forward_kinematics(np.array(response.solution.position), 'tool0')
    # The tolerances of the search are 1e-5 m and rad.
    assert_allclose(found, target, atol=3e-5)
    assert response.position_error < 1e-5
    assert response.solutions == [response.solution]


def test_inverse_kinematics_returns_several_solutions_nearest_first(ros):
    in_state(ros)
    target = ROBOT.forward_kinematics(Q, 'tool0')
    response = inverse_kinematics(ros, target, max_solutions=4)
    assert response.result.code == Result.SUCCESS, response.result.message
    assert 1 < len(response.solutions) <= 4
    distances = [np.linalg.norm(np.array(s.position) - Q) for s in response.solutions]
    assert distances == sorted(distances)


def test_a_target_may_be_given_in_a_frame_of_the_robot(ros):
    in_state(ros)
    target = pose_of(np.eye(4))
    target.header.frame_id = 'tool0'
    target.pose.position.z = 0.02
    response = inverse_kinematics(ros, np.eye(4), target=target)
    assert response.result.code == Result.SUCCESS, response.result.message
    found = ROBOT.forward_kinematics(np.array(response.solution.position), 'tool0')
    expected = ROBOT.forward_kinematics(Q, 'tool0') @ [0.0, 0.0, 0.02, 1.0]
    assert_allclose(found[:3, 3], expected[:3], atol=3e-5)


def test_a_target_out_of_reach_is_told_so_and_the_closest_given_when_asked(ros):
    in_state(ros)
    far = np.eye(4)
    far[:3, 3] = [5.0, 0.0, 0.0]
    response = inverse_kinematics(ros, far)
    assert response.result.code in (Result.UNREACHABLE, Result.TIMED_OUT, Result.NO_SOLUTION)
    assert response.result.message
    assert not response.solution.name
    response = inverse_kinematics(ros, far, approximate=True)
    assert response.result.code < 0
    assert response.solution.name == NAMES
    assert np.isfinite(response.solution.position).all()
    assert response.position_error > 3.0


def test_poses_go_on_while_inverse_kinematics_searches(ros):
    in_state(ros)
    poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
    ros.exchange(ros.joint_state(NAMES, Q, V), poses)
    target = ROBOT.forward_kinematics(Q + 0.3, 'tool0')
    assert inverse_kinematics(ros, target).result.code == Result.SUCCESS
    request = ComputeInverseKinematics.Request(frame='tool0', target=pose_of(target))
    # Rounding keeps the search from ever arriving.
    request.position_tolerance = request.rotation_tolerance = 1e-300
    request.timeout.sec, request.max_restarts = 3, 1_000_000
    searching = ros.ask('/kinematics_node/compute_inverse_kinematics', request)
    ros.exchange(ros.joint_state(NAMES, Q, V), poses)
    assert not searching.done()
    ros.wait_for(searching.done)


BAD_REQUESTS = {
    'unknown frame': ({'frame': 'nose'}, Result.UNKNOWN_FRAME, 'nose'),
    'unknown reference': ({'reference': 'upside'}, Result.INVALID_ARGUMENT, 'upside'),
    'unknown joint': ({'names': ['nose'], 'position': [0.0]}, Result.UNKNOWN_JOINT, 'nose'),
    'wrong length': ({'names': NAMES, 'position': [0.0]}, Result.INVALID_ARGUMENT, 'position'),
    'a joint twice': (
        {'names': ['elbow_pitch'] * 2, 'position': [0.0] * 2},
        Result.INVALID_ARGUMENT,
        'twice',
    ),
    'NaN': ({'names': NAMES, 'position': [math.nan] * 7}, Result.INVALID_ARGUMENT, 'position'),
    'no position': ({'names': NAMES, 'position': []}, Result.INVALID_ARGUMENT, 'position'),
    'a base pose': ({'base': 1.0}, Result.INVALID_ARGUMENT, 'base'),
}


@pytest.mark.parametrize('case', BAD_REQUESTS)
def test_a_bad_jacobian_request_gets_its_code_and_a_reason(ros, case):
    fields, code, words = BAD_REQUESTS[case]
    request = ComputeJacobian.Request(frame=fields.get('frame', 'tool0'))
    request.reference = fields.get('reference', '')
    request.state = ros.joint_state(fields.get('names', []), fields.get('position', []))
    if 'base' in fields:
        request.state = ros.joint_state(NAMES, Q)
        request.base_pose.position.x = fields['base']
    response = ros.call(ComputeJacobian, '/kinematics_node/compute_jacobian', request)
    assert response.result.code == code, response.result.message
    assert words in response.result.message
    assert not len(response.jacobian)


@pytest.mark.parametrize(
    ('change', 'code'),
    [
        (lambda r: setattr(r, 'frame', 'nose'), Result.UNKNOWN_FRAME),
        (lambda r: setattr(r.target.header, 'frame_id', 'nose'), Result.UNKNOWN_FRAME),
        (lambda r: setattr(r.target.pose.position, 'x', math.nan), Result.INVALID_ARGUMENT),
        (lambda r: setattr(r.target.pose.orientation, 'w', 0.5), Result.INVALID_ARGUMENT),
        (lambda r: setattr(r, 'position_tolerance', -1.0), Result.INVALID_ARGUMENT),
        (lambda r: setattr(r, 'rotation_tolerance', math.nan), Result.INVALID_ARGUMENT),
        (lambda r: setattr(r.timeout, 'sec', 10_000), Result.INVALID_ARGUMENT),
        (lambda r: setattr(r.timeout, 'sec', -1), Result.INVALID_ARGUMENT),
        (lambda r: r.seed.name.append('nose'), Result.INVALID_ARGUMENT),
    ],
)
def test_a_bad_inverse_kinematics_request_gets_its_code(ros, change, code):
    request = ComputeInverseKinematics.Request(frame='tool0')
    request.target = pose_of(ROBOT.forward_kinematics(Q, 'tool0'))
    change(request)
    response = ros.call(
        ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics', request
    )
    assert response.result.code == code, response.result.message
    assert response.result.message
    assert not response.solution.name


def test_more_frames_than_there_are_are_refused_before_the_outputs_have_to_wait(ros):
    service = '/kinematics_node/compute_forward_kinematics'
    request = ComputeForwardKinematics.Request(frames=['tool0'] * 50_000)
    response = ros.call(ComputeForwardKinematics, service, request)
    assert response.result.code == Result.INVALID_ARGUMENT
    assert '50000 frames' in response.result.message
    every = ComputeForwardKinematics.Request(frames=list(ROBOT.frame_names))
    every.state = ros.joint_state(NAMES, Q, V)
    response = ros.call(ComputeForwardKinematics, service, every)
    assert len(response.poses) == len(ROBOT.frame_names)
    request = ComputeInverseKinematics.Request(
        frame='tool0', other_frames=['tool0'] * 1000, other_targets=[PoseStamped()] * 1000
    )
    response = ros.call(
        ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics', request
    )
    assert response.result.code == Result.INVALID_ARGUMENT
    assert '1000 frames' in response.result.message


def test_frames_can_be_changed_while_running_and_unknown_ones_are_refused(ros):
    refused = ros.set_parameter('kinematics_node', 'frames', ['nose'])
    assert not refused.successful
    assert 'nose' in refused.reason
    assert ros.set_parameter('kinematics_node', 'frames', ['wrist_link', *FRAMES]).successful
    poses = ros.listen(PoseStamped, '/kinematics_node/wrist_link/pose')
    pose = ros.exchange(ros.joint_state(NAMES, Q, V), poses)
    expected = ROBOT.forward_kinematics(Q, 'wrist_link')
    assert_allclose(pose_matrix(pose.pose, 'pose'), expected, atol=SAME)
    assert ros.set_parameter('kinematics_node', 'frames', FRAMES).successful
    ros.wait_for(lambda: not ros.node.count_publishers('/kinematics_node/wrist_link/pose'))


def test_it_is_alive_and_well_after_all_this(ros, node):
    ros.wait_for_status('kinematics_node', 'publishing', meanwhile=lambda: in_state(ros))
    assert node.alive
    assert 'Traceback' not in node.printed and 'callback raised' not in node.printed
