# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What RViz draws of contacts: arrows of force and torque, the touched link and place.

All of it is in the root frame, where the pose at the stamp is known here. In the frame of a link a
viewer would have to ask tf for a stamp that robot_state_publisher, at 20 Hz, has not yet sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.estimation import (
    ContactLocation,
    ContactState,
    ExternalTorques,
    WrenchEstimate,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.robot import Robot

from . import markers
from .contact_messages import Templates
from .conversions import Array, header, time_message
from .message_template import MessageTemplate
from .templates import ObjectTemplate, fill

COLORS = {
    ContactState.NONE: markers.GREY,
    ContactState.CONTACT: markers.YELLOW,
    ContactState.COLLISION: markers.RED,
}

LABEL_HEIGHT = 4.0
"""Of the text at the touched link, in diameters of an arrow."""

ARROWS = ('force', 'torque')
"""Namespaces of the arrows of each frame, which have its index."""

SURFACE, FORCE = 'touched_link', 'contact_force'
"""Namespaces of what is shown of a place."""

ORIGIN, NOWHERE = (0.0, 0.0, 0.0), np.zeros(3)


class Sizes(NamedTuple):
    """How large arrows are.

    Attributes:
        force_scale, torque_scale: length per force [m/N], and per torque [m/Nm].
        diameter: [m].
    """

    force_scale: float
    torque_scale: float
    diameter: float


class TouchedPlace(NamedTuple):
    """Where the robot is touched.

    Attributes:
        location: of the contact.
        surface: (n, 3) points of the touched link, in its frame.
        known: whether the point may be relied on.
    """

    location: ContactLocation
    surface: Array
    known: bool


class _Drawn(NamedTuple):
    """What markers are made of, but for places and lengths.

    Attributes:
        wrenches: how many.
        state, link: of the contact.
        root: frame_id.
        sizes: of arrows.
    """

    wrenches: int
    state: ContactState
    link: str
    root: str
    sizes: Sizes


def filled_markers(
    templates: Templates,
    robot: Robot,
    state: RobotState,
    external: ExternalTorques,
    estimates: Sequence[WrenchEstimate],
    place: TouchedPlace | None,
    root: str,
    sizes: Sizes,
) -> MessageTemplate:
    """What is drawn of a state.

    Args:
        templates: where templates are kept.
        robot, state: where frames are.
        external, estimates: what was felt.
        place: where; None for nowhere.
        root: frame_id of the root frame.
        sizes: of arrows.
    """
    link = place.location.link if place else external.report.link
    drawn = _Drawn(len(estimates), external.report.state, link, root, sizes)
    pose_of = _poses(robot, state.q)
    paths = [f'markers.{i}.points' for i in range(2 * len(estimates))]
    numbers = [line for e in estimates for line in _arrows(pose_of(e.expressed_in), e, sizes)]
    if link:
        paths.append(f'markers.{2 * len(estimates)}.pose.position')
        numbers.append(pose_of(link)[:3, 3])
    if place is None:
        template = templates(drawn, partial(_message, []), paths)
    else:
        # The surface of the touched link has many points, seldom twice the same: nothing to keep.
        shown = _place(state, place, pose_of(place.location.link), drawn)
        template = ObjectTemplate(_message(shown, drawn), paths)
    fill(template, numbers)
    return template


def arrows_removed(root: str, stamp: Time, frames: int, before: int) -> MarkerArray | None:
    """Takes away the arrows of frames of which there were more before; None without any."""
    gone = markers.removed_from(header(stamp, root), ARROWS, frames, before)
    return MarkerArray(markers=gone) if gone else None


def _message(place: Sequence[Marker], drawn: Any) -> MarkerArray:
    """Arrows without length, the label, which is nowhere yet, and what is shown of a place."""
    head = header(Time(), drawn.root)
    color, diameter = COLORS[drawn.state], drawn.sizes.diameter
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
    nothing = [markers.removed(head, SURFACE), markers.removed(head, FORCE)]
    return MarkerArray(markers=[*shown, *(place or nothing)])


def _place(state: RobotState, place: TouchedPlace, link_pose: Array, drawn: _Drawn) -> list[Marker]:
    """The surface of the touched link, and the force at the point when that is known."""
    location, color = place.location, COLORS[drawn.state]
    if not location.point_frame:
        return []
    head, width = header(time_message(state.time), drawn.root), drawn.sizes.diameter
    shown = [markers.points(head, SURFACE, link_pose, place.surface, width, color)]
    if not place.known:
        return [*shown, markers.removed(head, FORCE)]
    # The tip at the surface: the arrow stands where the pusher is.
    R, p = link_pose[:3, :3], link_pose[:3, 3]
    vector = drawn.sizes.force_scale * R @ location.force
    start = (R @ location.point + p - vector).tolist()
    return [*shown, markers.arrow(head, FORCE, 0, start, vector, width, color)]


def _poses(robot: Robot, q: Array) -> Callable[[str], Array]:
    """Pose (4, 4) of any frame in the root frame, all of one configuration, by one kernel."""
    every = robot.all_frames(q)
    names = robot.frame_names
    return lambda name: np.eye(4) if name == robot.root_frame else every[names.index(name)]


def _arrows(pose: Array, estimate: WrenchEstimate, sizes: Sizes) -> Iterator[Array]:
    """(6) begin and end of the arrows of force and torque, from the pose of their axes."""
    R, p = pose[:3, :3], pose[:3, 3]
    start = R @ estimate.reference_point + p
    yield np.concatenate((start, start + sizes.force_scale * R @ estimate.wrench[:3]))
    yield np.concatenate((start, start + sizes.torque_scale * R @ estimate.wrench[3:]))
