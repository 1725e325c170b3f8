# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The states of a recording and what is estimated from them, one after the other.

What ``estimate_bag`` writes and what ``analyze_recordings`` looks at comes from here: messages are
read once, as the node would get them, and nothing is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rclpy.serialization import deserialize_message

from dynamics_ros.errors import DynamicsRosError, printable
from dynamics_ros.estimation.external_torques import Estimates, ExternalTorques
from dynamics_ros.estimation.samples.resolution import RefusedMessage
from dynamics_ros.estimation.samples.robot_state import RobotState, RobotStates
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.wire.cdr import JointStateReader, MalformedMessageError
from dynamics_ros.wire.conversions import inertia_arrays
from dynamics_ros.wire.odometry import OdometryReader
from dynamics_ros_msgs.msg import Payload

from .estimators import LOG, EstimatorFactory, Estimators
from .inputs import Topics

Messages = Iterable[tuple[str, int, bytes]]

BATCH = 2048
"""Joint states that are read together."""

REASONS = 3
"""Reasons of refusals that a sentence lists."""

TRIES = 2
"""Joint states of a batch that are read one by one before all the others are."""


class Estimate(NamedTuple):
    """What a message brought.

    Attributes:
        time: of recording [ns].
        stamp: of the message's state [ns].
        state: that the estimate is of: that one, or the one before while that one is in doubt.
        external: the estimate.
    """

    time: int
    stamp: int
    state: RobotState
    external: ExternalTorques


class Batch(NamedTuple):
    """Consecutive messages of a topic, several only of joint states that are as long as each other.

    Attributes:
        topic: of all of them.
        times: of recording [ns].
        messages: their bytes.
    """

    topic: str
    times: list[int]
    messages: list[bytes]


class EstimatedBlock(NamedTuple):
    """What consecutive messages brought.

    Attributes:
        recorded: times of recording [ns].
        stamps: of the messages' states [ns].
        estimates: of these states, or of one before while that one is in doubt.
        estimators: that made them.
    """

    recorded: list[int]
    stamps: list[int]
    estimates: Estimates
    estimators: Estimators

    def rows(self) -> Iterator[Estimate]:
        """One after the other."""
        for i, times in enumerate(zip(self.recorded, self.stamps, strict=True)):
            yield Estimate(*times, self.estimates.states.row(i), self.estimates.row(i))


def batches(messages: Messages, joint_states: str, most: int = BATCH) -> Iterator[Batch]:
    """Messages as batches.

    Args:
        messages: topic, time of recording [ns] and bytes of each.
        joint_states: topic whose messages may share a batch.
        most: messages of a batch.
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
        if len(taken) >= most:
            yield Batch(joint_states, times, taken)
            times, taken = [], []
    if taken:
        yield Batch(joint_states, times, taken)


class EstimatedStates:
    """Runs the estimators over the messages of a recording.

    Attributes:
        estimators: of what the robot carries at the moment.
        messages: how many joint states there were.
        refusals: reason to how many messages were not taken.
        payloads: recorded times [ns] at which the robot took up something else.
        silent: reason to how many states nothing could be said of.
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
        """Begin before the first message.

        Args:
            factory: makes estimators when the payload changes.
            first: those to begin with.
            topics: of the messages.
            names: recorded names of joints to those of the robot, where they differ.
            latches: whether a collision stays; else it ends with the contact.
        """
        self._factory, self.estimators = factory, first
        self._latches = first.pipeline.detector.latches = latches
        self._topics = topics
        self._names = dict(names or {})
        self._renamed: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joint_states, self._odometry = JointStateReader(), OdometryReader()
        self.messages = 0
        self.refusals: Counter[str] = Counter()
        self.payloads: list[int] = []
        self.silent: Counter[str] = Counter()

    @property
    def refused(self) -> int:
        """How many messages were not taken."""
        return self.refusals.total()

    def refusals_told(self) -> str:
        """A sentence with the number of refused messages and the most frequent reasons."""
        most = self.refusals.most_common(REASONS)
        reasons = ', '.join(f'{why} ({count})' for why, count in most)
        return f'{self.refused} joint states were refused, mostly: {reasons}'

    def estimates(self, messages: Messages) -> Iterator[Estimate]:
        """Topic, time of recording [ns] and bytes in, estimates out, one after the other."""
        for block in self.blocks(batches(messages, self._topics.joint_states, most=1)):
            yield from block.rows()

    def blocks(self, batches: Iterable[Batch]) -> Iterator[EstimatedBlock]:
        """Messages in, what some consecutive joint states brought out."""
        topics = self._topics
        for topic, times, messages in batches:
            if topic == topics.payload:
                self._take_up(times[0], messages[0])
            elif topic == topics.odometry:
                self._state(True, messages[0])
            else:
                yield from self._estimated(times, messages)

    def _estimated(self, times: list[int], messages: list[bytes]) -> Iterator[EstimatedBlock]:
        """Of joint states of the same length."""
        count, single = len(messages), 0
        begin = 0
        while begin < count:
            # What is the same for all may be known after the first message.
            states = (
                self._states(messages[begin:]) if single < TRIES and begin + 1 < count else None
            )
            if states is None:
                single += 1
                state = self._state(False, messages[begin])
                begin += 1
                if state is not None:
                    yield from self._of(times[begin - 1 : begin], RobotStates.of(state))
            else:
                yield from self._of(times[begin:], states)
                begin = count

    def _of(self, times: list[int], states: RobotStates) -> Iterator[EstimatedBlock]:
        estimators = self.estimators
        pipeline, begin = estimators.pipeline, 0
        for count, found in pipeline.update_all(states):
            some = slice(begin, begin + count)
            if found is None:
                self.silent[pipeline.silence] += count
            else:
                yield EstimatedBlock(times[some], states.time[some].tolist(), found, estimators)
            begin += count

    def _states(self, messages: list[bytes]) -> RobotStates | None:
        """The states that messages complete; None where they have to be read one by one."""
        try:
            values = self._joint_states.read_all(messages)
        except MalformedMessageError:
            return None
        if values is None:
            return None
        if self._names:
            values = values._replace(names=self._own(values.names))
        states = self.estimators.buffer.update_all(values)
        if states is not None:
            self.messages += len(messages)
        return states

    def _take_up(self, time: int, data: bytes) -> None:
        """Go on with another payload; one that the robot cannot carry changes nothing."""
        try:
            message = deserialize_message(data, Payload)
        except Exception as error:  # the middleware has one of its own
            LOG.warning('payload refused: the message is damaged: %s', error)
            return
        frame = self._factory.frame(message.header.frame_id)
        try:
            mass, center, inertia = inertia_arrays(message.inertia, 'payload.inertia')
            payload = PayloadParameters.of(frame, mass, center, inertia)
            if payload != self.estimators.payload:
                self.estimators = self._factory.make(payload, self.estimators)
                self.estimators.pipeline.detector.latches = self._latches
                self.payloads.append(time)
        except DynamicsRosError as error:
            LOG.warning('payload refused: %s', error)

    def _state(self, odometry: bool, data: bytes) -> RobotState | None:
        """The state that a message completes; None where it completes none."""
        buffer = self.estimators.buffer
        try:
            if odometry:
                buffer.update_base(self._odometry.read(data), (self._factory.root_link,))
                return None
            self.messages += 1
            values = self._joint_states.read(data)
            if self._names:
                values = values._replace(names=self._own(values.names))
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

    def _own(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The robot's names; the same object for the same names, which saves comparing them."""
        if names not in self._renamed:
            self._renamed[names] = tuple(self._names.get(name, name) for name in names)
        return self._renamed[names]
