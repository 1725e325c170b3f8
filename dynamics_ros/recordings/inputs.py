# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What of a recording is read: its topics, and which of its descriptions is the robot's."""

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


LOOKED_AT = 50
"""Joint states that say which joints are recorded."""


@dataclass(frozen=True)
class Topics:
    """What of a recording is read; odometry only where the base moves."""

    joint_states: str
    odometry: str | None = None
    payload: str | None = None

    def all(self) -> list[str]:
        """Those that there are."""
        return [topic for topic in (self.joint_states, self.odometry, self.payload) if topic]


def topic_of(recording: Recording, kind: str, wanted: str | None) -> str:
    """The topic of a type that is meant.

    Raises:
        InvalidArgumentError: there is none, or there are several and none was named.
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
    """The topic that says what is carried; None where none was recorded and none is wanted."""
    if wanted is None and not recording.topics(PAYLOAD):
        return None
    return topic_of(recording, PAYLOAD, wanted)


def busiest_joint_states(recording: Recording) -> str:
    """The topic with the most joint states.

    Raises:
        RecordingError: there are none.
    """
    found = recording.topics(JOINT_STATE)
    if not any(recording.count([topic]) for topic in found):
        raise RecordingError('holds no joint states')
    return max(found, key=lambda topic: recording.count([topic]))


def recorded_description(recording: Recording, joint_states: str) -> str:
    """The description of the robot whose joint states are on a topic.

    Of several topics that of the same namespace counts, and of several messages the newest that
    was recorded before the first joint state, or else the first one.

    Raises:
        RecordingError: none was recorded.
    """
    topics = [t for t in recording.topics(DESCRIPTION) if t.endswith('robot_description')]
    topics = [t for t in topics if recording.count([t])]
    if not topics:
        raise RecordingError('no robot_description was recorded: give the robot with --robot FILE')
    topic = max(topics, key=lambda one: _common(one, joint_states))
    first = next((time for _, time, _ in recording.messages([joint_states])), 0)
    return _newest(recording.messages([topic]), first)


def recorded_joints(recording: Recording, joint_states: str) -> tuple[str, ...]:
    """The joints that the first joint states name, in the order in which they come.

    Raises:
        RecordingError: there are none.
    """
    reader = JointStateReader()
    names: dict[str, None] = {}
    for _, _, data in islice(recording.messages([joint_states]), LOOKED_AT):
        # A damaged one is refused, and counted, when its turn comes.
        with suppress(MalformedMessageError):
            names |= dict.fromkeys(reader.read(data).names)
    if not names:
        raise RecordingError('its joint states name no joints')
    return tuple(names)


def _common(first: str, second: str) -> tuple[int, int]:
    """How many parts of two names are the same from the left on; the shorter name is the better."""
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
    except Exception as error:  # the middleware has one of its own
        raise RecordingError(f'its robot_description is damaged: {error}') from error
