# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What RViz draws of contacts: arrows of force and torque, the touched link and place.

All of it is in the root frame, where the pose at the stamp is known here. In the frame of a link a
viewer would have to ask tf for a stamp that robot_state_publisher, at 20 Hz, has not yet sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import MarkerArray

from dynamics_ros.estimation import (
    ContactLocation,
    ContactState,
    ExternalTorques,
    WrenchEstimate,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.parameters.contact import ArrowParameters
from dynamics_ros.requests.frame_names import FrameNames
from dynamics_ros.robot import Robot
from dynamics_ros.wire import markers
from dynamics_ros.wire.conversions import Array
from dynamics_ros.wire.templates import MessageTemplate, ObjectTemplate, fill

from .place import ContactPlace

COLORS = {
    ContactState.NONE: markers.GREY,
    ContactState.CONTACT: markers.YELLOW,
    ContactState.COLLISION: markers.RED,
}

LABEL_HEIGHT = 4.0
"""Of the text at the touched link, in diameters of an arrow."""


ARROWS = ('force', 'torque')
"""Namespaces of the arrows of each frame, which have its index."""

ORIGIN, NOWHERE = (0.0, 0.0, 0.0), np.zeros(3)


class _Drawn(NamedTuple):
    """What markers are made of, but for places and lengths.

    Attributes:
        wrenches: how many.
        state, link: of the contact.
        names: of frames.
        settings: the parameters as a whole, which are few and seldom change.
    """

    wrenches: int
    state: ContactState
    link: str
    names: FrameNames
    settings: ArrowParameters


class ContactMarkers:
    """Fills in and publishes the markers."""

    def __init__(
        self,
        output: Output,
        context: RobotContext,
        place: ContactPlace,
        settings: Callable[[], ArrowParameters],
    ) -> None:
        """Draw nothing yet.

        Args:
            output: of the markers.
            context: knows the names of frames.
            place: of the contact.
            settings: sizes in force.
        """
        self._output, self._context, self._place = output, context, place
        self._settings = settings

    def filled(
        self,
        state: RobotState,
        external: ExternalTorques,
        estimates: Sequence[WrenchEstimate],
        place: ContactLocation | None,
    ) -> MessageTemplate:
        """What is drawn of a state."""
        settings = self._settings()
        link = place.link if place else external.report.link
        drawn = _Drawn(len(estimates), external.report.state, link, self._context.names, settings)
        poses = _Poses(self._context.required_robot(), state.q)
        paths = [f'markers.{i}.points' for i in range(2 * len(estimates))]
        numbers = [
            line for e in estimates for line in _arrows(poses.of(e.expressed_in), e, settings)
        ]
        if link:
            paths.append(f'markers.{2 * len(estimates)}.pose.position')
            numbers.append(poses.of(link)[:3, 3])
        if place is None:
            template = self._output.template(
                drawn, partial(self._message, state, None, None), paths
            )
            fill(template, numbers)
            return template
        # The surface of the touched link has many points, seldom twice the same: nothing to keep.
        whole = ObjectTemplate(self._message(state, place, poses.of(place.link), drawn), paths)
        fill(whole, numbers)
        return whole

    def erase(self, frames: int, before: int) -> None:
        """Take away the arrows of frames of which there were more before."""
        head = self._context.root_header(self._context.now())
        gone = markers.removed_from(head, ARROWS, frames, before)
        if gone:
            self._output.publish(MarkerArray(markers=gone))

    def _message(
        self,
        state: RobotState,
        place: ContactLocation | None,
        link_pose: Array | None,
        drawn: _Drawn,
    ) -> MarkerArray:
        """Arrows without length and the label, which is nowhere yet."""
        head = self._context.root_header(Time())
        color, diameter = COLORS[drawn.state], drawn.settings.diameter
        shown = [
            markers.arrow(head, name, i, ORIGIN, NOWHERE, diameter, color)
            for i in range(drawn.wrenches)
            for name in ARROWS
        ]
        if drawn.link:
            text = f'{drawn.state.name.lower()}: {drawn.link}'
            shown.append(markers.label(head, 'link', text, LABEL_HEIGHT * diameter, color))
        else:
            shown.append(markers.removed(head, 'link'))
        scale = drawn.settings.force_scale
        shown += self._place.markers(state, place, link_pose, color, scale, diameter)
        return MarkerArray(markers=shown)


class _Poses:
    """Poses of frames in the root frame, all of one configuration: one kernel for any of them."""

    def __init__(self, robot: Robot, q: Array) -> None:
        self._robot, self._all = robot, robot.all_frames(q)

    def of(self, frame: str) -> Array:
        """(4, 4)."""
        if frame == self._robot.root_frame:
            return np.eye(4)
        return self._all[self._robot.frame_names.index(frame)]


def _arrows(pose: Array, estimate: WrenchEstimate, settings: ArrowParameters) -> Iterator[Array]:
    """(6) begin and end of the arrows of force and torque, from the pose of their axes."""
    R, p = pose[:3, :3], pose[:3, 3]
    start = R @ estimate.reference_point + p
    yield np.concatenate((start, start + settings.force_scale * R @ estimate.wrench[:3]))
    yield np.concatenate((start, start + settings.torque_scale * R @ estimate.wrench[3:]))
