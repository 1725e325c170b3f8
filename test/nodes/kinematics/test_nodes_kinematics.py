# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""kinematics_node: poses and twists of frames as topics; kinematics as services."""

from __future__ import annotations

import math
from functools import cache, reduce

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, Q
from geometry_msgs.msg import PoseStamped, TwistStamped
from numpy.testing import assert_allclose
from ros_harness import LATCHED, client, running, tf2_for_nodes
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.wire.conversions import (
    joint_state,
    numbers,
    pose_matrix,
    pose_message,
    transform_stamped,
)
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

V = np.array([0.1, 0.2, -0.3, 0.4, -0.5, 0.6, -0.7])


@pytest.fixture(scope='module')
def node():
    parameters = {
        'robot_description': ARM,
        'frames': FRAMES,
        'state_timeout': 0.0,  # however long a busy machine takes from one test to the next
    }
    with tf2_for_nodes(), running('kinematics_node', DOMAIN, parameters) as process:
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


@pytest.mark.parametrize('frame', FRAMES)
def test_pose_and_twist_of_a_frame_carry_the_stamp_of_their_joint_state(ros, frame):
    poses = ros.listen(PoseStamped, f'/kinematics_node/{frame}/pose')
    twists = ros.listen(TwistStamped, f'/kinematics_node/{frame}/twist')
    message = ros.joint_state(NAMES, Q, V)
    pose = ros.exchange(message, poses)
    assert pose.header.stamp == message.header.stamp
    twist = ros.exchange(ros.joint_state(NAMES, Q, V), twists)
    assert pose.header.frame_id == twist.header.frame_id == 'base_link'
    expected = ROBOT.forward_kinematics(Q, frame)
    assert_allclose(pose_matrix(pose.pose, 'pose'), expected, atol=SAME)
    expected = ROBOT.frame_velocity(Q, V, frame)
    assert_allclose(numbers(twist.twist, 'twist'), expected, atol=SAME)


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


def poses_at(ros, frames, state):
    request = ComputeForwardKinematics.Request(frames=frames, state=state)
    return ros.call(
        ComputeForwardKinematics, '/kinematics_node/compute_forward_kinematics', request
    )


def test_forward_kinematics_of_a_given_state(ros):
    q, frames = Q[::-1].copy(), ['elbow_link', 'tool0']
    response = poses_at(ros, frames, ros.joint_state(NAMES, q, V))
    assert response.result.code == Result.SUCCESS, response.result.message
    for frame, pose, twist in zip(frames, response.poses, response.twists, strict=True):
        expected = ROBOT.forward_kinematics(q, frame)
        assert_allclose(pose_matrix(pose.pose, 'pose'), expected, atol=SAME)
        expected = ROBOT.frame_velocity(q, V, frame)
        assert_allclose(numbers(twist.twist, 'twist'), expected, atol=SAME)


def test_a_state_of_some_joints_is_completed_by_the_latest(ros):
    in_state(ros)
    response = poses_at(ros, ['tool0'], ros.joint_state(['elbow_pitch'], [0.25]))
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


def test_a_target_may_be_given_in_a_frame_of_the_robot(ros):
    in_state(ros)
    request = asked(np.eye(4))
    request.target.header.frame_id = 'tool0'
    request.target.pose.position.z = 0.02
    found = ROBOT.forward_kinematics(solved(ros, request), 'tool0')
    expected = ROBOT.forward_kinematics(Q, 'tool0') @ [0.0, 0.0, 0.02, 1.0]
    assert_allclose(found[:3, 3], expected[:3], atol=REACHED)


def test_a_target_out_of_reach_is_told_so_and_the_closest_given_when_asked(ros):
    far = np.eye(4)
    far[:3, 3] = [5.0, 0.0, 0.0]
    response = answer(ros, asked(far))
    assert response.result.code in (Result.UNREACHABLE, Result.TIMED_OUT, Result.NO_SOLUTION)
    assert response.result.message
    assert not response.solution.name
    response = answer(ros, asked(far, approximate=True))
    assert response.result.code < 0
    assert response.solution.name == NAMES
    assert np.isfinite(response.solution.position).all()
    assert response.position_error > 3.0


