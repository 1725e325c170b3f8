# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs the estimators over the messages of a recording, in one pass and with bounded memory.

``estimate_bag`` and ``analyze_recordings`` both use it. Messages are processed as by the node.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import NamedTuple

from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, printable
from dynamics_ros.estimation import ContactLocator, ContactPipeline
from dynamics_ros.estimation.blocks import Estimates, estimates_of
from dynamics_ros.estimation.contact.location import ContactGeometry
from dynamics_ros.estimation.samples.reports import JointValues, RefusedMessage
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.model import build_model
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Counts
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import (
    JointStateReader,
    MalformedMessageError,
    OdometryReader,
)
from dynamics_ros.wire.conversions import inertia_arrays
from dynamics_ros_msgs.msg import Payload

from .bag import JOINT_STATE, Recording, RecordingError

LOG = logging.getLogger(__name__)

Messages = Iterable[tuple[str, int, bytes]]

BATCH = 2048
"""Maximum number of joint states that are processed together."""

MAX_REASONS = 3
"""Maximum number of reasons of refusals in a sentence."""

MAX_ATTEMPTS = 2
"""Number of attempts to process a batch at once; after that many failures its joint states are
processed one by one."""

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
    names = first.split('/'), second.split('/')
    common = takewhile(lambda pair: pair[0] == pair[1], zip(*names, strict=False))
    return len([*common]), -len(names[0])


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


class Estimators(NamedTuple):
    """Estimators of one robot with its current payload.

    Attributes:
        payload: current payload.
        pipeline: compiled contact pipeline.
        buffer: merges joint states.
        locator: contact locator; None if contacts are not located.
    """

    payload: PayloadParameters
    pipeline: ContactPipeline
    buffer: StateBuffer
    locator: ContactLocator | None


class EstimatorFactory:
    """Creates estimators for consecutive payloads.

    Attributes:
        robot: robot without a payload.
        root_link: root link of the description.
    """

    def __init__(
        self, description: str, general: RobotParameters, settings: ContactParameters
    ) -> None:
        """Builds the robot.

        Args:
            description: URDF as XML text.
            general, settings: parameters of the node.

        Raises:
            DynamicsRosError: the description is invalid, or a parameter does not fit the robot.
        """
        self._general, self._settings = general, settings
        if general.loops:
            raise InvalidArgumentError('loops', 'are not known to estimators', 'none')
        urdf = read_urdf(description)
        self.root_link, self._tool = urdf.root, tool_frame(urdf)
        joints = general.locked_joints
        self._locked = dict(zip(joints.names, joints.positions, strict=False))
        model = build_model(urdf, general.root_joint, general.gravity, self._locked)
        self.robot = Robot(model, backend=general.backend)
        self._geometry = ContactGeometry.read(self.robot, description)

    @property
    def geometry_problem(self) -> str:
        """Shapes on which contacts cannot be located, and why; '' if there are none."""
        return self._geometry.problem

    @property
    def base_moves(self) -> bool:
        """Whether the base moves, so that odometry is needed."""
        return self.robot.model.root_joint_nv > 0

    def frame(self, frame_id: str) -> str:
        """Returns the model's name of a frame_id."""
        return frame_id.removeprefix(self._general.frame_prefix)

    def make(self, payload: PayloadParameters, before: Estimators | None = None) -> Estimators:
        """Creates estimators that continue from those of another payload.

        Raises:
            DynamicsRosError: the payload does not fit the robot.
        """
        robot = self.robot
        if payload.mass:
            robot = robot.with_payload(
                payload.frame, payload.mass, payload.center_of_mass, payload.inertia_matrix()
            )
        pipeline = ContactPipeline(robot, self._settings, self._tool)
        # Unlike a node, a recording can wait for the compilation of a large kernel.
        pipeline.compile(wait=True)
        buffer = StateBuffer(robot, tuple(self._locked), self._general.joint_timeout)
        if before is not None:
            pipeline.inherit(before.pipeline)
            buffer.adopt(before.buffer)
        locator = self._geometry.locator(robot, pipeline.torque_deviations)
        return Estimators(payload, pipeline, buffer, locator)


class Batch(NamedTuple):
    """Consecutive messages of a topic; more than one only for joint states of equal length.

    Attributes:
        topic: topic of the messages.
        times: times of recording [ns].
        messages: serialized messages.
    """

    topic: str
    times: list[int]
    messages: list[bytes]


class EstimatedBlock(NamedTuple):
    """Results of consecutive messages.

    Attributes:
        recorded: times of recording [ns].
        stamps: stamps of the messages' states [ns].
        estimates: estimates of these states, or of previous ones while these are held as doubtful.
        estimators: estimators that computed them.
    """

    recorded: list[int]
    stamps: list[int]
    estimates: Estimates
    estimators: Estimators


def batches(messages: Messages, joint_states: str, max_size: int = BATCH) -> Iterator[Batch]:
    """Groups messages into batches.

    Args:
        messages: topic, time of recording [ns] and bytes of each message.
        joint_states: topic whose messages may share a batch.
        max_size: maximum number of messages in a batch.
    """
    times: list[int] = []
    taken: list[bytes] = []
    size = 0
    for topic, time, data in messages:
        if topic != joint_states:
            if taken:
                yield Batch(joint_states, times, taken)
                times, taken = [], []
            yield Batch(topic, [time], [data])
            continue
        if len(data) != size and taken:
            yield Batch(joint_states, times, taken)
            times, taken = [], []
        size = len(data)
        times.append(time)
        taken.append(data)
        if len(taken) >= max_size:
            yield Batch(joint_states, times, taken)
            times, taken = [], []
    if taken:
        yield Batch(joint_states, times, taken)


