# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writer of the messages that contact_node would have published for a recording, and their plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from dynamics_ros.estimation import ContactLocation, ContactPipeline, ContactState
from dynamics_ros.estimation.contact.geometry import LOCATION_RATE
from dynamics_ros.estimation.external_torques import ExternalTorques
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.files import completed
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.contact_messages import ContactMessages
from dynamics_ros.wire.conversions import topic_names
from dynamics_ros.wire.templates import Filling, Message
from dynamics_ros_msgs.msg import ContactState as ContactStateMessage
from dynamics_ros_msgs.msg import ExternalWrench

from .bag import RecordingWriter
from .page import figure
from .states import Estimate, Estimators

Array = NDArray[np.float64]

PREFIX = '/contact_node'
"""Prefix of the written topics, the name of the node."""

THINNED_POINTS = 5000
"""Number of points after thinning, which starts at twice as many; more cannot be distinguished in
print."""

COLORS = {ContactState.CONTACT: '#f0c000', ContactState.COLLISION: '#d03030'}


class ThinnedCurve:
    """Stores every n-th row; n doubles whenever the storage is full.

    The last column of a stored row is the maximum over the rows that it represents, so that short
    events of that column, such as contacts, are not lost.
    """

    def __init__(self, width: int) -> None:
        """Creates an empty curve with ``width`` columns."""
        self._rows = np.zeros((2 * THINNED_POINTS, width))
        self._size, self._step, self._count = 0, 1, 0
        self._largest = -np.inf

    def add(self, values: Sequence[float]) -> None:
        """Adds a row."""
        self._largest = max(self._largest, values[-1])
        self._count += 1
        if self._count < self._step:
            return
        row = self._rows[self._size]
        row[:] = values
        row[-1] = self._largest
        self._size, self._count, self._largest = self._size + 1, 0, -np.inf
        if self._size == len(self._rows):
            self._halve()

    @property
    def rows(self) -> Array:
        """(n, width) stored rows."""
        return self._rows[: self._size]

    def _halve(self) -> None:
        kept = self._rows[1::2].copy()
        kept[:, -1] = np.maximum(self._rows[::2, -1], kept[:, -1])
        self._size //= 2
        self._rows[: self._size] = kept
        self._step *= 2


class EstimateWriter:
    """Writes the messages that contact_node would have published for each state.

    Attributes:
        joint_names: joints of the torques.
        frames: frames of the forces.
        curve: rows of stamps [s since the first], external torques [Nm, N], forces of the frames
            [N] and contact states, thinned to the resolution of a plot.
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
        self.joint_names, self.frames = pipeline.joint_names, pipeline.frames
        self.curve = ThinnedCurve(2 + len(self.joint_names) + 3 * len(self.frames))
        self.links: Counter[str] = Counter()
        self.count = 0
        self._topics = topic_names(pipeline.frames)
        self._place: ContactLocation | None = None
        self._next_place = 0
        self._first: int | None = None
        self._adopt(pipeline)

    def write(self, estimate: Estimate, estimators: Estimators) -> None:
        """Writes the messages of one state."""
        time, stamp, state, external = estimate
        pipeline = estimators.pipeline
        if pipeline is not self._pipeline:
            self._adopt(pipeline)
        place = self._locate(estimators, state, external)
        self._fill(state, external, place)
        packed = packed_stamp(stamp)
        for (topic, kind, _), template in zip(self._outputs, self._filling.templates, strict=True):
            self._writer.write(f'{PREFIX}/{topic}', kind, time, template.message(packed))
        link = place.link if place else external.report.link
        if self._first is None:
            self._first = stamp
        row = [(stamp - self._first) * 1e-9, *external.values[pipeline.joint_indices]]
        if self._messages.wrenches:
            row += [x for wrench in pipeline.estimator.latest for x in wrench.wrench[:3]]
        self.curve.add([*row, int(external.report.state)])
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
        if messages.add_compiled() or not self._outputs:
            self._outputs = [
                ('external_torques', JointState, messages.external_torques),
                ('contact_state', ContactStateMessage, messages.contact_state),
            ]
            each = zip(self.frames, messages.wrenches, messages.estimates)  # or none of these
            for frame, wrench, whole in each:
                self._outputs += [
                    (f'{self._topics[frame]}/wrench', WrenchStamped, wrench),
                    (f'{self._topics[frame]}/estimate', ExternalWrench, whole),
                ]
            self._filling = Filling([message for _, _, message in self._outputs])
        messages.write(state, external, place)
        if not self._filling.run():
            self._filling.explain()

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
                state.q, external.values, state.stale_mask, state.v, external.deviation
            )
        return self._place


def plot(output: EstimateWriter, path: Path) -> bool:
    """Writes external torques, contact states and forces as a PNG file.

    Returns:
        False, with a warning, if matplotlib is not installed.
    """
    frames = output.frames
    drawn = figure(11.0, 3.2 * (1 + len(frames)))
    if drawn is None:
        return False
    joints = len(output.joint_names)
    t, *columns, states = output.curve.rows.T
    axes = drawn.subplots(1 + len(frames), 1, sharex=True, squeeze=False)[:, 0]
    for name, column in zip(output.joint_names, columns, strict=False):
        axes[0].plot(t, column, linewidth=0.9, label=name)
    axes[0].set_ylabel('external torque [Nm, N]')
    for k, (axis, frame) in enumerate(zip(axes[1:], frames, strict=True)):
        forces = columns[joints + 3 * k :][:3]
        for letter, column in zip('xyz', forces, strict=True):
            axis.plot(t, column, linewidth=0.9, label=letter)
        axis.plot(t, np.linalg.norm(forces, axis=0), 'k:', linewidth=0.9, label='size')
        axis.set_ylabel(f'force at {frame} [N]')
    for axis in axes:
        for state, color in COLORS.items():
            axis.fill_between(
                t,
                0.0,
                1.0,
                where=states == state,
                transform=axis.get_xaxis_transform(),
                color=color,
                alpha=0.25,
                linewidth=0.0,
                label=state.name.lower() if (states == state).any() else None,
            )
        axis.grid(alpha=0.3)
        axis.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), fontsize='small')
    axes[-1].set_xlabel('time [s]')
    with completed(path) as unfinished:
        drawn.savefig(unfinished, dpi=110)
    return True