def test_poses_go_on_while_inverse_kinematics_searches(ros):
    poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
    ros.exchange(ros.joint_state(NAMES, Q, V), poses)
    solved(ros, asked())
    request = never()
    request.timeout.sec, request.max_restarts = 1, 1_000_000
    searching = ros.ask(SERVICE, request)
    ros.exchange(ros.joint_state(NAMES, Q, V), poses)
    assert not searching.done()
    ros.wait_for(searching.done)
    assert searching.result().result.code < 0


def test_more_frames_than_there_are_are_refused_before_the_outputs_have_to_wait(ros):
    state = ros.joint_state(NAMES, Q, V)
    response = poses_at(ros, ['tool0'] * 50_000, state)
    assert response.result.code == Result.INVALID_ARGUMENT
    assert '50000 frames' in response.result.message
    response = poses_at(ros, list(ROBOT.frame_names), state)
    assert len(response.poses) == len(ROBOT.frame_names)
    several = {'other_frames': ['tool0'] * 1000, 'other_targets': [PoseStamped()] * 1000}
    response = answer(ros, asked(**several))
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


SERVICE = '/kinematics_node/compute_inverse_kinematics'
Request = ComputeInverseKinematics.Request
TARGET = ROBOT.forward_kinematics(Q + 0.2, 'tool0')

# The search aims at 1e-5 m and rad; the entries of a pose are of length one.
REACHED = 3e-5


def asked(target=TARGET, frame='tool0', **fields):
    request = Request(frame=frame)
    request.target.pose = pose_message(target)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def answer(ros, request):
    return ros.call(ComputeInverseKinematics, SERVICE, request)


def solved(ros, request):
    if not request.timeout.nanosec:
        request.timeout.sec = 2  # a machine may be busy
    response = answer(ros, request)
    assert response.result.code == Result.SUCCESS, response.result.message
    assert response.solution.name == NAMES
    return np.array(response.solution.position)


def seeded(q):
    return joint_state(Request().seed.header.stamp, NAMES, position=q)


def test_without_a_seed_it_is_the_latest_state(ros):
    # Asked for no more motion than none at all, it answers the state itself.
    there = ROBOT.forward_kinematics(Q, 'tool0')
    found = solved(ros, asked(there, posture=Request.POSTURE_SEED))
    assert_allclose(found, Q, atol=1e-4)


def test_without_a_frame_it_is_the_first_of_the_node(ros):
    found = solved(ros, asked(frame=''))
    assert_allclose(ROBOT.forward_kinematics(found, 'tool0'), TARGET, atol=REACHED)
    request = ComputeJacobian.Request(state=seeded(Q))
    response = ros.call(ComputeJacobian, '/kinematics_node/compute_jacobian', request)
    assert_allclose(np.reshape(response.jacobian, (6, 7)), ROBOT.jacobian(Q, 'tool0'), atol=1e-12)


@pytest.mark.parametrize(
    'fields',
    [
        {'locked_joints': ['upper_arm_roll']},
        {'weighted_joints': ['upper_arm_roll'], 'joint_weights': [math.inf], 'random_seed': 7},
    ],
)
def test_locked_joints_stay_at_their_seed(ros, fields):
    found = solved(ros, asked(**fields))
    assert found[2] == Q[2]
    assert_allclose(ROBOT.forward_kinematics(found, 'tool0'), TARGET, atol=REACHED)


def test_a_direction_with_slack_is_left_free(ros):
    turned = TARGET.copy()
    turned[:3, :3] = TARGET[:3, :3] @ np.diag([-1.0, -1.0, 1.0])
    found = solved(ros, asked(turned, slack=[0.0] * 5 + [math.inf]))
    pose = ROBOT.forward_kinematics(found, 'tool0')
    assert_allclose(pose[:3, 2:], TARGET[:3, 2:], atol=REACHED)


