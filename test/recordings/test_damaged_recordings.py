# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are damaged or end by a signal: one line names the fault and the cure."""

from __future__ import annotations

import os
import shutil
import tracemalloc

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

import signal

import lz4.frame
from rclpy.serialization import serialize_message
from ros_harness import description, stamp_of
from rosbags.rosbag2 import (
    CompressionFormat,
    CompressionMode,
    StoragePlugin,
    Writer,
    storage_mcap,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.files import completed
from dynamics_ros.recordings import bag, command
from dynamics_ros.recordings.bag import Recording, RecordingError, RecordingWriter
from dynamics_ros.recordings.command import SIGNALS, main
from dynamics_ros.recordings.settings import read_parameters
from dynamics_ros.recordings.states import recorded_description
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


@pytest.mark.parametrize(
    ('content', 'problem'),
    [
        (b'# f\xfcr den Arm\n/**: {ros__parameters: {}}\n', 'UTF-8'),
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


class TestWhatDecompressesToMuch:
    """Bombs: a few kilobytes that would fill the memory."""

    @pytest.fixture(autouse=True)
    def little(self, monkeypatch):
        monkeypatch.setattr(bag, 'MAXIMUM_CHUNK', 1_000_000)

    @pytest.mark.parametrize(
        ('plugin', 'mode'),
        [
            (StoragePlugin.MCAP, CompressionMode.STORAGE),
            (StoragePlugin.SQLITE3, CompressionMode.MESSAGE),
        ],
    )
    @pytest.mark.parametrize('size', [900_000, 20_000_000])
    def test_is_refused_before_it_is_whole(self, tmp_path, plugin, mode, size):
        path = tmp_path / 'bag'
        writer = Writer(path, version=9, storage_plugin=plugin)
        writer.set_compression(mode, CompressionFormat.ZSTD)
        with writer:
            connection = writer.add_connection(
                '/text', String.__name__, msgdef='string data', rihs01='RIHS01_0'
            )
            writer.write(connection, 1, bytes(size))
        assert sum(file.stat().st_size for file in path.iterdir()) < 100_000
        with Recording(path) as recording:
            messages = recording.messages(['/text'])
            if size < bag.MAXIMUM_CHUNK:
                assert len(next(messages)[2]) == size
                return
            tracemalloc.start()
            with pytest.raises(RecordingError, match='larger than 1 MB when decompressed'):
                next(messages)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert most < 4 * bag.MAXIMUM_CHUNK

    def test_of_lz4_and_of_several_frames_is_refused_too(self):
        frame = lz4.frame.compress(bytes(600_000))
        assert storage_mcap.lz4_decompress(frame) == bytes(600_000)
        with pytest.raises(DynamicsRosError, match='larger than 1 MB'):
            storage_mcap.lz4_decompress(frame + frame)
        with pytest.raises(EOFError):
            storage_mcap.lz4_decompress(frame[:-9])

    def test_a_pipe_is_no_recording(self, tmp_path):
        os.mkfifo(tmp_path / 'pipe.mcap')
        with pytest.raises(RecordingError, match='is a pipe or device'):
            Recording(tmp_path / 'pipe.mcap')


@pytest.mark.parametrize('number', SIGNALS)
def test_an_estimation_that_is_ended_leaves_no_partial_recording(
    tmp_path, monkeypatch, capsys, number
):
    def ended(options):
        with completed(options.output) as partial:
            partial.mkdir()
            os.kill(os.getpid(), number)
            signal.pause()

    monkeypatch.setattr(command, 'estimate', ended)
    assert command.main(['bag', '--output', str(tmp_path / 'out')]) == command.INTERRUPTED
    assert list(tmp_path.iterdir()) == []
    assert 'interrupted; nothing is written' in capsys.readouterr().err


def described(path, messages):
    with RecordingWriter(path, 'mcap') as writer:
        for topic, time, text in messages:
            message = JointState() if text is None else String(data=text)
            writer.write(topic, type(message), time, message)
    return path


@pytest.mark.parametrize(
    ('messages', 'joint_states', 'expected'),
    [
        (
            [
                ('/robot_description', 1, 'old'),
                ('/robot_description', 2, 'new'),
                ('/joint_states', 3, None),
                ('/robot_description', 4, 'late'),
            ],
            '/joint_states',
            'new',
        ),
        ([('/joint_states', 3, None), ('/robot_description', 4, 'late')], '/joint_states', 'late'),
        (
            [
                ('/left/robot_description', 1, 'left'),
                ('/right/robot_description', 2, 'right'),
                ('/left/joint_states', 3, None),
                ('/right/joint_states', 3, None),
            ],
            '/left/joint_states',
            'left',
        ),
        (
            [
                ('/robot_description', 1, 'whole'),
                ('/right/robot_description', 2, 'right'),
                ('/left/joint_states', 3, None),
            ],
            '/left/joint_states',
            'whole',
        ),
    ],
)
def test_the_newest_description_before_the_data_counts(tmp_path, messages, joint_states, expected):
    with Recording(described(tmp_path / 'bag', messages)) as recording:
        assert recorded_description(recording, joint_states) == expected


def test_without_a_description_the_option_is_named(tmp_path):
    path = described(tmp_path / 'bag', [('/joint_states', 3, None)])
    with Recording(path) as recording, pytest.raises(RecordingError, match='--robot FILE'):
        recorded_description(recording, '/joint_states')
