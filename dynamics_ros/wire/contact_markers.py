# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Markers of contacts for RViz: arrows of force and torque, and the name of the touched link.

All markers are expressed in the root frame. In the frame of a link, RViz would need tf at the stamp
of the marker, which robot_state_publisher, at 20 Hz, may not have published yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Point
from visualization_msgs.msg import MarkerArray

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

FORCE = 'contact_force'
"""Namespace of the arrow at a known contact point."""


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


def contact_markers(
    robot: Robot,
    state: RobotState,
    external: ExternalTorques,
    estimates: Sequence[WrenchEstimate],
    location: ContactLocation | None,
    root: str,
    sizes: Sizes,
) -> MarkerArray:
    """Return the markers of a state.

    Args:
        robot, state: the robot and its state.
        external: external torques with the state of the contact.
        estimates: estimated wrenches.
        location: location of the contact, or None.
        root: frame id of the root frame.
        sizes: sizes of arrows.
    """
    head, report = header(time_message(state.time), root), external.report
    link = location.link if location else report.link
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
    if location is None or not location.point_frame or not location.known:
        return MarkerArray(markers=[*result, markers.deletion(head, FORCE)])
    pose = pose_of(location.link)
    # The tip of the arrow is at the surface, so the arrow lies on the side of the pusher.
    R, p = pose[:3, :3], pose[:3, 3]
    vector = sizes.force_scale * R @ location.force
    start = R @ location.point + p - vector
    result.append(markers.arrow(head, FORCE, 0, start, vector, sizes.diameter, color))
    return MarkerArray(markers=result)


def _poses(robot: Robot, q: Array) -> Callable[[str], Array]:
    """Return a function from a frame to its pose (4, 4) in the root frame at q (nq)."""
    poses = robot.all_frames(q)
    names = robot.frame_names
    return lambda name: np.eye(4) if name == robot.root_frame else poses[names.index(name)]


def _arrows(
    pose: Array, estimate: WrenchEstimate, sizes: Sizes
) -> Iterator[tuple[str, Array, Array]]:
    """Yield namespace, start (3) and vector (3) of the arrows, in the root frame.

    Args:
        pose: pose (4, 4) of the frame in which the estimate is expressed.
        estimate: estimated wrench.
        sizes: sizes of arrows.
    """
    R, p = pose[:3, :3], pose[:3, 3]
    start = R @ estimate.reference_point + p
    yield 'force', start, sizes.force_scale * R @ estimate.wrench[:3]
    yield 'torque', start, sizes.torque_scale * R @ estimate.wrench[3:]
