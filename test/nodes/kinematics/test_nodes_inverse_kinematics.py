# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""compute_inverse_kinematics: every option, every refusal, many clients, and outputs that go on."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose
from ros_harness import client, description, running, tf2_for_nodes
from tf2_msgs.msg import TFMessage

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import joint_state, pose_message, transform_stamped
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeInverseKinematics, ComputeJacobian

pytestmark = pytest.mark.ros

DOMAIN = 80
CLIENT = Path(__file__).parents[2] / 'ik_service_client.py'
SERVICE = '/kinematics_node/compute_inverse_kinematics'
Request = ComputeInverseKinematics.Request

ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
TARGET = ROBOT.forward_kinematics(Q + 0.2, 'tool0')

# The search aims at 1e-5 m and rad; the entries of a pose are of length one.
REACHED = 3e-5

CALLS = int(os.environ.get('DYNAMICS_ROS_IK_CALLS', '240'))
"""Of all clients together; each client keeps more responses. When each kept 200 of 2000, one has
sometimes waited for ever on a busy machine: responses to the others may displace those of a client
whose thread is held up."""

CLIENTS = 4


@pytest.fixture(scope='module')
def node():
    parameters = {
        'robot_description': description(),
        'frames': ['tool0'],
        'state_timeout': 0.0,
    }
    with tf2_for_nodes(), running('kinematics_node', DOMAIN, parameters) as process:
        yield process


@pytest.fixture(scope='module')
def ros(node):
    with client(DOMAIN) as one:
        poses = one.listen(PoseStamped, '/kinematics_node/tool0/pose')
        one.exchange(one.joint_state(NAMES, Q), poses)
        yield one


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


def test_locked_joints_stay_at_their_seed(ros):
    found = solved(ros, asked(locked_joints=['upper_arm_roll']))
    assert found[2] == Q[2]
    assert_allclose(ROBOT.forward_kinematics(found, 'tool0'), TARGET, atol=REACHED)


def test_a_locked_joint_beyond_its_limit_stays_there_or_is_named(ros):
    for beyond in (1e-12, 0.2):
        q = Q.copy()
        q[2] = ROBOT.upper_limits[2] + beyond
        target = ROBOT.forward_kinematics(q + 0.2 * (np.arange(7) != 2), 'tool0')
        lock = {'locked_joints': ['upper_arm_roll'], 'seed': seeded(q)}
        assert solved(ros, asked(target, **lock))[2] == q[2]
    q[2] = ROBOT.upper_limits[2] + 9.0
    response = answer(ros, asked(target, **(lock | {'seed': seeded(q)})))
    assert response.result.code == Result.INVALID_ARGUMENT
    assert 'upper_arm_roll' in response.result.message


def test_a_weight_of_infinity_locks_a_joint(ros):
    weights = {'weighted_joints': ['shoulder_yaw'], 'joint_weights': [math.inf]}
    assert solved(ros, asked(**weights))[0] == Q[0]


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


def test_the_same_random_seed_gives_the_same_answer(ros):
    turned = ROBOT.forward_kinematics(-Q, 'tool0')
    first, again = (solved(ros, asked(turned, random_seed=7)) for _ in range(2))
    assert_allclose(first, again, atol=0.0)


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
    'unknown frame of the target': ({'of': 'nose'}, Result.UNKNOWN_FRAME, 'nose'),
    'NaN pose': ({'x': math.nan}, Result.INVALID_ARGUMENT, 'target.pose.position'),
    'no unit quaternion': ({'w': 0.5}, Result.INVALID_ARGUMENT, 'target.pose.orientation'),
    'zero quaternion': ({'w': 0.0}, Result.INVALID_ARGUMENT, 'target.pose.orientation'),
    'unknown seed joint': (
        {'seed': joint_state(Request().seed.header.stamp, ['nose'], position=np.zeros(1))},
        Result.UNKNOWN_JOINT,
        'seed.name',
    ),
    'seed of NaN': ({'seed': seeded(Q * math.nan)}, Result.INVALID_ARGUMENT, 'seed.position'),
    'negative timeout': ({'sec': -1}, Result.INVALID_ARGUMENT, 'timeout'),
    'negative fraction': ({'sec': -1, 'nanosec': 500_000_000}, Result.INVALID_ARGUMENT, 'timeout'),
    'endless timeout': ({'sec': 10_000}, Result.INVALID_ARGUMENT, 'timeout'),
    'unknown locked joint': ({'locked_joints': ['nose']}, Result.UNKNOWN_JOINT, 'nose'),
    'negative slack': ({'slack': [-1.0] * 6}, Result.INVALID_ARGUMENT, 'slack'),
    'slack NaN': ({'slack': [math.nan] * 6}, Result.INVALID_ARGUMENT, 'slack'),
    'weights without joints': ({'joint_weights': [1.0]}, Result.INVALID_ARGUMENT, 'joint_weights'),
    'no weight': (
        {'weighted_joints': ['shoulder_yaw'], 'joint_weights': [0.0]},
        Result.INVALID_ARGUMENT,
        'joint_weights',
    ),
    'unknown posture': ({'posture': 9}, Result.INVALID_ARGUMENT, 'posture'),
    'posture not asked for': (
        {'posture_state': seeded(Q)},
        Result.INVALID_ARGUMENT,
        'posture_state',
    ),
    'frames without targets': (
        {'other_frames': ['elbow_link']},
        Result.INVALID_ARGUMENT,
        'other_targets',
    ),
    'negative restarts': ({'max_restarts': -2}, Result.INVALID_ARGUMENT, 'max_restarts'),
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
    for name, value in fields.items():
        if name in ('sec', 'nanosec'):
            setattr(request.timeout, name, value)
        elif name == 'x':
            request.target.pose.position.x = value
        elif name == 'w':
            orientation = request.target.pose.orientation
            orientation.x = orientation.y = orientation.z = 0.0
            orientation.w = value
        elif name == 'of':
            request.target.header.frame_id = value
        else:
            setattr(request, name, value)
    response = answer(ros, request)
    assert response.result.code == code, response.result.message
    assert words in response.result.message
    assert not response.solution.name


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


