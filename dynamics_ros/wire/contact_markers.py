# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Markers of contacts for RViz: arrows of force and torque, touched link and contact point.

All markers are expressed in the root frame. In the frame of a link, RViz would need tf at the stamp
of the marker, which robot_state_publisher, at 20 Hz, may not have published yet.
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
"""Height of the text at the touched link, in diameters of an arrow."""

ARROWS = ('force', 'torque')
"""Namespaces of the arrows; the identifier is the index of the contact frame."""

SURFACE, FORCE = 'touched_link', 'contact_force'
"""Namespaces of the markers of a contact location."""

ORIGIN, NO_VECTOR = (0.0, 0.0, 0.0), np.zeros(3)


class Sizes(NamedTuple):
    """Sizes of arrows.

    Attributes:
        force_scale: length per force [m/N].
        torque_scale: length per torque [m/Nm].
        diameter: diameter of the shaft [m].
    """

    force_scale: float
    torque_scale: float
    diameter: float


class LocatedContact(NamedTuple):
    """Contact location with the data that markers show.

    Attributes:
        location: location of the contact.
        surface: points on the surface of the touched link (n, 3), in its frame [m].
        is_reliable: whether the point of the location is reliable.
    """

    location: ContactLocation
    surface: Array
    is_reliable: bool


class MarkersKey(NamedTuple):
    """Content of the markers other than numbers; a new value needs a new template.

    Attributes:
        wrenches: number of wrenches.
        state, link: state of the contact, and the touched link.
        root: frame id of the root frame.
        sizes: sizes of arrows.
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
    contact: LocatedContact | None,
    root: str,
    sizes: Sizes,
) -> MessageTemplate:
    """Return the filled markers of a state.

    Args:
        templates: returns the template of a key.
        robot, state: the robot and its state.
        external: external torques with the state of the contact.
        estimates: estimated wrenches.
        contact: contact location, or None.
        root: frame id of the root frame.
        sizes: sizes of arrows.
    """
    link = contact.location.link if contact else external.report.link
    key = MarkersKey(len(estimates), external.report.state, link, root, sizes)
    pose_of = _poses(robot, state.q)
    paths = [f'markers.{i}.points' for i in range(2 * len(estimates))]
    numbers = [line for e in estimates for line in _arrows(pose_of(e.expressed_in), e, sizes)]
    if link:
        paths.append(f'markers.{2 * len(estimates)}.pose.position')
        numbers.append(pose_of(link)[:3, 3])
    if contact is None:
        template = templates(key, partial(_message, []), paths)
    else:
        # Not cached: the many points of the surface rarely occur twice at the same pose.
        shown = _location_markers(state, contact, pose_of(contact.location.link), key)
        template = ObjectTemplate(_message(shown, key), paths)
    fill(template, numbers)
    return template


def deleted_arrows(root: str, stamp: Time, frames: int, before: int) -> MarkerArray | None:
    """Return markers that delete surplus arrows after the number of frames changed.

    Args:
        root: frame id of the root frame.
        stamp: stamp of the markers.
        frames: number of contact frames.
        before: previous number of contact frames.

    Returns:
        The markers; None if there are no surplus arrows.
    """
    deleted = markers.deletions(header(stamp, root), ARROWS, frames, before)
    return MarkerArray(markers=deleted) if deleted else None


def _message(location: Sequence[Marker], key: Any) -> MarkerArray:
    """Return arrows of length zero, the label at the origin, and the markers of a location."""
    head = header(Time(), key.root)
    color, diameter = COLORS[key.state], key.sizes.diameter
    result = [
        markers.arrow(head, name, i, ORIGIN, NO_VECTOR, diameter, color)
        for i in range(key.wrenches)
        for name in ARROWS
    ]
    if key.link:
        text = f'{key.state.name.lower()}: {key.link}'
        result.append(markers.label(head, 'link', text, LABEL_HEIGHT * diameter, color))
    else:
        result.append(markers.deletion(head, 'link'))
    deletions = [markers.deletion(head, SURFACE), markers.deletion(head, FORCE)]
    return MarkerArray(markers=[*result, *(location or deletions)])


def _location_markers(
    state: RobotState, contact: LocatedContact, link_pose: Array, key: MarkersKey
) -> list[Marker]:
    """Return the surface of the touched link, and the force at the point if that is reliable."""
    location, color = contact.location, COLORS[key.state]
    if not location.point_frame:
        return []
    head, width = header(time_message(state.time), key.root), key.sizes.diameter
    result = [markers.points(head, SURFACE, link_pose, contact.surface, width, color)]
    if not contact.is_reliable:
        return [*result, markers.deletion(head, FORCE)]
    # The tip of the arrow is at the surface, so the arrow lies on the side of the pusher.
    R, p = link_pose[:3, :3], link_pose[:3, 3]
    vector = key.sizes.force_scale * R @ location.force
    start = (R @ location.point + p - vector).tolist()
    return [*result, markers.arrow(head, FORCE, 0, start, vector, width, color)]


def _poses(robot: Robot, q: Array) -> Callable[[str], Array]:
    """Return a function from a frame to its pose (4, 4) in the root frame at q (nq)."""
    poses = robot.all_frames(q)
    names = robot.frame_names
    return lambda name: np.eye(4) if name == robot.root_frame else poses[names.index(name)]


def _arrows(pose: Array, estimate: WrenchEstimate, sizes: Sizes) -> Iterator[Array]:
    """Yield start and end (6) of the arrows of force and torque, in the root frame.

    Args:
        pose: pose (4, 4) of the frame in which the estimate is expressed.
        estimate: estimated wrench.
        sizes: sizes of arrows.
    """
    R, p = pose[:3, :3], pose[:3, 3]
    start = R @ estimate.reference_point + p
    yield np.concatenate((start, start + sizes.force_scale * R @ estimate.wrench[:3]))
    yield np.concatenate((start, start + sizes.torque_scale * R @ estimate.wrench[3:]))
