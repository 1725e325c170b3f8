# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes on robots with closed loops: a gripper, a palletizer, a delta."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from closed_mechanisms import GRIPPER, MECHANISMS, PALLETIZER, one_way
from numpy.testing import assert_allclose
from rclpy.action import ActionClient
from ros_harness import client, result_of, running, send_goal
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectoryPoint

from dynamics_ros.constraints import gravity_in_loops, inverse_dynamics_in_loops, widest_gap
from dynamics_ros.wire.conversions import pose_stamped
from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import (
    ComputeForwardDynamics,
    ComputeInverseDynamics,
    ComputeInverseKinematics,
    ComputeTrajectoryEfforts,
)

pytestmark = pytest.mark.ros

DOMAIN = 199

SAME = 1e-9


@pytest.fixture(scope='module', params=list(MECHANISMS))
def case(request, tmp_path_factory):
    mechanism = MECHANISMS[request.param]
    robot = mechanism.robot()
    file = tmp_path_factory.mktemp('robot') / f'robot.{"xml" if mechanism is GRIPPER else "urdf"}'
    file.write_text(mechanism.source)
    parameters = {
        'robot_description_file': str(file),
        'state_timeout': 0.0,
        'gravity': [float(x) for x in robot.model.gravity],
        'command_joints': [x for x in robot.joint_names if x not in robot.model.passive_joints],
        'frames': [mechanism.tool],
        'publish_rate': 0.0,
        'inverse_kinematics.timeout': 2.0,
    }
    if mechanism.loops:
        parameters |= {'loops': list(mechanism.loops), 'passive_joints': list(mechanism.passive)}
    with running('dynamics_ros', DOMAIN, parameters), client(DOMAIN) as ros:
        yield mechanism, robot, ros


def state_of(case, *, velocity=False):
    mechanism, robot, ros = case
    q, v, _ = mechanism.motion(robot)
    return ros.joint_state(robot.joint_names, q, v if velocity else 0.0 * v, 0.0 * v)


def test_gravity_torques_are_those_of_the_motors(case):
    mechanism, robot, ros = case
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    commands = ros.listen(Float64MultiArray, '/dynamics_node/gravity_commands')
    found = ros.exchange(state_of(case), torques)
    q = mechanism.q(robot, mechanism.u)
    expected = dict(zip(robot.joint_names, gravity_in_loops(robot, q), strict=True))
    assert_allclose([expected[name] for name in found.name], found.effort, atol=SAME)
    assert {name for name in found.name if expected[name] == 0.0} >= {*robot.model.passive_joints}
    ros.wait_for(lambda: commands, meanwhile=lambda: ros.publish_joint_state(state_of(case)))
    driven = [x for x in robot.joint_names if x not in robot.model.passive_joints]
    assert_allclose(commands[-1].data, [expected[name] for name in driven], atol=SAME)
    told = ros.wait_for_report('dynamics_node')['closed loops']
    assert told.split('; ') == [' '.join(loop) for loop in robot.model.loops]


def test_a_state_that_opens_a_loop_is_told_with_the_figure_and_not_used(case):
    mechanism, robot, ros = case
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.exchange(state_of(case), torques)
    q = mechanism.q(robot, mechanism.u)
    q[-1] += 0.2
    gap = widest_gap(robot, q)

    def send():
        ros.publish_joint_state(ros.joint_state(robot.joint_names, q, 0.0 * q))

    told = f'{gap.loop.other!r} is open by {1e3 * gap.distance:.3g} mm'
    for node, word in (('dynamics_node', 'silent: '), ('kinematics_node', 'publishing')):
        ros.wait_for_status(node, told, meanwhile=send)
        assert ros.status(node).message.startswith(word)
        assert ros.wait_for_report(node, meanwhile=send)['reason'] == 'loop_open'
    torques.clear()
    ros.wait_for_report('dynamics_node', meanwhile=send)
    assert torques == []
    request = ComputeInverseDynamics.Request(state=ros.joint_state(robot.joint_names, q))
    response = ros.call(
        ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics', request
    ).result
    assert response.code == Result.INVALID_ARGUMENT and told in response.message
    ros.exchange(state_of(case), torques)