class EstimatedStates:
    """Runs the estimators over the messages of a recording.

    Attributes:
        estimators: estimators for the current payload.
        messages: number of joint states.
        refusals: number of refused messages by reason.
        payloads: recorded times [ns] of changes of the payload.
        silent: numbers of states without estimate by reason.
    """

    def __init__(
        self,
        factory: EstimatorFactory,
        first: Estimators,
        topics: Topics,
        names: Mapping[str, str] | None = None,
        *,
        latches: bool = True,
    ) -> None:
        """Creates the state before the first message.

        Args:
            factory: creates estimators when the payload changes.
            first: initial estimators.
            topics: topics of the messages.
            names: joint names of the robot by recorded names, where they differ.
            latches: whether a collision lasts; otherwise it ends with the contact.
        """
        self._factory, self.estimators = factory, first
        self._latches, self._topics = latches, topics
        self._names = dict(names or {})
        self._new_names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joint_states, self._odometry = JointStateReader(), OdometryReader()
        self.messages = 0
        self.refusals: Counter[str] = Counter()
        self.payloads: list[int] = []
        self.silent = Counts()

    @property
    def refused(self) -> int:
        """How many messages were not taken."""
        return self.refusals.total()

    def refusals_told(self) -> str:
        """A sentence with the number of refused messages and the most frequent reasons."""
        most = self.refusals.most_common(MAX_REASONS)
        reasons = ', '.join(f'{why} ({count})' for why, count in most)
        return f'{self.refused} joint states were refused, mostly: {reasons}'

    def blocks(self, batches: Iterable[Batch]) -> Iterator[EstimatedBlock]:
        """Yields the estimates for batches of messages, in blocks of consecutive states."""
        topics = self._topics
        for topic, times, messages in batches:
            if topic == topics.payload:
                self._change_payload(times[0], messages[0])
            elif topic == topics.odometry:
                self._single_state(True, messages[0])
            else:
                yield from self._process(times, messages)

    def _process(self, times: list[int], messages: list[bytes]) -> Iterator[EstimatedBlock]:
        """Processes joint states of equal length."""
        count, single, begin = len(messages), 0, 0
        while begin < count:
            # A batch may fail only because of its first messages, such as new names.
            states = (
                self._batch_states(messages[begin:])
                if single < MAX_ATTEMPTS and begin + 1 < count
                else None
            )
            if states is None:
                single += 1
                state = self._single_state(False, messages[begin])
                begin += 1
                if state is not None:
                    yield from self._estimate(times[begin - 1 : begin], state.batch())
            else:
                yield from self._estimate(times[begin:], states)
                begin = count

    def _estimate(self, times: list[int], states: RobotState) -> Iterator[EstimatedBlock]:
        estimators = self.estimators
        pipeline, begin = estimators.pipeline, 0
        for count, found in estimates_of(pipeline, states, latches=self._latches):
            some = slice(begin, begin + count)
            if found is None:
                self.silent.add(pipeline.unavailable_reason, count)
            else:
                yield EstimatedBlock(times[some], states.time[some].tolist(), found, estimators)
            begin += count

    def _batch_states(self, messages: list[bytes]) -> RobotState | None:
        """Returns the states for several messages; None if they must be processed one by one."""
        try:
            values = self._joint_states.read_all(messages)
        except MalformedMessageError:
            return None
        states = (
            None if values is None else self.estimators.buffer.update_all(self._renamed(values))
        )
        if states is not None:
            self.messages += len(messages)
        return states

    def _change_payload(self, time: int, data: bytes) -> None:
        """Switches to estimators for another payload; a payload that does not fit is ignored."""
        try:
            message = deserialize_message(data, Payload)
        except Exception as error:  # of the middleware, which has types of its own
            LOG.warning('payload refused: the message is damaged: %s', error)
            return
        frame = self._factory.frame(message.header.frame_id)
        try:
            mass, center, inertia = inertia_arrays(message.inertia, 'payload.inertia')
            payload = PayloadParameters.of(frame, mass, center, inertia)
            if payload != self.estimators.payload:
                self.estimators = self._factory.make(payload, self.estimators)
                self.payloads.append(time)
        except DynamicsRosError as error:
            LOG.warning('payload refused: %s', error)

    def _single_state(self, odometry: bool, data: bytes) -> RobotState | None:
        """Returns the state that a message completes; None if it completes none."""
        buffer = self.estimators.buffer
        try:
            if odometry:
                buffer.update_base(self._odometry.read(data), (self._factory.root_link,))
                return None
            self.messages += 1
            values = self._renamed(self._joint_states.read(data))
            taken = buffer.update(values)
        except RefusedMessage as refusal:
            self.refusals[refusal.kind] += 1
            return None
        except MalformedMessageError:
            self.refusals[f'malformed {"odometry" if odometry else "joint state"}'] += 1
            return None
        if not taken:
            named = printable(', '.join(values.names))
            self.refusals[f'no joint of the robot is named: {named}'] += 1
            return None
        return buffer.due_state()

    def _renamed(self, values: JointValues) -> JointValues:
        """Returns joint states with the robot's names, the same object for the same names."""
        if not self._names:
            return values
        names = values.names
        if names not in self._new_names:
            self._new_names[names] = tuple(self._names.get(name, name) for name in names)
        return values._replace(names=self._new_names[names])
