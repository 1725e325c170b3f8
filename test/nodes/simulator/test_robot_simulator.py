# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""robot_simulator stands in for a real robot: states in real time, commands, pushes, the truth."""

from __future__ import annotations

import math
import signal
import time

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, Vector3, WrenchStamped
from rcl_interfaces.msg import Log
from rclpy.qos import qos_profile_sensor_data
from ros_harness import LATCHED, client, description, running, served, shared
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmarks.pinocchio_peer import PinocchioPeer
from dynamics_ros import Robot
from dynamics_ros.wire.conversions import duration_message
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ApplyWrench

pytestmark = pytest.mark.ros

DOMAIN = 61
TRUTH = '/robot_simulator/ground_truth'
STEP = 2_000_000
"""ns between two joint states at the default rate of 500 Hz."""

TRIES = 5
PEER = PinocchioPeer(description(), Robot.from_urdf(description()))


simulator = shared(running, 'robot_simulator', DOMAIN)


@pytest.fixture
def listener(simulator):
    with client(DOMAIN) as one:
        yield one


def nanoseconds(message):
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def apply_wrench(listener, frame, force=(0.0, 0.0, 0.0), seconds=0.0, namespace='', **fields):
    request = ApplyWrench.Request(frame=frame, **fields)
    request.wrench.force = Vector3(x=force[0], y=force[1], z=force[2])
    request.duration.sec, request.duration.nanosec = divmod(round(seconds * 1e9), 10**9)
    service = f'{namespace}/robot_simulator/apply_wrench'
    return listener.call(ApplyWrench, service, request).result


def test_the_default_robot_describes_itself_to_whoever_comes_late(listener):
    received = listener.listen(String, '/robot_description', LATCHED)
    listener.wait_for(lambda: received)
    assert received[0].data == description()


def test_stamps_advance_by_exactly_the_simulated_time(listener):
    received = listener.listen(JointState, '/joint_states', 100)
    listener.wait_for(lambda: len(received) >= 500)
    # A reader on a busy machine may lose messages, so a step may count double but never a part.
    steps = np.diff([nanoseconds(message) for message in received])
    assert (steps > 0).all() and not (steps % STEP).any()
    for message in received[::50]:
        sizes = [len(message.name), len(message.position), len(message.velocity)]
        assert [*sizes, len(message.effort)] == [7, 7, 7, 7]


def test_the_truth_has_the_stamps_of_joint_states_and_comes_by_another_road(listener):
    states = listener.listen(JointState, '/joint_states', 100)
    poses = listener.listen(PoseStamped, f'{TRUTH}/pose', 100)

    def pairs():
        by_stamp = {nanoseconds(message): message for message in states}
        return [(m, by_stamp[nanoseconds(m)]) for m in poses if nanoseconds(m) in by_stamp]

    # A reader on a busy machine may lose messages of either.
    listener.wait_for(lambda: len(states) > 200 and len(poses) > 20 and len(pairs()) > 10)
    for pose, state in pairs():
        assert (*state.name,) == PEER.robot.joint_names
        expected = PEER.forward_kinematics(np.array(state.position), 'tool0')
        position = pose.pose.position
        assert [position.x, position.y, position.z] == pytest.approx(expected[:3, 3], abs=1e-12)
        assert pose.header.frame_id == PEER.robot.root_frame


