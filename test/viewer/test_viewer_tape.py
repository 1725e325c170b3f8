# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page records what it is told, and shows it again at the pace of recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('viser')
pytest.importorskip('rosbags')

from sensor_msgs.msg import JointState

from dynamics_ros.page.scene import Scene
from dynamics_ros.recordings.bag import RecordingError, RecordingWriter
from dynamics_ros.viewer import tape as tapes
from dynamics_ros.viewer.tape import Tape
from dynamics_ros_msgs.msg import ContactState

TOPICS = {'/joint_states': JointState, '/contact': ContactState}


class Clock:
    """Time that goes on when it is told to [s]."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return round(self.now * 1e9)

    @staticmethod
    def strftime(_: str) -> str:
        return 'viewer_1'


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tapes, 'time', clock)
    return clock


@pytest.fixture
def tape(tmp_path: Path, clock: Clock) -> Iterator[Any]:
    scene = Scene('127.0.0.1', 0, 'test')
    try:
        yield Tape(scene, scene.gui.add_tab_group(), tmp_path, TOPICS)
    finally:
        scene.close()


def record(tape: Tape, clock: Clock) -> None:
    tape._record_or_stop()
    for second in range(3):
        tape.keep('/joint_states', JointState(name=['elbow'], position=[float(second)]))
        clock.now += 1.0
    tape.keep('/contact', ContactState(link='hand'))
    tape.close()


def test_what_was_recorded_is_played_at_its_pace(tape, clock):
    record(tape, clock)
    tape._play_or_stop()
    assert tape.playing
    assert [message.position[0] for _, message in tape.due()] == [0.0]
    clock.now += 1.5
    assert [message.position[0] for _, message in tape.due()] == [1.0]
    clock.now += 2.0
    (_, last), (topic, contact) = tape.due()
    assert (last.position[0], topic, contact.link) == (2.0, '/contact', 'hand')
    assert not tape.playing


def test_playing_can_be_ended(tape, clock):
    record(tape, clock)
    tape._play_or_stop()
    tape._play_or_stop()
    assert not tape.playing and list(tape.due()) == []


def test_a_recording_ends_by_itself_before_it_fills_the_disk(tape, clock):
    tape._record_or_stop()
    clock.now += tapes.MAX_SECONDS + 1.0
    tape.keep('/contact', ContactState())
    assert tape._writer is None
    assert 'recorded' in tape._status_text.content


def test_what_is_no_recording_is_told(tape):
    tape._play_or_stop()
    assert not tape.playing
    assert 'there is no such recording' in tape._status_text.content


def test_bytes_that_are_no_message_end_what_is_played_and_are_told(tape, clock, tmp_path):
    # A list of names that would be longer than all bytes together.
    data = b'\0\1\0\0' + b'\xff' * 24
    with RecordingWriter(tmp_path / 'bad', tapes.STORAGE) as writer:
        writer.write('/joint_states', JointState, clock.time_ns(), data)
    tape._choice.options = tape._recording_names()
    tape._choice.value = 'bad'
    tape._play_or_stop()
    assert tape.playing
    assert list(tape.due()) == []
    assert not tape.playing
    assert '/joint_states has bytes that are no message' in tape._status_text.content


def test_a_damaged_file_ends_what_is_played_and_is_told(tape, clock, tmp_path):
    record(tape, clock)
    tape._play_or_stop()

    def damaged():
        raise RecordingError('viewer_1: is damaged')
        yield

    tape._messages = damaged()
    clock.now += 9.0
    list(tape.due())
    assert not tape.playing
    assert 'is damaged' in tape._status_text.content
