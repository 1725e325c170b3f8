# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: frames and the centre of mass, and obstacles that are given as markers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.collision import Obstacle
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.wire.conversions import Array, fill, header, pose_matrix, pose_message

RED = ColorRGBA(r=0.9, g=0.2, b=0.2, a=1.0)
GREEN = ColorRGBA(r=0.2, g=0.8, b=0.2, a=1.0)
BLUE = ColorRGBA(r=0.2, g=0.4, b=1.0, a=1.0)
YELLOW = ColorRGBA(r=1.0, g=0.8, b=0.1, a=1.0)
GREY = ColorRGBA(r=0.6, g=0.6, b=0.6, a=1.0)

AXIS_THICKNESS = 0.08
"""Thickness of an axis, in lengths of the axis."""

SPACE_WIDTH = 0.5
"""Width of a space in a text, in heights of its letters."""


def frame_axes(header: Header, identifier: int, pose: Array, length: float) -> Marker:
    """Return a marker of the axes of a frame: x red, y green, z blue.

    Args:
        header: header with the frame in which the pose is expressed.
        identifier: unique number among the axes of one message.
        pose: pose of the frame (4, 4).
        length: length of an axis [m].
    """
    scale = Vector3(x=AXIS_THICKNESS * length)
    marker = _marker(
        header, 'frames', identifier, Marker.LINE_LIST, pose=pose_message(pose), scale=scale
    )
    origin = fill(Point(), (0.0, 0.0, 0.0))
    for axis, color in enumerate((RED, GREEN, BLUE)):
        marker.points += [origin, fill(Point(), [length * (i == axis) for i in range(3)])]
        marker.colors += [color, color]
    return marker


def center_of_mass(header: Header, position: Array, diameter: float) -> Marker:
    """Return a sphere at the centre of mass (3), with a diameter [m]."""
    scale = Vector3(x=diameter, y=diameter, z=diameter)
    marker = _marker(header, 'center_of_mass', 0, Marker.SPHERE, scale=scale, color=YELLOW)
    fill(marker.pose.position, position)
    return marker


def arrow(
    header: Header,
    namespace: str,
    identifier: int,
    start: Array,
    vector: Array,
    diameter: float,
    color: ColorRGBA,
) -> Marker:
    """Return an arrow from a point (3) along a vector (3), with a shaft diameter [m]."""
    points = [fill(Point(), start), fill(Point(), start + vector)]
    scale = Vector3(x=diameter, y=2.0 * diameter, z=0.0)
    return _marker(
        header, namespace, identifier, Marker.ARROW, points=points, scale=scale, color=color
    )


def label(header: Header, namespace: str, text: str, height: float, color: ColorRGBA) -> Marker:
    """Return a text that faces the viewer; the caller sets its ``pose.position``.

    Args:
        header: header with the frame in which the position is expressed.
        namespace: namespace of the marker, its only one.
        text: the text.
        height: height of a capital letter [m].
        color: colour of the letters.
    """
    # RViz uses scale.x as the width of a space, and 1 m if it is 0.
    scale = Vector3(x=SPACE_WIDTH * height, z=height)
    return _marker(
        header, namespace, 0, Marker.TEXT_VIEW_FACING, text=text, scale=scale, color=color
    )


def empty_frames(root: str, count: int, length: float, diameter: float) -> MarkerArray:
    """Return the markers of frames and of the centre of mass, for a template.

    Args:
        root: frame id of the poses.
        count: number of frames.
        length: length of an axis [m].
        diameter: diameter of the centre of mass [m]; 0: no centre of mass.
    """
    head = header(Time(), root)
    result = [frame_axes(head, i, np.eye(4), length) for i in range(count)]
    if diameter:
        result.append(center_of_mass(head, np.zeros(3), diameter))
    return MarkerArray(markers=result)


def deletions(header: Header, namespaces: Sequence[str], first: int, count: int) -> list[Marker]:
    """Return markers that delete the identifiers ``first`` to ``count`` - 1 of each namespace."""
    return [deletion(header, name, i) for name in namespaces for i in range(first, count)]


def deletion(header: Header, namespace: str, identifier: int = 0) -> Marker:
    """Return a marker that deletes the marker of a namespace and identifier."""
    return _marker(header, namespace, identifier, Marker.ARROW, action=Marker.DELETE)


def _marker(header: Header, namespace: str, identifier: int, kind: int, **fields: Any) -> Marker:
    marker = Marker(header=header, ns=namespace, id=identifier, type=kind, **fields)
    if 'pose' not in fields:
        marker.pose.orientation.w = 1.0
    return marker


MAX_OBSTACLES, MAX_CORNERS = 100, 300
"""Most obstacles, and most corners of all meshes: more would hold up the commands of a servo, in
whose thread they are taken."""

ROUND = 1e-6
"""Relative difference of two diameters that counts as equal; markers have 64 bits."""


def read_obstacles(
    markers: Iterable[Marker], known: Mapping[str, Obstacle], frame_of: Callable[[str], str]
) -> dict[str, Obstacle]:
    """Return the obstacles by name, ``namespace/id``, after markers have been added and deleted.

    Args:
        markers: the markers, in their order.
        known: obstacles before.
        frame_of: returns the link of a frame_id, '' for the root frame; raises for others.

    Raises:
        DynamicsRosError: a marker is no obstacle, or its frame is unknown.
    """
    result = dict(known)
    for marker in markers:
        name = f'{marker.ns}/{marker.id}'
        if marker.action == Marker.DELETEALL:
            result.clear()
        elif marker.action == Marker.DELETE:
            result.pop(name, None)
        elif marker.action == Marker.ADD:
            result[name] = _obstacle(marker, name, frame_of(marker.header.frame_id))
        else:
            expected = 'ADD, DELETE or DELETEALL'
            raise InvalidArgumentError(f'marker {name!r}', f'action {marker.action}', expected)
    corners = sum(np.asarray(one.mesh).size // 3 for one in result.values() if one.mesh is not None)
    if len(result) > MAX_OBSTACLES or corners > MAX_CORNERS:
        found = f'{len(result)} of them with {corners} corners of meshes'
        expected = f'up to {MAX_OBSTACLES} and {MAX_CORNERS}'
        raise InvalidArgumentError('obstacles', found, expected)
    return result


def _obstacle(marker: Marker, name: str, frame: str) -> Obstacle:
    where = f'marker {name!r}'
    pose = pose_matrix(marker.pose, f'{where}: pose')
    x, y, z = size = (marker.scale.x, marker.scale.y, marker.scale.z)
    if marker.type == Marker.CUBE:
        return Obstacle('box', size, pose, frame)
    if marker.type == Marker.SPHERE and _equal(x, y) and _equal(x, z):
        return Obstacle('sphere', (0.5 * x,), pose, frame)
    if marker.type == Marker.CYLINDER and _equal(x, y):
        return Obstacle('cylinder', (0.5 * x, z), pose, frame)
    count = len(marker.points)
    if marker.type == Marker.TRIANGLE_LIST and count and count % 3 == 0:
        corners: Array = np.array([(p.x, p.y, p.z) for p in marker.points]) * size
        return Obstacle('mesh', (), pose, frame, corners.reshape(-1, 3, 3))
    raise InvalidArgumentError(
        where,
        f'type {marker.type} with scale {x:g} {y:g} {z:g} and {count} points',
        'CUBE, SPHERE of three equal diameters, CYLINDER of two, or TRIANGLE_LIST',
    )


def _equal(first: float, second: float) -> bool:
    return abs(first - second) <= ROUND * abs(first)
