# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles in visualization_msgs/Marker messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from visualization_msgs.msg import Marker

from dynamics_ros.collision import Obstacle
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.wire.conversions import Array, pose_matrix

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