def test_answers_reach_those_who_asked(ros, node):
    each = CALLS // CLIENTS
    command = [sys.executable, str(CLIENT), str(DOMAIN), str(each), str(2 * CALLS)]
    processes = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, text=True)
        for seed in range(CLIENTS)
    ]
    printed = [process.communicate()[0] for process in processes]
    assert node.alive, f'the node has died: {node.printed}'
    outcomes = [json.loads(text.splitlines()[-1]) for text in printed]
    print(outcomes)
    for outcome in outcomes:
        assert outcome['asked'] == outcome['answered'] == each, outcomes
        assert outcome['wrong'] == 0, outcomes
        assert outcome['right'] == each, outcomes


RATE = 500.0

TRIES = 5
"""Times that searches are watched, in one of which nothing else holds a busy machine up."""

# Of tool0 from base_link, stretched out upwards.
ROBOT_REACH = float(np.linalg.norm(ROBOT.forward_kinematics(ROBOT.neutral(), 'tool0')[:3, 3]))


def test_outputs_go_on_while_searches_fail():
    domain = DOMAIN + 1
    far = TARGET.copy()
    # Beyond reach, but not so far that a look at the length of the arm would tell.
    far[:3, 3] *= 0.995 * ROBOT_REACH / np.linalg.norm(far[:3, 3])
    request = asked(far, max_restarts=1_000_000)
    request.timeout.nanosec = 500_000_000
    with (
        running('robot_simulator', domain, {'joint_state_rate': RATE}),
        running('kinematics_node', domain, {'frames': ['tool0']}),
        client(domain, infos=True) as one,
    ):
        poses = one.listen(PoseStamped, '/kinematics_node/tool0/pose', 100)
        one.wait_for(lambda: poses)
        one.call(ComputeInverseKinematics, SERVICE, asked())
        futures = []

        def keep_asking():
            while sum(not future.done() for future in futures) < 2:
                futures.append(one.ask(SERVICE, request))

        one.wait_for(lambda: any(f.done() for f in futures), meanwhile=keep_asking)
        sent = []
        one.node.create_subscription(
            PoseStamped,
            '/kinematics_node/tool0/pose',
            lambda message, info: sent.append((1e-9 * info['source_timestamp'], stamp_of(message))),
            100,
        )
        one.wait_for(lambda: sent, meanwhile=keep_asking)

        def longest_gap():
            """Between two poses, while several searches fail [s]."""
            sent.clear()
            done = sum(future.done() for future in futures)
            one.wait_for(
                lambda: len(sent) > 2 and sum(future.done() for future in futures) > done + 3,
                meanwhile=keep_asking,
            )
            times, stamps = np.array(sent).T
            # Of what comes while a search holds the joint states up, the queue has the last 0.2 s.
            # This reader loses some as well.
            answered = len(stamps) > 0.5 * RATE * np.ptp(stamps)
            return np.diff(times).max() if answered else math.inf

        # A search that held the joint states up would leave gaps of half a second, each time.
        gaps = []
        while not gaps or (gaps[-1] > 0.4 and len(gaps) < TRIES):
            gaps.append(longest_gap())
        assert gaps[-1] < 0.4, gaps
        assert all(f.result().result.code < 0 for f in futures if f.done())


def stamp_of(message):
    return message.header.stamp.sec % 10_000 + message.header.stamp.nanosec * 1e-9


def test_the_node_is_well_after_all_this(ros, node):
    solved(ros, asked())
    assert node.alive
    assert 'Traceback' not in node.printed and 'callback raised' not in node.printed