def test_the_liked_posture_decides_among_the_solutions(ros):
    # Off along the arm's own motion, which leaves the tool in place.
    liked = Q + 0.6 * np.linalg.svd(ROBOT.jacobian(Q, 'tool0'))[2][6]
    there = ROBOT.forward_kinematics(Q, 'tool0')
    far, near = (
        np.linalg.norm(solved(ros, asked(there, **options)) - liked)
        for options in (
            {'posture': Request.POSTURE_SEED},
            {'posture': Request.POSTURE_GIVEN, 'posture_state': seeded(liked)},
        )
    )
    assert near < 0.9 * far
    solved(ros, asked(posture=Request.POSTURE_CENTRE))


def test_several_frames_are_brought_to_their_targets_at_once(ros):
    q = Q + 0.1
    other = PoseStamped(pose=pose_message(ROBOT.forward_kinematics(q, 'elbow_link')))
    request = asked(
        ROBOT.forward_kinematics(q, 'tool0'), other_frames=['elbow_link'], other_targets=[other]
    )
    found = solved(ros, request)
    for frame in ('tool0', 'elbow_link'):
        expected = ROBOT.forward_kinematics(q, frame)
        assert_allclose(ROBOT.forward_kinematics(found, frame), expected, atol=REACHED)


def test_the_position_alone_needs_no_quaternion(ros):
    request = asked(position_only=True)
    request.target.pose.orientation.w = 0.0
    for component in 'xyz':
        setattr(request.target.pose.orientation, component, 0.0)
    found = solved(ros, request)
    assert_allclose(ROBOT.forward_kinematics(found, 'tool0')[:3, 3], TARGET[:3, 3], atol=REACHED)


def test_solutions_come_with_margin_and_manipulability(ros):
    response = answer(ros, asked(max_solutions=3, min_separation=0.5, max_restarts=40))
    assert response.result.code == Result.SUCCESS, response.result.message
    found = [np.array(one.position) for one in response.solutions]
    assert len(found) == len(response.limit_margins) == len(response.manipulabilities) > 1
    for q, margin, measure in zip(
        found, response.limit_margins, response.manipulabilities, strict=True
    ):
        to_limits = np.minimum(q - ROBOT.lower_limits, ROBOT.upper_limits - q)
        assert margin == pytest.approx(to_limits.min(), abs=1e-12)
        jacobian = ROBOT.jacobian(q, 'tool0')
        squared = np.linalg.det(jacobian @ jacobian.T)
        assert measure == pytest.approx(math.sqrt(squared), rel=1e-6)
    for i, q in enumerate(found):
        assert all(np.abs(q - other).max() > 0.5 for other in found[:i])
    distances = [np.linalg.norm(q - Q) for q in found]
    assert distances == sorted(distances)


def never():
    """A request that rounding keeps from ever being answered."""
    return asked(position_tolerance=1e-300, rotation_tolerance=1e-300)


@pytest.mark.parametrize(('asked_for', 'limit'), [(0.4, 0.4), (0.0, 0.1)])
def test_a_time_limit_holds_with_its_fraction_and_zero_is_the_parameter(ros, asked_for, limit):
    request = never()
    request.timeout.nanosec = round(asked_for * 1e9)
    times = []
    for _ in range(3):
        response = answer(ros, request)
        times.append(response.elapsed.sec + response.elapsed.nanosec * 1e-9)
        assert response.result.code in (Result.TIMED_OUT, Result.NO_SOLUTION, Result.UNREACHABLE)
        if response.result.code == Result.TIMED_OUT:
            assert times[-1] > 0.7 * limit
    # Truncated to whole seconds the limit would be nothing or a second. A busy machine may stop
    # one of them for long.
    assert min(times) < limit + 0.3


def test_searches_that_have_waited_past_their_limit_say_so(ros):
    answer(ros, asked())
    long = never()
    long.timeout.sec = 1
    long.max_restarts = 1_000_000
    short = never()
    short.timeout.nanosec = 50_000_000
    futures = [ros.ask(SERVICE, request) for request in (long, long, short)]
    ros.wait_for(lambda: all(future.done() for future in futures))
    last = futures[-1].result().result
    assert last.code == Result.TIMED_OUT
    assert 'other searches' in last.message


