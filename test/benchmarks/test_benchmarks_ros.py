# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the nodes: its source sends what it says, its meter counts and times answers."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest

from benchmarks.control_node import COUNTERS, answers, with_counters
from benchmarks.robots import urdf_path
from dynamics_ros import Robot

pytest.importorskip('rclpy')

from nav_msgs.msg import Odometry
from patience import PATIENCE
from rclpy.serialization import serialize_message
from ros_harness import occupy
from sensor_msgs.msg import JointState

from benchmarks.ros_echo import CAPTURED
from benchmarks.ros_meter import Meter, start
from benchmarks.ros_source import write_turn
from benchmarks.ros_subjects import SUBJECTS

pytestmark = pytest.mark.ros

DOMAIN = 88


@pytest.fixture
def meter(monkeypatch):
    occupy(DOMAIN)
    monkeypatch.setitem(os.environ, 'ROS_DOMAIN_ID', str(DOMAIN))
    one = Meter()
    yield one
    one.close()


def one_publisher():
    return [[('joint_states', JointState(name=['a', 'b'], position=[1.0, 2.0]))]]


def two_publishers_and_odometry():
    joints = [JointState(name=[name], position=[1.0]) for name in 'ab']
    return [[('odom', Odometry()), ('joint_states', joints[0])], [('joint_states', joints[1])]]


@pytest.mark.parametrize('turn', [one_publisher(), two_publishers_and_odometry()])
def test_an_echo_answers_every_state_at_a_cost(meter, tmp_path, turn):
    write_turn(tmp_path, turn)
    (tmp_path / 'out').write_bytes(serialize_message(turn[0][-1][1]))
    entry = {'topic': 'out', 'type': 'sensor_msgs/JointState', 'file': 'out'}
    (tmp_path / CAPTURED).write_text(json.dumps([{**entry, 'timed': True, 'every': True}]))
    echo = start('ros_echo', str(tmp_path), '--ros-args', '-r', '__ns:=/echo')
    try:
        with meter.listening({'/echo/out': 'sensor_msgs/JointState'}, '/echo/out'):
            with meter.publishing('echo', turn) as publish:
                meter.first_answer(publish)
            found = meter.measure(echo.pid, 'echo', tmp_path, 200.0, 1.0)
    finally:
        echo.terminate()
        assert echo.wait(PATIENCE) == 0
    assert found.sent == 200
    assert found.received == 200
    assert found.seconds > 0.5  # 1 s, and less where the first states are late
    assert found.cost > 0.0
    assert 0.0 < found.percentile(50.0) <= found.percentile(99.0)


@pytest.mark.parametrize('subject', SUBJECTS, ids=lambda subject: subject.name)
def test_publishers_tell_all_joints_of_a_robot_at_rest(subject):
    robot, parts = subject.model, subject.turn()
    told = [message for part in parts for topic, message in part if topic == 'joint_states']
    names = [name for message in told for name in message.name]
    assert len(told) == len(parts) == subject.publishers
    assert set(robot.joint_names) <= set(names)
    assert set(subject.extra) == set(names) - set(robot.joint_names) - {'panda_finger_joint2'}
    # At rest: what efforts and the ground leave of the weight is nothing.
    efforts = {
        name: effort for part in told for name, effort in zip(part.name, part.effort, strict=True)
    }
    q, free = subject.posture(), robot.nv - len(robot.joint_names)
    torques = [0.0] * free + [efforts[name] for name in robot.joint_names]
    left = robot.gravity(q) - torques
    if subject.feet:
        jacobian = np.vstack([robot.jacobian(q, foot)[:3] for foot in subject.feet])
        left -= jacobian.T @ np.linalg.lstsq(jacobian.T, left, rcond=None)[0]
    assert left == pytest.approx(np.zeros(robot.nv), abs=1e-9)
    # Each topic of the subject is one that its nodes are told to publish.
    topics = subject.topics()
    assert subject.timed in topics
    for frame in (*subject.frames, *subject.contacts, *subject.feet):
        assert frame in robot.frame_names
    assert ('contact_node/foot_contacts' in topics) == bool(subject.feet)


@pytest.mark.parametrize(
    ('answered', 'expected'),
    [
        ([(2500, 0), (2600, 1), (4400, 0), (4500, 2)], [1500, 600, 1500, 400]),
        # A state without an answer is lost, and shifts no other.
        ([(500, 0), (1100, 0), (3100, 2), (4100, 0)], [100, math.nan, 100, 100]),
        ([], [math.nan] * 4),
    ],
)
def test_each_command_answers_the_state_of_its_number(answered, expected):
    trips, lost = answers([1000, 2000, 3000, 4000], answered, 3)
    np.testing.assert_array_equal(trips, expected)
    assert lost == np.isnan(expected).sum()


def test_torques_of_the_counters_tell_the_number_of_a_state_and_the_arm_feels_nothing():
    source = pytest.importorskip('benchmarks.ros_source')
    plain = Robot.from_urdf(urdf_path('xarm7'))
    text = with_counters(urdf_path('xarm7').read_text(), plain.root_frame)
    robot = Robot.from_urdf(text)
    assert tuple(robot.joint_names[-2:]) == COUNTERS
    q = robot.neutral()
    for number in range(source.CYCLE):
        angle = 2.0 * math.pi * number / source.CYCLE
        q[-2:] = source.SWING * math.cos(angle), source.SWING * math.sin(angle)
        torques = robot.gravity(q)
        assert source.number_of(*torques[-2:]) == number
    assert torques[:-2] == pytest.approx(plain.gravity(plain.neutral()), abs=1e-9)
