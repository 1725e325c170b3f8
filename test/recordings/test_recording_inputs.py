# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is read of a bag: which description counts, and curves of bounded size."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros.recordings.bag import Recording, RecordingError, RecordingWriter
from dynamics_ros.recordings.states import recorded_description

pytestmark = pytest.mark.ros


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