BAD = {
    'empty other frame': (
        {'other_frames': [''], 'other_targets': [PoseStamped()]},
        Result.INVALID_ARGUMENT,
        'other_frames[0]',
    ),
    'unknown frame': ({'frame': 'nose'}, Result.UNKNOWN_FRAME, 'nose'),
    'NaN pose': (
        {'target.pose.position.x': math.nan},
        Result.INVALID_ARGUMENT,
        'target.pose.position',
    ),
    'no unit quaternion': (
        {'target.pose.orientation.w': 2.0},
        Result.INVALID_ARGUMENT,
        'target.pose.orientation',
    ),
    'unknown seed joint': (
        {'seed': joint_state(Request().seed.header.stamp, ['nose'], position=np.zeros(1))},
        Result.UNKNOWN_JOINT,
        'seed.name',
    ),
    'seed of NaN': ({'seed': seeded(Q * math.nan)}, Result.INVALID_ARGUMENT, 'seed.position'),
    'negative timeout': ({'timeout.sec': -1}, Result.INVALID_ARGUMENT, 'timeout'),
    'endless timeout': ({'timeout.sec': 10_000}, Result.INVALID_ARGUMENT, 'timeout'),
    'unknown locked joint': ({'locked_joints': ['nose']}, Result.UNKNOWN_JOINT, 'nose'),
    'negative slack': ({'slack': [-1.0] * 6}, Result.INVALID_ARGUMENT, 'slack'),
    'weights without joints': ({'joint_weights': [1.0]}, Result.INVALID_ARGUMENT, 'joint_weights'),
    'unknown posture': ({'posture': 9}, Result.INVALID_ARGUMENT, 'posture'),
    'frames without targets': (
        {'other_frames': ['elbow_link']},
        Result.INVALID_ARGUMENT,
        'other_targets',
    ),
    'negative separation': (
        {'min_separation': -0.1, 'max_solutions': 2},
        Result.INVALID_ARGUMENT,
        'min_separation',
    ),
}


@pytest.mark.parametrize('case', BAD)
def test_a_bad_request_gets_its_code_and_its_reason(ros, case):
    fields, code, words = BAD[case]
    request = asked()
    for path, value in fields.items():
        *parts, name = path.split('.')
        setattr(reduce(getattr, parts, request), name, value)
    response = answer(ros, request)
    assert response.result.code == code, response.result.message
    assert words in response.result.message
    assert not response.solution.name


def test_a_refused_obstacle_is_told_as_it_is(ros):
    pytest.importorskip('coal')
    request, topic = asked(seed=seeded(Q), avoid_collisions=True), '/kinematics_node/obstacles'
    ros.wait_for(
        lambda: answer(ros, request).result.message.startswith('~/obstacles refused: '),
        meanwhile=lambda: ros.publish(topic, MarkerArray(markers=[Marker(action=77)]), LATCHED),
    )
    ros.publish(topic, MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))


def test_a_target_in_a_frame_of_another_robot_comes_through_tf(ros):
    at = np.eye(4)
    at[:3, 3] = [0.1, 0.0, -0.3]
    stamp = ros.next_stamp()
    tree = TFMessage(transforms=[transform_stamped(stamp, 'base_link', 'table', at)])
    request = asked(np.linalg.inv(at) @ TARGET)
    request.target.header.frame_id = 'table'
    answer(ros, asked())
    futures = []

    def succeeded():
        done = [future.result() for future in futures if future.done()]
        return next((one for one in done if one.result.code == Result.SUCCESS), None)

    def again():
        ros.publish('/tf', tree)
        if all(future.done() for future in futures):
            futures.append(ros.ask(SERVICE, request))

    found = np.array(ros.wait_for(succeeded, meanwhile=again).solution.position)
    assert_allclose(ROBOT.forward_kinematics(found, 'tool0'), TARGET, atol=REACHED)


def test_it_is_alive_and_well_after_all_this(ros, node):
    ros.wait_for_status('kinematics_node', 'publishing', meanwhile=lambda: in_state(ros))
    assert node.alive
    assert 'Traceback' not in node.printed and 'callback raised' not in node.printed
