# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Markers of contacts for RViz: arrows of force and torque, touched link and contact point.

All markers are expressed in the root frame. In the frame of a link, RViz would need tf at the stamp
of the marker, which robot_state_publisher, at 20 Hz, may not have published yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.estimation import (
    ContactLocation,
    ContactState,
    ExternalTorques,
    WrenchEstimate,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import Array, fill, header, time_message

from . import markers

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


class Sizes(NamedTuple):
    """Sizes of arrows.

    Attributes:
        force_scale: length per force [m/N].
        torque_scale: length per torque [m/Nm].
        diameter: diameter of the shaft [m].
    """

    force_scale: float
    torque_scale: float
    diameter: float = 0.02


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


def contact_markers(
    robot: Robot,
    state: RobotState,
    external: ExternalTorques,
    estimates: Sequence[WrenchEstimate],
    contact: LocatedContact | None,
    root: str,
    sizes: Sizes,
) -> MarkerArray:
    """Return the markers of a state.

    Args:
        robot, state: the robot and its state.
        external: external torques with the state of the contact.
        estimates: estimated wrenches.
        contact: contact location, or None.
        root: frame id of the root frame.
        sizes: sizes of arrows.
    """
    head, report = header(time_message(state.time), root), external.report
    link = contact.location.link if contact else report.link
    pose_of, color = _poses(robot, state.q), COLORS[report.state]
    result = [
        markers.arrow(head, name, i, start, vector, sizes.diameter, color)
        for i, estimate in enumerate(estimates)
        for name, start, vector in _arrows(pose_of(estimate.expressed_in), estimate, sizes)
    ]
    if link:
        text, height = f'{report.state.name.lower()}: {link}', LABEL_HEIGHT * sizes.diameter
        label = markers.label(head, 'link', text, height, color)
        label.pose.position = fill(Point(), pose_of(link)[:3, 3])
        result.append(label)
    else:
        result.append(markers.deletion(head, 'link'))
    location: list[Marker] = []
    if contact is not None and contact.location.point_frame:
        pose = pose_of(contact.location.link)
        location = _location_markers(head, contact, pose, sizes, color)
    deletions = [markers.deletion(head, SURFACE), markers.deletion(head, FORCE)]
    return MarkerArray(markers=[*result, *(location or deletions)])


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


def _location_markers(
    head: Header, contact: LocatedContact, link_pose: Array, sizes: Sizes, color: ColorRGBA
) -> list[Marker]:
    """Return the surface of the touched link, and the force at the point if that is reliable."""
    location, width = contact.location, sizes.diameter
    surface = markers.points(head, SURFACE, link_pose, contact.surface, width, color)
    if not contact.is_reliable:
        return [surface, markers.deletion(head, FORCE)]
    # The tip of the arrow is at the surface, so the arrow lies on the side of the pusher.
    R, p = link_pose[:3, :3], link_pose[:3, 3]
    vector = sizes.force_scale * R @ location.force
    start = (R @ location.point + p - vector).tolist()
    return [surface, markers.arrow(head, FORCE, 0, start, vector, width, color)]


def _poses(robot: Robot, q: Array) -> Callable[[str], Array]:
    """Return a function from a frame to its pose (4, 4) in the root frame at q (nq)."""
    poses = robot.all_frames(q)
    names = robot.frame_names
    return lambda name: np.eye(4) if name == robot.root_frame else poses[names.index(name)]


def _arrows(
    pose: Array, estimate: WrenchEstimate, sizes: Sizes
) -> Iterator[tuple[str, list[float], Array]]:
    """Yield namespace, start (3) and vector (3) of the arrows, in the root frame.

    Args:
        pose: pose (4, 4) of the frame in which the estimate is expressed.
        estimate: estimated wrench.
        sizes: sizes of arrows.
    """
    R, p = pose[:3, :3], pose[:3, 3]
    start = (R @ estimate.reference_point + p).tolist()
    yield 'force', start, sizes.force_scale * R @ estimate.wrench[:3]
    yield 'torque', start, sizes.torque_scale * R @ estimate.wrench[3:]