def test_services_of_dynamics_know_the_loops(case):
    mechanism, robot, ros = case
    q, v, a = mechanism.motion(robot)
    driven = [x for x in robot.joint_names if x not in robot.model.passive_joints]
    request = ComputeInverseDynamics.Request(
        state=ros.joint_state(robot.joint_names, q, v),
        acceleration_names=driven,
        accelerations=[a[robot.joint_v_indices[name]] for name in driven],
    )
    found = ros.call(ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics', request)
    assert found.result.code == Result.SUCCESS, found.result.message
    tau = dict(zip(found.torques.name, found.torques.effort, strict=True))
    expected = inverse_dynamics_in_loops(robot, q, v, a)
    torques = np.array([tau[name] for name in robot.joint_names])
    assert_allclose(torques, expected, atol=1e-6 * np.abs(expected).max())
    request = ComputeForwardDynamics.Request(
        state=ros.joint_state(robot.joint_names, q, v, torques)
    )
    found = ros.call(ComputeForwardDynamics, '/dynamics_node/compute_forward_dynamics', request)
    assert found.result.code == Result.SUCCESS, found.result.message
    assert_allclose(found.accelerations, a, atol=1e-4 * np.abs(a).max())


def holding(case, mass, period=0.004):
    """Publishes one state after another of the mechanism in motion, with a load in its tool."""
    mechanism, robot, ros = case
    loaded, count = robot.with_payload(mechanism.tool, mass), len(mechanism.u)
    w, size = np.linspace(2.0, 4.0, count), 0.2 * mechanism.u

    def at(t):
        u = mechanism.u + size * (1.0 - np.cos(w * t))
        return mechanism.q(robot, u), mechanism.slope(robot, u) @ (size * w * np.sin(w * t))

    for k in itertools.count():
        t = k * period
        (q, v), (_, after), (_, before) = (at(t + h) for h in (0.0, 1e-4, -1e-4))
        tau = inverse_dynamics_in_loops(loaded, q, v, (after - before) / 2e-4)
        ros.publish_joint_state(ros.joint_state(robot.joint_names, q, v, tau, step=period))
        yield


def test_what_the_tool_holds_is_identified_through_the_loops(case):
    mechanism, _, ros = case
    actions = ActionClient(ros.node, IdentifyPayload, '/dynamics_node/identify_payload')
    states = holding(case, 0.8)
    ros.wait_for(actions.server_is_ready, meanwhile=lambda: next(states))
    goal = {'frame': mechanism.tool, 'duration': 2.5}
    answer = result_of(ros, send_goal(IdentifyPayload, ros, actions, states, **goal), states)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED, answer.result.result.message
    assert answer.result.payload.inertia.m == pytest.approx(0.8, rel=0.02)
    assert answer.result.mass_observable and answer.result.samples > 100


def test_efforts_of_a_trajectory_know_the_loops(case):
    mechanism, robot, ros = case
    driven = [x for x in robot.joint_names if x not in robot.model.passive_joints]
    columns = [robot.joint_v_indices[name] for name in driven]
    ros.exchange(state_of(case), ros.listen(JointState, '/dynamics_node/gravity_torques'))
    request = ComputeTrajectoryEfforts.Request()
    request.trajectory.joint_names = driven
    motions = [replace(mechanism, u=mechanism.u + shift).motion(robot) for shift in (0.0, 0.05)]
    for number, rows in enumerate(motions):
        q, v, a = (row[columns].tolist() for row in rows)
        point = JointTrajectoryPoint(positions=q, velocities=v, accelerations=a)
        point.time_from_start = Duration(sec=number)
        request.trajectory.points.append(point)
    path = '/dynamics_node/compute_trajectory_efforts'
    found = ros.call(ComputeTrajectoryEfforts, path, request)
    assert found.result.code == Result.SUCCESS, found.result.message
    for point, rows in zip(found.trajectory.points, motions, strict=True):
        expected = inverse_dynamics_in_loops(robot, *rows)[columns]
        assert_allclose(point.effort, expected, atol=1e-5 * np.abs(expected).max())
    request.trajectory.points[1].positions[0] += 4.0  # where the loops do not close
    refused = ros.call(ComputeTrajectoryEfforts, path, request).result
    assert refused.code == Result.INVALID_ARGUMENT
    assert 'loops do not close' in refused.message


def test_inverse_kinematics_closes_the_loops(case):
    mechanism, robot, ros = case
    wanted = mechanism.q(robot, mechanism.u + 0.1 * mechanism.rate)
    pose = robot.forward_kinematics(wanted, mechanism.tool)
    request = ComputeInverseKinematics.Request(
        target=pose_stamped(ros.next_stamp(), '', pose),
        frame=mechanism.tool,
        seed=ros.joint_state(robot.joint_names, mechanism.q(robot, mechanism.u)),
    )
    found = ros.call(
        ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics', request
    )
    assert found.result.code == Result.SUCCESS, found.result.message
    positions = dict(zip(found.solution.name, found.solution.position, strict=True))
    q = np.array([positions[name] for name in robot.joint_names])
    assert max(widest_gap(robot, q)[1:]) < 1e-7
    assert_allclose(q, wanted, atol=1e-4)
    request.max_solutions = 4
    found = ros.call(
        ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics', request
    )
    assert found.result.code == Result.SUCCESS, found.result.message
    positions = dict(zip(found.solution.name, found.solution.position, strict=True))
    assert_allclose([positions[name] for name in robot.joint_names], q, atol=1e-6)


def test_contact_node_does_not_take_forces_of_loops_for_contacts(case):
    _, _, ros = case
    ros.wait_for_status('contact_node', 'silent: loops: are not known to this node')
    assert 'locked_joints' in ros.status('contact_node').message


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ({'loops': ['one']}, "'frame other'"),
        ({'loops': ['rod_end rare']}, "unknown frame 'rare'"),
        ({'passive_joints': ['yaw']}, "'yaw' is one of passive_joints"),
        ({'loops': []}, 'publishing'),
    ],
)
def test_loops_and_passive_joints_are_parameters(given, words):
    robot = PALLETIZER.robot()
    parameters = {
        'robot_description': PALLETIZER.source,
        'loops': list(PALLETIZER.loops),
        'command_joints': ['yaw'],
    } | given
    # Without loops an open one is none.
    q = PALLETIZER.q(robot, PALLETIZER.u)
    q[-1] += 0.2

    def send():
        ros.publish_joint_state(ros.joint_state(robot.joint_names, q, 0.0 * q))

    with running('dynamics_node', DOMAIN + 1, parameters) as node, client(DOMAIN + 1) as ros:
        if given == {'loops': ['one']}:
            assert node.wait() == 1 and words in node.printed
        else:
            ros.wait_for_status('dynamics_node', words, meanwhile=send)


