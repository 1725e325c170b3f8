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

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation.contact_pipeline import ExternalTorques
from dynamics_ros.estimation.samples.resolution import RefusedMessage
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.wire.cdr import JointStateReader, MalformedMessageError
from dynamics_ros.wire.conversions import inertia_arrays
from dynamics_ros.wire.odometry import OdometryReader
from dynamics_ros_msgs.msg import Payload

from .estimators import LOG, EstimatorFactory, Estimators
from .inputs import Topics

Messages = Iterable[tuple[str, int, bytes]]


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


class EstimatedStates:
    """Runs the estimators over the messages of a recording.

    Attributes:
        estimators: of what the robot carries at the moment.
        messages, refused: how many joint states there were, and were not taken.
        payloads: recorded times [ns] at which the robot took up something else.
        silent: reason to how many states nothing could be said of.
    """

    def __init__(
        self,
        factory: EstimatorFactory,
        first: Estimators,
        topics: Topics,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Begin before the first message.

        Args:
            factory: makes estimators when the payload changes.
            first: those to begin with.
            topics: of the messages.
            names: recorded names of joints to those of the robot, where they differ.
        """
        self._factory, self.estimators = factory, first
        self._topics = topics
        self._names = dict(names or {})
        self._renamed: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joint_states, self._odometry = JointStateReader(), OdometryReader()
        self.messages = self.refused = 0
        self.payloads: list[int] = []
        self.silent: Counter[str] = Counter()

    def estimates(self, messages: Messages) -> Iterator[Estimate]:
        """Topic, time of recording [ns] and bytes in, estimates out."""
        topics = self._topics
        for topic, time, data in messages:
            if topic == topics.payload:
                self._take_up(time, data)
                continue
            state = self._state(topic == topics.odometry, data)
            if state is None:
                continue
            pipeline = self.estimators.pipeline
            external = pipeline.update(state)
            if external is None:
                self.silent[pipeline.silence] += 1
            else:
                yield Estimate(time, state.time, pipeline.judged or state, external)

    def _take_up(self, time: int, data: bytes) -> None:
        """Go on with another payload; one that the robot cannot carry changes nothing."""
        message = deserialize_message(data, Payload)
        frame = self._factory.frame(message.header.frame_id)
        try:
            mass, center, inertia = inertia_arrays(message.inertia, 'payload.inertia')
            payload = PayloadParameters.of(frame, mass, center, inertia)
            if payload != self.estimators.payload:
                self.estimators = self._factory.make(payload, self.estimators)
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
        except (RefusedMessage, MalformedMessageError):
            self.refused += 1
            return None
        if not taken:
            self.refused += 1
            return None
        return buffer.due_state()

    def _own(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The robot's names; the same object for the same names, which saves comparing them."""
        if names not in self._renamed:
            self._renamed[names] = tuple(self._names.get(name, name) for name in names)
        return self._renamed[names]
