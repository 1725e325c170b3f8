# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: frames, the centre of mass and contacts; obstacles that are given as markers.

All are expressed in the root frame. In the frame of a link, RViz would need tf at the stamp of the
marker, which robot_state_publisher, at 20 Hz, may not have published yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from math import isclose
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.collision import Obstacle
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import (
    ContactLocation,
    ContactState,
    ExternalTorques,
    WrenchEstimate,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    Array,
    fill,
    header,
    pose_matrix,
)

from .cdr import Template

RED = ColorRGBA(r=0.9, g=0.2, b=0.2, a=1.0)
GREEN = ColorRGBA(r=0.2, g=0.8, b=0.2, a=1.0)
BLUE = ColorRGBA(r=0.2, g=0.4, b=1.0, a=1.0)
YELLOW = ColorRGBA(r=1.0, g=0.8, b=0.1, a=1.0)
GREY = ColorRGBA(r=0.6, g=0.6, b=0.6, a=1.0)

COLORS = {ContactState.NONE: GREY, ContactState.CONTACT: YELLOW, ContactState.COLLISION: RED}

AXIS_THICKNESS = 0.08
"""Thickness of an axis, in lengths of the axis."""

TO_LENGTH = np.array([[1.0], [5.0]])
"""Lengths of the arrows of 1 N and 1 Nm over that of 1 N, for torques of forces at 20 cm."""

DIAMETER, LETTERS = 0.02, 0.08
"""Diameter of an arrow and height of the letters at a touched link [m]."""

FORCE, LINK = 'contact_force', 'link'
"""Namespaces of the arrow at a known contact point, and of the name of the touched link."""


def empty_frames(root: str, count: int, length: float, diameter: float) -> MarkerArray:
    """Return the axes of frames, x red, y green, z blue, and the centre of mass, for a template.

    Args:
        root: frame id of the poses.
        count: number of frames.
        length: length of an axis [m].
        diameter: diameter of the centre of mass [m]; 0: no centre of mass.
    """
    head, result = header(Time(), root), []
    tips = [fill(Point(), length * axis) for axis in np.eye(3)]
    for i in range(count):
        scale = Vector3(x=AXIS_THICKNESS * length)
        axes = _marker(head, 'frames', i, Marker.LINE_LIST, scale=scale)
        axes.points = [point for tip in tips for point in (Point(), tip)]
        axes.colors = [color for color in (RED, GREEN, BLUE) for _ in range(2)]
        result.append(axes)
    if diameter:
        scale = Vector3(x=diameter, y=diameter, z=diameter)
        sphere = _marker(head, 'center_of_mass', 0, Marker.SPHERE, scale=scale, color=YELLOW)
        result.append(sphere)
    return MarkerArray(markers=result)


class ContactMarkers:
    """Arrows of forces and torques at contact frames and point, and the touched link's name.

    The message is made anew when its colour, names or arrows change; else numbers are written.
    """

    def __init__(self, robot: Robot, root: str, force_scale: float) -> None:
        """Start without a message.

        Args:
            robot: the robot.
            root: frame id of the root frame.
            force_scale: length of an arrow per force [m/N].
        """
        self._robot, self._root, self._scale = robot, root, force_scale
        self._key: Hashable = None
        self._template: Template

    def filled(
        self,
        state: RobotState,
        external: ExternalTorques,
        estimates: Sequence[WrenchEstimate],
        location: ContactLocation | None,
    ) -> Template:
        """Return the message for a state, external torques, wrenches, and place of the contact."""
        robot, scale, contact = self._robot, self._scale, external.report.state
        poses, link = robot.all_frames(state.q), (location or external.report).link
        drawn: dict[tuple[str, int], Array] = {}  # ends of arrows (6), position of the name (3)

        def pose_of(frame: str) -> Array:
            at_root = frame == robot.root_frame
            return np.eye(4) if at_root else poses[robot.frame_names.index(frame)]

        for i, estimate in enumerate(estimates):
            pose = pose_of(estimate.expressed_in)
            R, start = pose[:3, :3], pose[:3, :3] @ estimate.reference_point + pose[:3, 3]
            ends = start + scale * estimate.wrench.reshape(2, 3) @ R.T * TO_LENGTH
            for name, end in zip(('force', 'torque'), ends, strict=True):
                drawn[name, i] = np.concatenate([start, end])
        if link:
            drawn[LINK, 0] = pose_of(link)[:3, 3]
        if location is not None and location.point_frame and location.known:
            pose = pose_of(location.link)
            # The tip of the arrow is at the surface, so the arrow lies on the side of the pusher.
            tip, vector = pose[:3, :3] @ location.point + pose[:3, 3], pose[:3, :3] @ location.force
            drawn[FORCE, 0] = np.concatenate([tip - scale * vector, tip])
        key = contact, link, *drawn
        if self._key != key:
            fields = ['pose.position' if name == LINK else 'points' for name, _ in drawn]
            paths = [f'markers.{k}.{field}' for k, field in enumerate(fields)]
            self._key = key
            self._template = Template(self._prototype(contact, link, drawn), paths)
        for place, numbers in zip(self._template.numbers, drawn.values(), strict=True):
            place[:] = numbers
        return self._template

    def _prototype(
        self, contact: ContactState, link: str, drawn: Collection[tuple[str, int]]
    ) -> MarkerArray:
        head, shown = header(Time(), self._root), []
        # RViz takes the diameters of shaft and head of an arrow from the scale, and of a text the
        # width of a space, which is 1 m if it is 0.
        arrow = {'points': [Point(), Point()], 'scale': Vector3(x=DIAMETER, y=2.0 * DIAMETER)}
        scale, text = Vector3(x=0.5 * LETTERS, z=LETTERS), f'{contact.name.lower()}: {link}'
        texts = {LINK: (Marker.TEXT_VIEW_FACING, {'text': text, 'scale': scale})}
        for name in drawn:
            kind, own = texts.get(name[0], (Marker.ARROW, arrow))
            shown.append(_marker(head, *name, kind, color=COLORS[contact], **own))
        for name in {(LINK, 0), (FORCE, 0)}.difference(drawn):
            shown.append(_marker(head, *name, Marker.ARROW, action=Marker.DELETE))
        return MarkerArray(markers=shown)


def _marker(head: Header, namespace: str, identifier: int, kind: int, **fields: Any) -> Marker:
    marker = Marker(header=head, ns=namespace, id=identifier, type=kind, **fields)
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
            obstacle = _obstacle(marker, name, frame_of(marker.header.frame_id))
            obstacle.shape(name)  # refuses sizes and meshes that are none
            result[name] = obstacle
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
    circular = isclose(x, y, rel_tol=ROUND)
    if marker.type == Marker.CUBE:
        return Obstacle('box', size, pose, frame)
    if marker.type == Marker.SPHERE and circular and isclose(x, z, rel_tol=ROUND):
        return Obstacle('sphere', (0.5 * x,), pose, frame)
    if marker.type == Marker.CYLINDER and circular:
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