@pytest.mark.parametrize('mechanism', [one_way(PALLETIZER), PALLETIZER])
def test_a_driver_reports_the_joints_with_motors_alone(mechanism):
    robot, driven = mechanism.robot(), ['yaw', 'shoulder', 'drive']
    parameters = {
        'robot_description': mechanism.source,
        'loops': list(mechanism.loops),
        'passive_joints': list(mechanism.passive),
        'publish_rate': 0.0,
    }
    q, v, a = mechanism.motion(robot)

    def values(of):
        return [of[robot.joint_v_indices[name]] for name in driven]

    with running('dynamics_node', DOMAIN + 2, parameters), client(DOMAIN + 2) as ros:
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        state = ros.joint_state(driven, values(q), values(v), values(0.0 * q))
        if mechanism is PALLETIZER:
            told = 'the loops leave none or several within the limits'
            ros.wait_for_status(
                'dynamics_node', told, meanwhile=lambda: ros.publish_joint_state(state)
            )
            assert not torques
            return
        found = ros.exchange(state, torques)
        of_joint = dict(zip(robot.joint_names, gravity_in_loops(robot, q), strict=True))
        assert_allclose([of_joint[name] for name in found.name], found.effort, atol=1e-6)
        report = ros.wait_for_report('dynamics_node')
        assert {*report['joints computed from loops'].split(', ')} == {*mechanism.passive}
        assert report['missing joints'] == ''
        for given in (JointState(), state):
            request = ComputeInverseDynamics.Request(
                state=given, acceleration_names=driven, accelerations=values(a)
            )
            answer = ros.call(
                ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics', request
            )
            assert answer.result.code == Result.SUCCESS, answer.result.message
            of_joint = dict(zip(answer.torques.name, answer.torques.effort, strict=True))
            expected = inverse_dynamics_in_loops(robot, q, v, a)
            assert_allclose([of_joint[x] for x in robot.joint_names], expected, atol=1e-4)
        moved = q + 0.05 * v
        for named in (driven, ['shoulder']):
            positions = [moved[robot.joint_q_indices[name]] for name in named]
            request.state = ros.joint_state(named, positions)
            answer = ros.call(
                ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics', request
            )
            assert answer.result.code == Result.SUCCESS, answer.result.message
