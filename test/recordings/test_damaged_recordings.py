# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings and parameter files that are damaged: one line names the fault and the cure."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from rclpy.serialization import serialize_message
from ros_harness import description, stamp_of
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.recordings.bag import Recording, RecordingError, RecordingWriter
from dynamics_ros.recordings.command import main
from dynamics_ros.recordings.inputs import recorded_description
from dynamics_ros.recordings.settings import read_parameters
from dynamics_ros_msgs.msg import Payload

pytestmark = pytest.mark.ros

ROBOT = Robot.from_urdf(description(), backend='python')
NAMES = list(ROBOT.joint_names)
COUNT = 5


def joint_states(names=NAMES, size=7):
    for k in range(COUNT):
        message = JointState(name=list(names), position=[0.1] * size, effort=[0.0] * size)
        message.header.stamp = stamp_of((k + 1) * 10**9)
        yield message


@pytest.fixture
def record(tmp_path):
    """Writes a bag; ``payload`` is the bytes of a message on the topic of payloads."""

    def write(messages, payload=b''):
        path = tmp_path / 'recorded'
        with RecordingWriter(path, 'mcap') as writer:
            writer.write('/robot_description', String, 1, String(data=description()))
            if payload:
                writer.write('/payload', Payload, 2, payload)
            for message in messages:
                writer.write('/joint_states', JointState, 10**9, serialize_message(message))
        return path

    return write


def told(capsys, path, output):
    assert main([str(path), '--output', str(output)]) == 1
    line = capsys.readouterr().err.strip()
    assert '\n' not in line
    return line


@pytest.mark.parametrize(
    ('states', 'reason'),
    [
        (joint_states(['knee'], 1), 'no joint of the robot is named: knee (5)'),
        (joint_states([NAMES[0]] * 7), 'repeated names (5)'),
        (joint_states(NAMES, 3), 'wrong length of position (5)'),
    ],
    ids=['of another robot', 'a name twice', 'too few positions'],
)
def test_refused_joint_states_are_told_with_the_reason(record, tmp_path, capsys, states, reason):
    line = told(capsys, record(states), tmp_path / 'out')
    assert f'5 joint states were refused, mostly: {reason}' in line


def test_a_recording_that_breaks_off_comes_with_its_cure(record, tmp_path, capsys):
    path = record(joint_states())
    (file,) = path.glob('*.mcap')
    file.write_bytes(file.read_bytes()[:-100])
    assert 'mcap recover' in told(capsys, path, tmp_path / 'out')


def test_a_recording_without_its_metadata_comes_with_its_cure(record, tmp_path, capsys):
    path = record(joint_states())
    (path / 'metadata.yaml').unlink()
    assert 'ros2 bag reindex' in told(capsys, path, tmp_path / 'out')
    shutil.rmtree(path)
    path.mkdir()
    assert 'reindex' not in told(capsys, path, tmp_path / 'out')


def test_a_description_that_only_the_index_knows_is_damaged(record, monkeypatch):
    with Recording(record(joint_states())) as recording:
        monkeypatch.setattr(recording, 'messages', lambda topics: iter(()))
        with pytest.raises(RecordingError, match='robot_description is damaged'):
            recorded_description(recording, '/joint_states')


def test_a_damaged_payload_is_refused_and_ends_nothing(record, tmp_path, capsys, caplog):
    path = record(joint_states(), payload=b'\x00\x01\x00\x00\x01\x02')
    assert 'nothing could be estimated' in told(capsys, path, tmp_path / 'out')
    assert 'payload refused: the message is damaged' in caplog.text


@pytest.mark.parametrize(
    ('content', 'problem'),
    [
        (b'# f\xfcr den Arm\n/**: {ros__parameters: {}}\n', 'UTF-8'),
        (b'1: {ros__parameters: {}}\n', '1 is no name'),
        (b'/**: {ros__parameters: [1, 2]}\n', 'ros__parameters of /** is list'),
        (b'/**: {ros__parameters: [\n', 'line 2: expected the node content'),
    ],
)
def test_a_file_that_holds_no_parameters_is_refused_in_one_line(tmp_path, content, problem):
    path = tmp_path / 'parameters.yaml'
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError) as refusal:
        read_parameters(path, 'contact_node')
    assert problem in str(refusal.value)
    assert '\n' not in str(refusal.value)
