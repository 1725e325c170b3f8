# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""dynamics_node fills the efforts of trajectories, by a service."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from ros_harness import client, description, running
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dynamics_ros import Robot
from dynamics_ros.control import FeedForward, JointMotion
from dynamics_ros.estimation.effort_model import EffortModel
from dynamics_ros.simulation import comfortable_posture
from dynamics_ros.wire.conversions import duration_message, seconds
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeTrajectoryEfforts

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 146
NODE = '/dynamics_node'
ROBOT = Robot.from_urdf(description())
NAMES = ROBOT.joint_names
HOME = comfortable_posture(ROBOT, 'tool0')
FRICTION = EffortModel.from_robot(ROBOT).friction_torque
TIME = [1.0, 2.0, 3.5]
Q = np.array([HOME, HOME + 0.1, HOME - 0.05])
V = np.array([0.0 * HOME, 0.0 * HOME + 0.1, 0.0 * HOME])
A = np.array([0.0 * HOME + 0.2, 0.0 * HOME - 0.1, 0.0 * HOME])


def trajectory(q=Q, v=None, a=None, time=TIME, names=NAMES):
    rows = ((), ()) if v is None else (v, a if a is not None else ())
    points = [
        JointTrajectoryPoint(
            positions=list(map(float, q[i])),
            velocities=list(map(float, rows[0][i])) if len(rows[0]) else [],
            accelerations=list(map(float, rows[1][i])) if len(rows[1]) else [],
            time_from_start=duration_message(t),
        )
        for i, t in enumerate(time)
    ]
    return JointTrajectory(joint_names=list(names), points=points)


@pytest.fixture(scope='module')
def ros():
    parameters = {'robot_description': description()}
    with running('dynamics_node', DOMAIN, parameters), client(DOMAIN) as one:
        one.wait_for(lambda: compute(one, trajectory()).result.code == Result.SUCCESS)
        yield one


def compute(ros, message):
    request = ComputeTrajectoryEfforts.Request(trajectory=message)
    return ros.call(ComputeTrajectoryEfforts, f'{NODE}/compute_trajectory_efforts', request)


@pytest.mark.parametrize('given', [(), (V,), (V, A)], ids=['q', 'q v', 'q v a'])
def test_the_service_fills_efforts_and_what_is_missing(ros, given):
    answer = compute(ros, trajectory(Q, *given))
    assert answer.result.code == Result.SUCCESS, answer.result.message
    motion = JointMotion.of(NAMES, TIME, Q, *given)
    expected = FeedForward(ROBOT, HOME, FRICTION).efforts(motion)
    points = answer.trajectory.points
    assert np.abs(np.array([p.effort for p in points]) - expected).max() < 1e-9
    assert np.abs(np.array([p.velocities for p in points]) - motion.v).max() < 1e-12
    assert [seconds(p.time_from_start) for p in points] == TIME
    assert list(answer.violations) == []


def test_the_service_tells_what_is_beyond_limits(ros):
    far = Q.copy()
    far[1, 2] = ROBOT.upper_limits[2] + 0.2
    answer = compute(ros, trajectory(far, V))
    assert answer.result.code == Result.SUCCESS
    found = [x for x in answer.violations if x.quantity == 'position']
    assert [x.joint for x in found] == [NAMES[2]]
    assert found[0].limit == ROBOT.upper_limits[2]
    assert found[0].value >= far[1, 2] - 1e-9
    assert seconds(found[0].time_from_start) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ('message', 'words'),
    [
        (JointTrajectory(joint_names=list(NAMES)), 'points'),
        (trajectory(time=[1.0, 1.0, 2.0]), 'time_from_start'),
        (trajectory(q=Q[:, :6]), 'positions'),
        (trajectory(q=Q * np.nan), 'positions'),
        (trajectory(names=['nowhere', *NAMES[1:]]), 'nowhere'),
        (trajectory(q=Q[:, :1], names=NAMES[:1]), 'joint'),
    ],
    ids=['no points', 'times', 'counts', 'NaN', 'unknown joint', 'others not known'],
)
def test_bad_trajectories_are_refused_by_name(ros, message, words):
    answer = compute(ros, message)
    assert answer.result.code < 0
    assert words in answer.result.message
    assert not answer.trajectory.points
