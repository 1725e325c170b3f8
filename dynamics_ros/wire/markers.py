# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What RViz draws: axes of frames, the centre of mass, arrows of forces and torques."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from .conversions import Array, point_message, pose_message

RED = ColorRGBA(r=0.9, g=0.2, b=0.2, a=1.0)
GREEN = ColorRGBA(r=0.2, g=0.8, b=0.2, a=1.0)
BLUE = ColorRGBA(r=0.2, g=0.4, b=1.0, a=1.0)
YELLOW = ColorRGBA(r=1.0, g=0.8, b=0.1, a=1.0)
GREY = ColorRGBA(r=0.6, g=0.6, b=0.6, a=1.0)

AXIS_THICKNESS = 0.08
"""Of an axis or an arrow's head, in lengths of the axis."""

SPACE_WIDTH = 0.5
"""Of a space in a text, in heights of its letters."""


def frame_axes(header: Header, identifier: int, pose: Array, length: float) -> Marker:
    """The axes of a frame: x red, y green, z blue.

    Args:
        header: of the frame that the pose is given in.
        identifier: distinct among the axes of one message.
        pose: (4, 4).
        length: of an axis [m].
    """
    marker = _marker(header, 'frames', identifier, Marker.LINE_LIST)
    marker.pose = pose_message(pose)
    marker.scale.x = AXIS_THICKNESS * length
    origin = point_message((0.0, 0.0, 0.0))
    for axis, color in enumerate((RED, GREEN, BLUE)):
        marker.points += [origin, point_message([length * (i == axis) for i in range(3)])]
        marker.colors += [color, color]
    return marker


def center_of_mass(header: Header, position: Array, diameter: float) -> Marker:
    """A sphere at the centre of mass."""
    marker = _marker(header, 'center_of_mass', 0, Marker.SPHERE)
    marker.pose.position = point_message(position.tolist())
    marker.scale = Vector3(x=diameter, y=diameter, z=diameter)
    marker.color = YELLOW
    return marker


def arrow(
    header: Header,
    namespace: str,
    identifier: int,
    start: Sequence[float],
    vector: Array,
    diameter: float,
    color: ColorRGBA,
) -> Marker:
    """An arrow from a point along a vector [m]."""
    marker = _marker(header, namespace, identifier, Marker.ARROW)
    end = [a + b for a, b in zip(start, vector.tolist(), strict=True)]
    marker.points = [point_message(start), point_message(end)]
    marker.scale = Vector3(x=diameter, y=2.0 * diameter, z=0.0)
    marker.color = color
    return marker


def points(
    header: Header, namespace: str, pose: Array, positions: Array, width: float, color: ColorRGBA
) -> Marker:
    """Points (n, 3) in a frame of that pose (4, 4) as small squares, half transparent."""
    marker = _marker(header, namespace, 0, Marker.POINTS)
    marker.pose = pose_message(pose)
    marker.points = [point_message(position) for position in positions.tolist()]
    marker.scale.x = marker.scale.y = width
    marker.color = ColorRGBA(r=color.r, g=color.g, b=color.b, a=0.5)
    return marker


def label(header: Header, namespace: str, text: str, height: float, color: ColorRGBA) -> Marker:
    """A text that faces the viewer; its ``pose.position`` says where.

    Args:
        header: of the frame that the position is given in.
        namespace: its only marker.
        text: what it says.
        height: of a capital letter [m].
        color: of the letters.
    """
    marker = _marker(header, namespace, 0, Marker.TEXT_VIEW_FACING)
    marker.text = text
    # RViz takes x for the width of a space, and a metre where it is 0.
    marker.scale.x = SPACE_WIDTH * height
    marker.scale.z = height
    marker.color = color
    return marker


def removed_from(header: Header, namespaces: Sequence[str], first: int, count: int) -> list[Marker]:
    """Takes away those from an identifier on, of as many as there were in each namespace."""
    return [removed(header, name, i) for name in namespaces for i in range(first, count)]


def removed(header: Header, namespace: str, identifier: int = 0) -> Marker:
    """Takes a marker away."""
    marker = _marker(header, namespace, identifier, Marker.ARROW)
    marker.action = Marker.DELETE
    return marker


def _marker(header: Header, namespace: str, identifier: int, kind: int) -> Marker:
    marker = Marker(header=header, ns=namespace, id=identifier, type=kind, action=Marker.ADD)
    marker.pose.orientation.w = 1.0
    return marker
