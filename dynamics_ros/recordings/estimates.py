# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writer of the messages that contact_node would have published for a recording."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros.estimation import ContactLocation, ContactState
from dynamics_ros.estimation.external_torques import ExternalTorques
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.contact_messages import (
    contact_state_message,
    efforts_message,
    external_wrench_message,
    wrench_stamped_message,
)
from dynamics_ros.wire.message_template import MessageTemplate
from dynamics_ros.wire.templates import message_template
from dynamics_ros.wire.topic_names import topic_names
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench, Payload

from .bag import RecordingWriter
from .estimators import Estimators
from .inputs import Topics
from .states import Batch, Estimate
from .thinning import ThinnedCurve

Array = NDArray[np.float64]

PREFIX = '/contact_node'
"""Prefix of the written topics, the name of the node."""


@dataclass
class Summary:
    """Summary of the written estimates; curves are thinned to the resolution of a plot.

    Attributes:
        joint_names: joints of the columns of ``torques``.
        times: (n) stamps of the estimated states [s since the first].
        torques: (n, joints) external torques [Nm, N].
        forces: (n, 3) contact force per frame [N].
        states: (n) contact states.
        links: number of states with contact per link.
        count: number of estimated states.
    """

    joint_names: tuple[str, ...]
    times: Array = field(default_factory=lambda: np.zeros(0))
    torques: Array = field(default_factory=lambda: np.zeros((0, 0)))
    forces: dict[str, Array] = field(default_factory=dict)
    states: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    links: dict[str, int] = field(default_factory=dict)
    count: int = 0


@dataclass(frozen=True)
class _Outlet:
    """Writes the messages of one state.

    Attributes:
        writer: writer of the bag.
        time: time of recording [ns].
        stamp: stamp of the messages [ns].
        templates: message templates created so far.
    """

    writer: RecordingWriter
    time: int
    stamp: int
    templates: dict[tuple[str, Hashable], MessageTemplate]

    def template(
        self, topic: str, key: Hashable, prototype: Callable[[Any], Any], paths: Sequence[str]
    ) -> MessageTemplate:
        """Returns the message template of a topic, as ``Output.template`` does."""
        template = self.templates.get((topic, key))
        if template is None:
            template = self.templates[topic, key] = message_template(prototype(key), paths)
        return template

    def send(self, kind: type, topic: str, template: MessageTemplate) -> None:
        """Writes the current content of a template."""
        message = template.message(packed_stamp(self.stamp))
        self.writer.write(f'{PREFIX}/{topic}', kind, self.time, message)


def copied(
    batches: Iterable[Batch], topics: Topics, description: str, writer: RecordingWriter
) -> Iterator[Batch]:
    """Yields the same batches and writes their messages, after the robot description."""
    kinds = {topics.joint_states: JointState, topics.odometry: Odometry, topics.payload: Payload}
    text: String | None = String(data=description)
    for batch in batches:
        if text is not None:
            writer.write('/robot_description', String, batch.times[0], text)
            text = None
        for time, data in zip(batch.times, batch.messages, strict=True):
            writer.write(batch.topic, kinds[batch.topic], time, data)
        yield batch


class EstimateWriter:
    """Writes the messages that contact_node would have published for each state."""

    def __init__(self, first: Estimators, root_frame: str, writer: RecordingWriter) -> None:
        """Creates a writer before the first estimate.

        Args:
            first: estimators at the beginning.
            root_frame: frame_id of quantities in the root frame.
            writer: writer of the bag.
        """
        self._root_frame, self._writer = root_frame, writer
        pipeline = first.pipeline
        self._frames = pipeline.frames
        self._topics = topic_names(pipeline.frames)
        self._place: ContactLocation | None = None
        self._next_place = 0
        self._first: int | None = None
        self._templates: dict[tuple[str, Hashable], MessageTemplate] = {}
        self._summary = Summary(pipeline.joint_names)
        self._curve = ThinnedCurve(2 + len(pipeline.joint_names) + 3 * len(pipeline.frames))

    @property
    def summary(self) -> Summary:
        """Summary of the estimates written so far."""
        summary, rows = self._summary, self._curve.rows
        joints = len(summary.joint_names)
        summary.times, summary.torques = rows[:, 0], rows[:, 1 : 1 + joints]
        forces = rows[:, 1 + joints : -1].reshape(len(rows), len(self._frames), 3)
        summary.forces = {frame: forces[:, i] for i, frame in enumerate(self._frames)}
        summary.states = rows[:, -1].astype(np.int64)
        return summary

    def write(self, estimate: Estimate, estimators: Estimators) -> None:
        """Writes the messages of one state."""
        time, stamp, state, external = estimate
        pipeline = estimators.pipeline
        out = _Outlet(self._writer, time, stamp, self._templates)
        templates = partial(out.template, 'external_torques')
        efforts = efforts_message(templates, pipeline, external.values)
        out.send(JointState, 'external_torques', efforts.filled())
        place = self._locate(estimators, state, external)
        known = place is not None and place.known(estimators.location.max_deviation)
        link = place.link if place else external.report.link
        templates = partial(out.template, 'contact_state')
        message = contact_state_message(
            templates,
            pipeline,
            external.report,
            external.values,
            pipeline.detector.thresholds,
            place,
            known,
            self._root_frame,
            place.point_frame if place else '',
        )
        out.send(ContactStateMessage, 'contact_state', message.filled())
        row = [0.0, *external.values[pipeline.joint_indices]]
        for wrench in pipeline.wrenches(state, external.values):
            root = wrench.expressed_in == pipeline.robot.root_frame
            frame_id = self._root_frame if root else wrench.expressed_in
            name = f'{self._topics[wrench.frame]}/wrench'
            force = wrench_stamped_message(partial(out.template, name), wrench, frame_id)
            out.send(WrenchStamped, name, force.filled())
            name = f'{self._topics[wrench.frame]}/estimate'
            offset = pipeline.tare.offset
            whole = external_wrench_message(
                partial(out.template, name), pipeline, state.stale, offset, wrench, frame_id
            )
            out.send(ExternalWrench, name, whole.filled())
            row += list(wrench.wrench[:3])
        if self._first is None:
            self._first = stamp
        row[0] = (stamp - self._first) * 1e-9
        self._curve.add([*row, int(external.report.state)])
        summary = self._summary
        summary.count += 1
        if link:
            summary.links[link] = summary.links.get(link, 0) + 1

    def _locate(
        self, estimators: Estimators, state: RobotState, external: ExternalTorques
    ) -> ContactLocation | None:
        """Returns the contact location, updated at the rate of the node according to the stamps."""
        locator = estimators.locator
        if locator is None or external.report.state is ContactState.NONE:
            self._place, self._next_place = None, 0
            return None
        if state.time >= self._next_place:
            self._next_place = state.time + round(1e9 / estimators.location.rate)
            self._place = locator.locate(
                state.q, external.values, state.stale_mask, state.v, external.deviation
            )
        return self._place
