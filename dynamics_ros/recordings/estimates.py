"""The estimators of contact_node over a recording, message by message as the node would."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation import ContactLocation, ContactState
from dynamics_ros.estimation.contact_pipeline import ExternalTorques
from dynamics_ros.estimation.samples.resolution import RefusedMessage
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.wire.cdr import MalformedMessageError, packed_stamp
from dynamics_ros.wire.contact_messages import (
    StateTemplates,
    filled_estimate,
    filled_torques,
    filled_wrench,
)
from dynamics_ros.wire.conversions import inertia_arrays, joint_values
from dynamics_ros.wire.odometry import OdometryReader
from dynamics_ros.wire.templates import MessageTemplate, message_template
from dynamics_ros.wire.topic_names import topic_names
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench, Payload

from .bag import Recording, RecordingWriter
from .estimators import LOG, EstimatorFactory, Estimators

Array = NDArray[np.float64]

Messages = Iterator[tuple[str, int, bytes]]

PREFIX = '/contact_node'
"""Of the topics that are written: those of the node."""


@dataclass
class Summary:
    """What came of a recording.

    Attributes:
        joint_names: of the columns of ``torques``.
        times: (n) stamps of the states that were estimated from [s since the first].
        torques: (n, joints) external torques [Nm, N].
        forces: frame to (n, 3) force there [N].
        states: (n) contact state.
        links: links that were touched, with how many states each.
        messages, refused: how many joint states there were, and were not taken.
        payloads: how many times the robot took up something else.
        silent: reason to how many states nothing could be said of.
    """

    joint_names: tuple[str, ...]
    times: Array = field(default_factory=lambda: np.zeros(0))
    torques: Array = field(default_factory=lambda: np.zeros((0, 0)))
    forces: dict[str, Array] = field(default_factory=dict)
    states: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    links: dict[str, int] = field(default_factory=dict)
    messages: int = 0
    refused: int = 0
    payloads: int = 0
    silent: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Topics:
    """What of a recording is read; odometry only where the base moves."""

    joint_states: str
    odometry: str | None = None
    payload: str | None = None

    def all(self) -> list[str]:
        """Those that there are."""
        return [topic for topic in (self.joint_states, self.odometry, self.payload) if topic]


@dataclass(frozen=True)
class _Outlet:
    """Writes what comes of one state.

    Attributes:
        writer: of the estimates.
        time: of recording [ns].
        state: whose stamp the messages carry.
        templates: those that have been needed so far.
    """

    writer: RecordingWriter
    time: int
    state: RobotState
    templates: dict[tuple[str, Hashable], MessageTemplate]

    def template(
        self, topic: str, key: Hashable, prototype: Callable[[Any], Any], paths: Sequence[str]
    ) -> MessageTemplate:
        """As ``Output.template`` of the output of a topic."""
        template = self.templates.get((topic, key))
        if template is None:
            template = self.templates[topic, key] = message_template(prototype(key), paths)
        return template

    def send(self, kind: type, topic: str, template: MessageTemplate) -> None:
        """Write a template as it is filled in."""
        message = template.message(packed_stamp(self.state.time))
        self.writer.write(f'{PREFIX}/{topic}', kind, self.time, message)


class Estimates:
    """Runs over a recording and writes what contact_node would have published."""

    def __init__(self, factory: EstimatorFactory, first: Estimators) -> None:
        """Begin before the first message.

        Args:
            factory: makes estimators when the payload changes.
            first: those to begin with.
        """
        self._factory, self._now = factory, first
        self._root_frame = factory.root_link
        self._odometry = OdometryReader()
        pipeline = first.pipeline
        self._topics = topic_names(pipeline.frames)
        self._place: ContactLocation | None = None
        self._next_place = 0
        self._stamps: list[int] = []
        self._torques: list[Array] = []
        self._forces: dict[str, list[Array]] = {frame: [] for frame in pipeline.frames}
        self._states: list[int] = []
        self._templates: dict[tuple[str, Hashable], MessageTemplate] = {}
        self._state_templates = StateTemplates()
        self.summary = Summary(pipeline.joint_names)

    def run(
        self,
        recording: Recording,
        topics: Topics,
        writer: RecordingWriter,
        progress: Callable[[Messages], Messages],
    ) -> Summary:
        """Take all messages in.

        Args:
            recording: what was recorded.
            topics: what of it is read.
            writer: of the estimates.
            progress: wraps the messages, to show how far it is.
        """
        for topic, time, data in progress(recording.messages(topics.all())):
            if topic == topics.payload:
                self._take_up(data)
                continue
            state = self._state(topic == topics.odometry, data)
            if state is not None:
                self._estimate(state, time, writer)
        summary = self.summary
        stamps = np.array(self._stamps, dtype=np.int64)
        summary.times = (stamps - stamps[0]) * 1e-9 if len(stamps) else np.zeros(0)
        summary.torques = np.array(self._torques).reshape(len(stamps), len(summary.joint_names))
        summary.forces = {
            frame: np.array(forces).reshape(-1, 3) for frame, forces in self._forces.items()
        }
        summary.states = np.array(self._states, dtype=np.int64)
        return summary

    def _take_up(self, data: bytes) -> None:
        """Go on with another payload; one that the robot cannot carry changes nothing."""
        message = deserialize_message(data, Payload)
        frame = self._factory.frame(message.header.frame_id)
        try:
            mass, center, inertia = inertia_arrays(message.inertia, 'payload.inertia')
            payload = PayloadParameters.of(frame, mass, center, inertia)
            if payload != self._now.payload:
                self._now = self._factory.make(payload, self._now)
                self.summary.payloads += 1
        except DynamicsRosError as error:
            LOG.warning('payload refused: %s', error)

    def _state(self, odometry: bool, data: bytes) -> RobotState | None:
        """The state that a message completes; None where it completes none."""
        root = self._root_frame
        try:
            if odometry:
                self._now.buffer.update_base(self._odometry.read(data), (root,))
                return None
            self.summary.messages += 1
            taken = self._now.buffer.update(joint_values(deserialize_message(data, JointState)))
        except (RefusedMessage, MalformedMessageError):
            self.summary.refused += 1
            return None
        if not taken:
            self.summary.refused += 1
            return None
        return self._now.buffer.due_state()

    def _estimate(self, state: RobotState, time: int, writer: RecordingWriter) -> None:
        pipeline = self._now.pipeline
        external = pipeline.update(state)
        if external is None:
            count = self.summary.silent.get(pipeline.silence, 0)
            self.summary.silent[pipeline.silence] = count + 1
            return
        out = _Outlet(writer, time, state, self._templates)
        state = pipeline.judged or state
        templates = partial(out.template, 'external_torques')
        out.send(JointState, 'external_torques', filled_torques(templates, pipeline, external))
        place = self._placed(state, external)
        known = place is not None and place.known(self._now.location.max_deviation)
        link = place.link if place else external.report.link
        templates = partial(out.template, 'contact_state')
        template = self._state_templates.filled(
            templates,
            pipeline,
            external,
            place,
            known,
            self._root_frame,
            place.point_frame if place else '',
        )
        out.send(ContactStateMessage, 'contact_state', template)
        for estimate in pipeline.wrenches(state, external.values):
            root = estimate.expressed_in == pipeline.robot.root_frame
            frame_id = self._root_frame if root else estimate.expressed_in
            name = f'{self._topics[estimate.frame]}/wrench'
            template = filled_wrench(partial(out.template, name), estimate, frame_id)
            out.send(WrenchStamped, name, template)
            name = f'{self._topics[estimate.frame]}/estimate'
            template = filled_estimate(
                partial(out.template, name), pipeline, state, estimate, frame_id
            )
            out.send(ExternalWrench, name, template)
            self._forces[estimate.frame].append(np.array(estimate.wrench[:3]))
        self._stamps.append(state.time)
        self._torques.append(external.values[pipeline.joint_indices])
        self._states.append(int(external.report.state))
        if link:
            self.summary.links[link] = self.summary.links.get(link, 0) + 1

    def _placed(self, state: RobotState, external: ExternalTorques) -> ContactLocation | None:
        """Where the contact is, looked for as often as the node does, by the stamps."""
        locator = self._now.locator
        if locator is None or external.report.state is ContactState.NONE:
            self._place, self._next_place = None, 0
            return None
        if state.time >= self._next_place:
            self._next_place = state.time + round(1e9 / self._now.location.rate)
            self._place = locator.locate(
                state.q, external.values, state.stale_mask, state.v, external.deviation
            )
        return self._place
