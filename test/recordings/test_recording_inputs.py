# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is read of a bag: ROS 1 messages as those of ROS 2, and which description counts."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros.recordings.bag import Recording, RecordingError, RecordingWriter
from dynamics_ros.recordings.inputs import recorded_description
from dynamics_ros.recordings.ros1 import JointStateConverter
from dynamics_ros.recordings.thinning import THINNED_POINTS, ThinnedCurve
from dynamics_ros.wire.cdr import JointStateReader

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('frame', ['', 'a', 'base', 'baselink'])
@pytest.mark.parametrize('names', [('a',), ('shoulder', 'elbow_joint', 'x')])
@pytest.mark.parametrize('told', ['pve', 'p', 'pe', ''])
def test_a_joint_state_of_ros_1_is_the_one_of_ros_2(frame, names, told):
    ros1, ros2 = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_KILTED)
    kind, converter = 'sensor_msgs/msg/JointState', JointStateConverter()
    rng = np.random.default_rng(0)
    for sequence in range(3):
        values = [rng.normal(size=len(names) if x in told else 0) for x in 'pve']
        messages = []
        for store, first in ((ros1, (sequence,)), (ros2, ())):
            time = store.types['builtin_interfaces/msg/Time'](7 + sequence, 5)
            header = store.types['std_msgs/msg/Header'](*first, time, frame)
            messages.append(store.types[kind](header, list(names), *values))
        data = bytes(ros1.serialize_ros1(messages[0], kind))
        converted = converter(data)
        assert converted == bytes(ros2.serialize_cdr(messages[1], kind))
        read = JointStateReader().read(converted)
        assert (read.names, read.time) == (names, (7 + sequence) * 10**9 + 5)
        np.testing.assert_array_equal(read.position, values[0])
        with pytest.raises(ValueError, match='within a field'):
            JointStateConverter()(data[:-9] if told else data[:20])


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


def test_a_curve_keeps_its_size_and_no_state_is_lost():
    curve, count = ThinnedCurve(3), 7 * THINNED_POINTS + 11
    for k in range(count):
        curve.add([float(k), 2.0 * k, float(k == 12_345)])
    rows = curve.rows
    assert THINNED_POINTS / 2 < len(rows) <= 2 * THINNED_POINTS
    assert (np.diff(rows[:, 0]) > 0.0).all()
    np.testing.assert_array_equal(rows[:, 1], 2.0 * rows[:, 0])
    (touched,) = rows[rows[:, 2] > 0.0]
    assert abs(touched[0] - 12_345) < 16
