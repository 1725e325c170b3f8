# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated robot follows trajectories as behind a joint_trajectory_controller."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from control_msgs.action import FollowJointTrajectory
from rcl_interfaces.msg import Log
from rclpy.action import ActionClient
from ros_harness import client, description, running
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import duration_message

pytestmark = pytest.mark.ros

DOMAIN = 167

NAMES = list(Robot.from_urdf(description()).joint_names)


@pytest.fixture(scope='module')
def ros():
    with running('robot_simulator', DOMAIN, {'motion': False}), client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def states(ros):
    received = ros.listen(JointState, '/joint_states')
    ros.wait_for(lambda: received)
    return received


@pytest.fixture(scope='module')
def controller(ros, states):
    found = ActionClient(
        ros.node, FollowJointTrajectory, '/robot_simulator/follow_joint_trajectory'
    )
    ros.wait_for(found.server_is_ready)
    return found


def trajectory(positions, times, names=NAMES):
    points = [
        JointTrajectoryPoint(positions=list(q), time_from_start=duration_message(t))
        for q, t in zip(positions, times, strict=True)
    ]
    return FollowJointTrajectory.Goal(
        trajectory=JointTrajectory(joint_names=list(names), points=points)
    )


def answered(ros, controller, goal):
    sent = controller.send_goal_async(goal)
    ros.wait_for(sent.done)
    return sent.result()


def test_positions_alone_are_followed_smoothly_to_their_end(ros, states, controller):
    begin = np.array(states[-1].position)
    end = begin + 0.1 * np.array([1, -1, 1, -1, 1, -1, 1])
    backwards = NAMES[::-1]
    goal = trajectory([begin[::-1], 0.5 * (begin + end)[::-1], end[::-1]], [0, 0.5, 1], backwards)
    handle = answered(ros, controller, goal)
    assert handle.accepted
    result = handle.get_result_async()
    ros.wait_for(result.done)
    found = result.result().result
    assert found.error_code == found.SUCCESSFUL, found.error_string
    ros.wait_for(lambda: np.abs(np.array(states[-1].position) - end).max() < 0.01)


@pytest.mark.parametrize(
    ('goal', 'what'),
    [
        (trajectory([[0.0]], [1.0], ['of_another_robot']), 'joint_names'),
        (trajectory([[0.0] * 7, [0.1] * 7], [1.0, 1.0]), 'time_from_start'),
        (trajectory([[0.0] * 6], [1.0]), 'positions'),
        (trajectory([[np.nan] * 7], [1.0]), 'positions'),
        (trajectory([], []), 'points'),
    ],
)
def test_what_is_no_trajectory_is_rejected(ros, controller, goal, what):
    logs = ros.listen(Log, '/rosout')
    assert not answered(ros, controller, goal).accepted
    # Again and again: what is logged before the listener is known does not arrive.
    ros.wait_for(
        lambda: any(f'trajectory refused: {what}' in log.msg for log in logs),
        meanwhile=lambda: controller.send_goal_async(goal),
        period=0.3,
    )
