"""The estimators of contact_node over a recording, message by message as the node would."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench

from ..estimation import ContactLocation, ContactLocator, ContactState
from ..nodes.cdr import MalformedMessageError
from ..nodes.contact_messages import (
    ESTIMATE_NUMBERS,
    STATE_NUMBERS,
    empty_estimate,
    empty_state,
    empty_wrench,
    estimate_parts,
    state_parts,
)
from ..nodes.contact_pipeline import ContactPipeline, ExternalTorques
from ..nodes.conversions import empty_efforts, joint_values
from ..nodes.forms import Form, make_form
from ..nodes.outputs import topic_names
from ..nodes.state import RefusedMessage, RobotState, StateBuffer
from .bag import Recording, RecordingWriter

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
    silent: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Outlet:
    """Writes what comes of one state.

    Attributes:
        writer: of the estimates.
        time: of recording [ns].
        state: whose stamp the messages carry.
        forms: those that have been needed so far.
    """

    writer: RecordingWriter
    time: int
    state: RobotState
    forms: dict[tuple[str, Hashable], Form]

    def send(
        self,
        kind: type,
        topic: str,
        key: Hashable,
        prototype: Callable[[Any], Any],
        paths: Sequence[str],
        *values: Any,
    ) -> None:
        """Write a message; arguments as those of ``nodes.outputs.Output.send``."""
        form = self.forms.get((topic, key))
        if form is None:
            form = self.forms[topic, key] = make_form(prototype(key), paths)
        message = form.filled(self.state.seconds, self.state.nanoseconds, *values)
        self.writer.write(f'{PREFIX}/{topic}', kind, self.time, message)


class Estimates:
    """Runs over a recording and writes what contact_node would have published."""

    def __init__(
        self,
        pipeline: ContactPipeline,
        buffer: StateBuffer,
        locator: ContactLocator | None,
        root_frame: str,
    ) -> None:
        """Begin before the first message.

        Args:
            pipeline: compiled estimators.
            buffer: merges joint states.
            locator: finds the place of a contact; None does not look for it.
            root_frame: frame_id of what is given in the root frame.
        """
        self._pipeline, self._buffer, self._locator = pipeline, buffer, locator
        self._root_frame = root_frame
        self._topics = topic_names(pipeline.frames)
        self._place: ContactLocation | None = None
        self._next_place = 0
        self._stamps: list[int] = []
        self._torques: list[Array] = []
        self._forces: dict[str, list[Array]] = {frame: [] for frame in pipeline.frames}
        self._states: list[int] = []
        self._forms: dict[tuple[str, Hashable], Form] = {}
        self.summary = Summary(pipeline.joint_names)

    def run(
        self,
        recording: Recording,
        joint_states: str,
        odometry: str | None,
        writer: RecordingWriter,
        progress: Callable[[Messages], Messages],
    ) -> Summary:
        """Take all messages in.

        Args:
            recording: what was recorded.
            joint_states, odometry: topics; the second only where the base moves.
            writer: of the estimates.
            progress: wraps the messages, to show how far it is.
        """
        topics = [joint_states, *([odometry] if odometry else [])]
        for topic, time, data in progress(recording.messages(topics)):
            state = self._state(topic == odometry, data)
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

    def _state(self, odometry: bool, data: bytes) -> RobotState | None:
        """The state after a message; None where there is none."""
        root = self._root_frame
        try:
            if odometry:
                self._buffer.update_base(deserialize_message(data, Odometry), (root,))
                return None
            self.summary.messages += 1
            taken = self._buffer.update(joint_values(deserialize_message(data, JointState)))
        except (RefusedMessage, MalformedMessageError):
            self.summary.refused += 1
            return None
        if not taken:
            self.summary.refused += 1
            return None
        return self._buffer.state()

    def _estimate(self, state: RobotState, time: int, writer: RecordingWriter) -> None:
        pipeline = self._pipeline
        external = pipeline.update(state)
        if external is None:
            count = self.summary.silent.get(pipeline.silence, 0)
            self.summary.silent[pipeline.silence] = count + 1
            return
        out = _Outlet(writer, time, state, self._forms)
        names = pipeline.joint_names
        torques = external.values[pipeline.joint_indices]
        out.send(JointState, 'external_torques', names, empty_efforts, ('effort',), torques)
        place = self._placed(state, external)
        known = place is not None and place.deviation <= pipeline.values.location.max_deviation
        link = place.link if place else ''
        key, numbers = state_parts(pipeline, external, place, known, self._root_frame, link)
        out.send(ContactStateMessage, 'contact_state', key, empty_state, STATE_NUMBERS, *numbers)
        for estimate in pipeline.wrenches(state, external.values):
            root = estimate.expressed_in == pipeline.robot.root_frame
            frame_id = self._root_frame if root else estimate.expressed_in
            topic = self._topics[estimate.frame]
            wrench = estimate.wrench
            out.send(WrenchStamped, f'{topic}/wrench', frame_id, empty_wrench, ('wrench',), wrench)
            detail, values = estimate_parts(pipeline, state, estimate, frame_id)
            name = f'{topic}/estimate'
            out.send(ExternalWrench, name, detail, empty_estimate, ESTIMATE_NUMBERS, *values)
            self._forces[estimate.frame].append(np.array(wrench[:3]))
        self._stamps.append(state.time)
        self._torques.append(torques)
        self._states.append(int(external.report.state))
        if key.link:
            self.summary.links[key.link] = self.summary.links.get(key.link, 0) + 1

    def _placed(self, state: RobotState, external: ExternalTorques) -> ContactLocation | None:
        """Where the contact is, looked for as often as the node does, by the stamps."""
        if self._locator is None or external.report.state is ContactState.NONE:
            self._place, self._next_place = None, 0
            return None
        if state.time >= self._next_place:
            self._next_place = state.time + round(1e9 / self._pipeline.values.location.rate)
            self._place = self._locator.locate(state.q, external.values, state.stale_mask)
        return self._place
