# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Selection of the topics and of the robot description of a recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.wire.cdr import JointStateReader, MalformedMessageError

from .bag import JOINT_STATE, Recording, RecordingError

ODOMETRY, DESCRIPTION, PAYLOAD = (
    *('nav_msgs/msg/Odometry', 'std_msgs/msg/String', 'dynamics_ros_msgs/msg/Payload'),
)


SCANNED_MESSAGES = 50
"""Number of joint states that are read to find the recorded joints."""


@dataclass(frozen=True)
class Topics:
    """Topics to read from a recording; odometry only for a moving base."""

    joint_states: str
    odometry: str | None = None
    payload: str | None = None

    def all(self) -> list[str]:
        """Returns the topics that are not None."""
        return [topic for topic in (self.joint_states, self.odometry, self.payload) if topic]


def topic_of(recording: Recording, kind: str, wanted: str | None) -> str:
    """Returns the topic of a type: the wanted one, or the only one.

    Raises:
        InvalidArgumentError: there is none, or there are several and none is selected.
    """
    found = recording.topics(kind)
    if wanted is not None and wanted in found:
        return wanted
    if wanted is None and len(found) == 1:
        return found[0]
    there = ', '.join(found) or 'none'
    named = repr(wanted) if wanted else 'not given'
    raise InvalidArgumentError(f'topic of {kind}', named, f'one of those recorded: {there}')


def payload_topic(recording: Recording, wanted: str | None) -> str | None:
    """Returns the topic of the payload; None if none was recorded and none is selected."""
    if wanted is None and not recording.topics(PAYLOAD):
        return None
    return topic_of(recording, PAYLOAD, wanted)


def busiest_joint_states(recording: Recording) -> str:
    """Returns the topic with the most joint states.

    Raises:
        RecordingError: there are no joint states.
    """
    found = recording.topics(JOINT_STATE)
    if not any(recording.count([topic]) for topic in found):
        raise RecordingError('holds no joint states')
    return max(found, key=lambda topic: recording.count([topic]))


def recorded_description(recording: Recording, joint_states: str) -> str:
    """Returns the robot description for the joint states of a topic.

    Of several description topics, the one with the longest common namespace is used. Of several
    messages, the newest one recorded before the first joint state is used, or else the first one.

    Raises:
        RecordingError: no description was recorded.
    """
    topics = [t for t in recording.topics(DESCRIPTION) if t.endswith('robot_description')]
    topics = [t for t in topics if recording.count([t])]
    if not topics:
        raise RecordingError('no robot_description was recorded: give the robot with --robot FILE')
    topic = max(topics, key=lambda one: _common_parts(one, joint_states))
    first = next((time for _, time, _ in recording.messages([joint_states])), 0)
    return _newest(recording.messages([topic]), first)


def recorded_joints(recording: Recording, joint_states: str) -> tuple[str, ...]:
    """Returns the joint names of the first joint states, in order of appearance.

    Raises:
        RecordingError: the joint states name no joints.
    """
    reader = JointStateReader()
    names: dict[str, None] = {}
    for _, _, data in islice(recording.messages([joint_states]), SCANNED_MESSAGES):
        # Damaged messages are refused and counted later, when they are processed.
        with suppress(MalformedMessageError):
            names |= dict.fromkeys(reader.read(data).names)
    if not names:
        raise RecordingError('its joint states name no joints')
    return tuple(names)


def _common_parts(first: str, second: str) -> tuple[int, int]:
    """Returns sort keys: number of common leading name parts, then shortness of ``first``."""
    count = 0
    for a, b in zip(first.split('/'), second.split('/'), strict=False):
        if a != b:
            break
        count += 1
    return count, -len(first.split('/'))


def _newest(messages: Iterator[tuple[str, int, bytes]], before: int) -> str:
    found: bytes | None = None
    for _, time, data in messages:
        if found is not None and time > before:
            break
        found = data
    if found is None:
        raise RecordingError(
            'its robot_description is damaged: the messages that the index counts are missing'
        )
    try:
        return str(deserialize_message(found, String).data)
    except Exception as error:  # the middleware raises its own type
        raise RecordingError(f'its robot_description is damaged: {error}') from error
