# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writer of the messages that contact_node would have published for a recording."""

from __future__ import annotations

from collections import Counter

from dynamics_ros.estimation import ContactLocation, ContactState
from dynamics_ros.estimation.contact.location import LOCATION_RATE
from dynamics_ros.estimation.contact_pipeline import ContactPipeline, ExternalTorques
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.wire.cdr import Filling, Message, packed_stamp
from dynamics_ros.wire.contact_messages import KINDS, ContactMessages
from dynamics_ros.wire.conversions import topic_names

from .bag import RecordingWriter
from .states import EstimatedBlock, Estimators

PREFIX = '/contact_node'
"""Prefix of the written topics, the name of the node."""


class EstimateWriter:
    """Writes the messages that contact_node would have published for each state.

    Attributes:
        frames: frames of the forces.
        links: number of states with contact per link.
        count: number of estimated states.
    """

    def __init__(self, first: Estimators, root_frame: str, writer: RecordingWriter) -> None:
        """Creates a writer before the first estimate.

        Args:
            first: estimators at the beginning.
            root_frame: frame_id of quantities in the root frame.
            writer: writer of the bag.
        """
        self._root_frame, self._writer = root_frame, writer
        pipeline = first.pipeline
        self.frames = pipeline.frames
        self.links: Counter[str] = Counter()
        self.count = 0
        self._topics = topic_names(pipeline.frames)
        self._place: ContactLocation | None = None
        self._next_place = 0
        self._adopt(pipeline)

    def write(self, block: EstimatedBlock) -> None:
        """Writes the messages of one state."""
        (time,), (stamp,), estimates, estimators = block
        state, external = estimates.states.row(0), estimates.row(0)
        pipeline = estimators.pipeline
        if pipeline is not self._pipeline:
            self._adopt(pipeline)
        place = self._locate(estimators, state, external)
        self._fill(state, external, place)
        packed = packed_stamp(stamp)
        for (topic, kind, _), template in zip(self._outputs, self._filling.templates, strict=True):
            self._writer.write(f'{PREFIX}/{topic}', kind, time, template.message(packed))
        link = place.link if place else external.report.link
        self.count += 1
        if link:
            self.links[link] += 1

    def _adopt(self, pipeline: ContactPipeline) -> None:
        self._pipeline, self._messages = pipeline, ContactMessages(pipeline, self._frame_id_of)
        self._outputs: list[tuple[str, type, Message]] = []

    def _fill(
        self, state: RobotState, external: ExternalTorques, place: ContactLocation | None
    ) -> None:
        """Fills the messages of a state, as a plan of the node does."""
        messages = self._messages
        if messages.write(state, external, place) or not self._outputs:
            self._outputs = [
                (f'{self._topics[frame]}/{part}' if frame else part, KINDS[part], message)
                for (frame, part), message in messages.by_output.items()
                if part != 'foot_contacts'
            ]
            self._filling = Filling([message for _, _, message in self._outputs])
        self._filling.fill()

    def _frame_id_of(self, frame: str) -> str:
        return self._root_frame if frame == self._pipeline.robot.root_frame else frame

    def _locate(
        self, estimators: Estimators, state: RobotState, external: ExternalTorques
    ) -> ContactLocation | None:
        """Returns the contact location, updated at the rate of the node according to the stamps."""
        locator = estimators.locator
        if locator is None or external.report.state is ContactState.NONE:
            self._place, self._next_place = None, 0
            return None
        if state.time >= self._next_place:
            self._next_place = state.time + round(1e9 / LOCATION_RATE)
            self._place = locator.locate(
                state.q, external.values, state.stale_mask, external.deviation
            )
        return self._place