def test_a_push_is_felt_in_the_joints_and_told_at_its_very_stamps(listener):
    states = listener.listen(JointState, '/joint_states', 200)
    wrenches = listener.listen(WrenchStamped, f'{TRUTH}/wrench', 200)
    torques = listener.listen(JointState, f'{TRUTH}/external_torques', 200)
    listener.wait_for(lambda: states and wrenches and torques)

    def pushed():
        return [m for m in wrenches if m.wrench.force != Vector3()]

    # The first sample with the push to the last: 0.5 s but for the spacing of truth messages.
    expected, lasted = pytest.approx(0.5, abs=0.0041), 0.0
    for _ in range(TRIES):  # a busy machine may lose the first or the last
        wrenches.clear()
        assert apply_wrench(listener, 'tool0', (0.0, 0.0, -12.0), 0.5).code == Result.SUCCESS
        listener.wait_for(lambda: pushed() and wrenches[-1].wrench.force == Vector3())
        during = pushed()
        lasted = (nanoseconds(during[-1]) - nanoseconds(during[0])) * 1e-9
        if lasted == expected:
            break
    assert lasted == expected
    for message in during:
        force = message.wrench.force
        assert math.hypot(force.x, force.y, force.z) == pytest.approx(12.0)
        assert message.header.frame_id == 'tool0'

    def moment():
        """State and torques of the middle of the push, or of what a busy machine has left."""
        at = {nanoseconds(message) for message in during[len(during) // 4 : -len(during) // 4]}
        felt = {nanoseconds(message): message for message in torques}
        return next(
            ((m, felt[t]) for m in states if (t := nanoseconds(m)) in at and t in felt), None
        )

    state, torque = listener.wait_for(moment)
    J = PEER.jacobian(np.array(state.position), 'tool0', 'local_world_aligned')
    assert list(torque.effort) == pytest.approx(J[:3].T @ (0.0, 0.0, -12.0), abs=1e-9)


def test_bad_requests_get_their_code_and_the_simulator_goes_on(listener, simulator):
    states = listener.listen(JointState, '/joint_states', 100)
    force = (1.0, 0.0, 0.0)
    assert apply_wrench(listener, 'nobody', force, 1.0).code == Result.UNKNOWN_FRAME
    answer = apply_wrench(listener, 'tool0', force, 1.0, expressed_in='nobody')
    assert answer.code == Result.UNKNOWN_FRAME
    assert apply_wrench(listener, 'tool0', force, 0.0).code == Result.INVALID_ARGUMENT
    answer = apply_wrench(listener, 'tool0', (math.nan, 0.0, 0.0), 1.0)
    assert answer.code == Result.INVALID_ARGUMENT
    assert 'wrench' in answer.message
    count = len(states)
    listener.wait_for(lambda: len(states) > count + 50)
    assert simulator.alive


def test_without_motion_the_robot_stands_still(ros, states):
    states.clear()
    ros.wait_for(lambda: len(states) > 200)
    positions = np.array([message.position for message in states])
    assert np.ptp(positions, axis=0) == pytest.approx(0.0, abs=1e-9)
    assert np.abs([message.velocity for message in states]).max() < 1e-9


def test_another_speed_and_rate_are_kept(listener):
    parameters = {'speed': 2.0, 'joint_state_rate': 100.0}
    with running('robot_simulator', DOMAIN, parameters, namespace='/fast'):
        states = listener.listen(JointState, '/fast/joint_states', 100)
        listener.wait_for(lambda: len(states) > 5)
        steps = np.diff([nanoseconds(message) for message in states])
        assert not (steps % 10_000_000).any() and min(steps) == 10_000_000


@pytest.mark.parametrize('clock', [False, True])
def test_after_a_long_stop_the_robot_goes_on_from_where_it_was_with_stamps_of_its_clock(clock):
    stop = 3.0
    parameters = {'publish_clock': clock}
    with (
        running('robot_simulator', DOMAIN, parameters, namespace='/stopped') as process,
        client(DOMAIN) as listener,
    ):
        states = listener.listen(JointState, '/stopped/joint_states', 1000)
        listener.wait_for(lambda: states)
        process.send(signal.SIGSTOP)
        time.sleep(stop)
        process.send(signal.SIGCONT)
        listener.wait_for(lambda: 'simulated time has slipped by' in process.printed)
        count = len(states)
        listener.wait_for(lambda: len(states) > count + 100)
        late = 1e-9 * (time.time_ns() - nanoseconds(states[-1]))
    stamps = np.array([nanoseconds(x) for x in states])
    assert not (np.diff(stamps) % STEP).any()
    jump = 1e-9 * np.diff(stamps)
    moved = np.abs(np.diff([x.position for x in states], axis=0)).max(axis=1)
    fastest = np.abs([x.velocity for x in states]).max()
    if clock:
        assert late > stop - 1.0 > jump.max()
    else:
        assert late < stop - 1.0 < jump.max()
        assert moved[jump.argmax()] < 0.2 * stop * fastest


@pytest.mark.parametrize(
    ('parameters', 'told'),
    [
        ({'robot_description': '<robot name="broken"'}, 'malformed'),
        ({'robot_description': '<robot name="post"><link name="post"/></robot>'}, 'no joint'),
        ({'tool_frame': 'nobody'}, 'nobody'),
    ],
    ids=['malformed', 'no joint', 'unknown tool'],
)
def test_a_wrong_parameter_ends_it_with_one_line_that_says_why(parameters, told):
    with running('robot_simulator', DOMAIN + 1, parameters) as process:
        assert process.wait() == 1
        assert told in process.printed.splitlines()[-1]
        assert 'Traceback' not in process.printed


def test_frames_have_the_prefix_of_the_nodes_in_messages_and_in_requests():
    parameters, own = {'frame_prefix': 'left/'}, {'namespace': '/left'}
    with client(DOMAIN) as listener, running('robot_simulator', DOMAIN, parameters, **own):
        poses = listener.listen(PoseStamped, f'/left{TRUTH}/pose', 100)
        wrenches = listener.listen(WrenchStamped, f'/left{TRUTH}/wrench', 100)
        listener.wait_for(lambda: poses and wrenches)
        assert poses[0].header.frame_id == 'left/base_link'
        assert wrenches[0].header.frame_id == 'left/tool0'
        for frame, axes in (('left/tool0', 'left/hand_link'), ('tool0', 'base_link')):
            result = apply_wrench(listener, frame, (1.0, 0.0, 0.0), 0.1, expressed_in=axes, **own)
            assert result.code == Result.SUCCESS, result.message
        refused = apply_wrench(listener, 'right/tool0', (1.0, 0.0, 0.0), 0.1, **own)
        assert refused.code == Result.UNKNOWN_FRAME


NAMES = list(Robot.from_urdf(description()).joint_names)
ros = shared(served, 'robot_simulator', DOMAIN + 1, {'motion': False})


@pytest.fixture(scope='module')
def states(ros):
    received = ros.listen(JointState, '/joint_states')
    ros.wait_for(lambda: received)
    return received


TRAJECTORY = '/robot_simulator/joint_trajectory'


def trajectory(positions, times, names=NAMES):
    points = [
        JointTrajectoryPoint(positions=list(q), time_from_start=duration_message(t))
        for q, t in zip(positions, times, strict=True)
    ]
    return JointTrajectory(joint_names=list(names), points=points)


def test_positions_alone_are_followed_smoothly_to_their_end(ros, states):
    begin = np.array(states[-1].position)
    end = begin + 0.1 * np.array([1, -1, 1, -1, 1, -1, 1])
    backwards = NAMES[::-1]
    goal = trajectory([begin[::-1], 0.5 * (begin + end)[::-1], end[::-1]], [0, 0.5, 1], backwards)
    ros.wait_for(
        lambda: np.abs(states[-1].velocity).max() > 0.01,
        meanwhile=lambda: ros.publish(TRAJECTORY, goal, qos_profile_sensor_data),
        period=0.3,
    )
    ros.wait_for(lambda: np.abs(np.array(states[-1].position) - end).max() < 0.01)
    largest = max(np.abs(message.velocity).max() for message in states)
    assert 0.1 < largest < 0.25, 'of a cubic in one second, not of a jump'


@pytest.mark.parametrize('kind', ['position', 'velocity'])
def test_arrays_lead_all_joints(ros, states, kind):
    states.clear()
    ros.wait_for(lambda: states)
    begin = np.array(states[-1].position)
    sent = begin + 0.05 if kind == 'position' else np.full(7, 0.1)
    command = Float64MultiArray(data=sent.tolist())
    ros.wait_for(
        lambda: (np.array(states[-1].position) - begin > 0.04).all(),
        meanwhile=lambda: ros.publish(f'/robot_simulator/{kind}_commands', command),
    )
    assert (np.array(states[-1].position) - begin < 0.1).all()


EFFORTS = '/robot_simulator/forward_effort_commands'


@pytest.mark.parametrize(
    ('topic', 'command', 'what'),
    [
        (TRAJECTORY, trajectory([[0.0]] * 2, [1.0, 2.0], ['of_another_robot']), 'joint_names'),
        (TRAJECTORY, trajectory([[0.0] * 7, [0.1] * 7], [1.0, 1.0]), 'time_from_start'),
        (TRAJECTORY, trajectory([[0.0] * 6] * 2, [1.0, 2.0]), 'positions'),
        (TRAJECTORY, trajectory([[np.nan] * 7], [1.0]), 'positions'),
        (TRAJECTORY, trajectory([], []), 'points'),
        (TRAJECTORY, trajectory([[0.0]], [1.0], NAMES[:1] * 2), 'positions: 1 values for 2 names'),
        (TRAJECTORY, trajectory([[0.0] * 2], [1.0], NAMES[:1] * 2), 'positions: a joint is named'),
        (TRAJECTORY, trajectory([[0.0]], [1.0], ['nobody']), "positions: unknown joint 'nobody'"),
        (EFFORTS, Float64MultiArray(data=[math.nan] * 7), 'efforts'),
        (EFFORTS, Float64MultiArray(data=[1.0]), 'efforts'),
    ],
)
def test_commands_that_make_no_sense_are_refused_and_the_simulator_goes_on(
    ros, states, topic, command, what
):
    logs, told = ros.listen(Log, '/rosout'), f'command refused: {what}'
    # Again and again, because the log passes one refusal in five seconds.
    ros.wait_for(
        lambda: any(told in log.msg for log in logs),
        meanwhile=lambda: ros.publish(topic, command, qos_profile_sensor_data),
        period=0.3,
    )
    count = len(states)
    ros.wait_for(lambda: len(states) > count + 50)
