# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draws markers and the outputs of contact_node in the frames of a robot."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from rclpy.impl.rcutils_logger import RcutilsLogger
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.page.bars import Bar
from dynamics_ros.page.explorer import Explorer
from dynamics_ros.page.posed import PosedRobot
from dynamics_ros.page.scene import Array, Color, Scene, arrow, sphere
from dynamics_ros.spatial import matrix_to_quaternion
from dynamics_ros.wire.conversions import numbers, pose_matrix
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

MAX_MARKERS = 2000
"""Names of markers that are drawn; a publisher that takes a new name each time has more."""

FARTHEST = 1e6
"""m: browsers compute in single precision."""

STATES = {
    ContactState.NONE: 'no contact',
    ContactState.CONTACT: 'contact',
    ContactState.COLLISION: 'collision',
}

POINT_COLOR, UNCERTAINTY_COLOR = (0.85, 0.1, 0.5), (0.95, 0.6, 0.1)
POINT_DIAMETER = 0.025
CONTACT_POINT = 'contact point'

DEVIATIONS = 2.0
"""Semi-axes of the uncertainty ellipsoid, in standard deviations."""


class Drawing:
    """Draws the latest message of each kind, and the latest marker of each name.

    What a message places in the root frame moves along with the frame that was nearest to it at its
    stamp, so an arrow stays at a moving tool until the next message.

    Attributes:
        contact: the latest valid contact state, or None.
    """

    def __init__(
        self, scene: Scene, force_scale: float, frame_prefix: str, log: RcutilsLogger
    ) -> None:
        """Start without messages.

        Args:
            scene: the scene to draw in.
            force_scale: length of arrows per force [m/N].
            frame_prefix: prefix of frame names in messages.
            log: logger for markers that cannot be drawn.
        """
        self._scene, self._scale = scene, force_scale
        self._prefix, self._log = frame_prefix, log
        self.contact: ContactState | None = None
        self._wrenches: dict[str, ExternalWrench] = {}
        self._drawn: set[str] = set()
        self._pending: dict[str, Marker] = {}
        self._warned: set[str] = set()

    def keep_wrench(self, message: ExternalWrench) -> None:
        """Store an estimate for the next picture if its force and reference point are finite."""
        if is_finite(message.wrench.force) and is_finite(message.reference_point):
            self._wrenches[message.frame] = message

    def keep_contact(self, message: ContactState) -> None:
        """Store a contact state for the next picture, unless its lists or its point are invalid."""
        numbers = len(message.external_torques), len(message.contact_thresholds)
        fits = numbers == (len(message.joint_names),) * 2
        if fits and (is_finite(message.point) or not message.point_known):
            self.contact = message

    def keep_markers(self, topic: str, message: MarkerArray) -> None:
        """Store the markers of a message for the next picture, unless there are too many names."""
        for marker in message.markers:
            space = f'{topic}/{marker.ns}/'
            if marker.action == Marker.DELETEALL:
                gone = space if marker.ns else f'{topic}/'
                for name in self._drawn | self._pending.keys():
                    if name.startswith(gone):
                        self._pending[name] = marker
                continue
            name = f'{space}{marker.id}'
            known = name in self._drawn or name in self._pending
            if known or len(self._drawn | self._pending.keys()) < MAX_MARKERS:
                self._pending[name] = marker
            else:
                self._warn('', f'markers of more than {MAX_MARKERS} names, such as {name}')

    def summary(self) -> str:
        """Contact state in one line of HTML; '' before the first message."""
        contact = self.contact
        if contact is None:
            return ''
        where = f' at {escape(contact.link)}' if contact.link and contact.state else ''
        latched = ', latched until reset' if contact.collision_latched else ''
        return f'<b>{STATES.get(contact.state, "")}</b>{where}{latched}'

    def draw(self, posed: PosedRobot | None, explorer: Explorer) -> None:
        """Draw the markers since the last call, the latest contact and the torque bars."""
        waiting, self._pending = self._pending, {}
        for name, marker in waiting.items():
            try:
                self._draw_marker(name, marker, posed)
            except DynamicsRosError as error:
                self._scene.remove(name)
                self._warn(name, f'marker {name}: {error}')
        contact = self.contact
        if posed is None:
            return
        if contact is not None:
            frame = self._frame(contact.point_frame_id)
            if contact.point_known and posed.frame_pose(frame) is not None:
                look = sphere(numbers(contact.point, 'point'), POINT_DIAMETER, POINT_COLOR)
                self._scene.draw(CONTACT_POINT, frame, 'icosphere', **look)
            else:
                self._scene.remove(CONTACT_POINT)
            pairs = zip(contact.external_torques, contact.contact_thresholds, strict=True)
            torques = dict(zip(contact.joint_names, map(Bar._make, pairs), strict=True))
            explorer.set_torques(None, torques)
        for frame, wrench in self._wrenches.items():
            self._draw_uncertainty(posed, f'uncertainty of {frame}', wrench)

    def _frame(self, name: str) -> str:
        return name.removeprefix(self._prefix)

    def _warn(self, name: str, problem: str) -> None:
        """Log why something is not shown, once per name, because markers are repeated."""
        if name not in self._warned:
            self._warned.add(name)
            self._log.warning(f'not shown: {problem}')

    def _carrier(self, posed: PosedRobot, header: Header, point: Array) -> tuple[str, Array] | None:
        """Frame that carries a point, and the pose (4, 4) of the message's frame in it.

        Args:
            posed: the robot.
            header: of the message.
            point: (3) in the frame of the message [m].

        Returns:
            None if the robot has no such frame.
        """
        frame = self._frame(header.frame_id)
        if posed.frame_pose(frame) is None:
            return None
        if frame and frame != posed.robot.root_frame:
            return frame, np.eye(4)
        frame, X = posed.carrier(point, header.stamp.sec + 1e-9 * header.stamp.nanosec)
        return frame, np.asarray(np.linalg.inv(X))

    def _draw_marker(self, name: str, marker: Marker, posed: PosedRobot | None) -> None:
        if marker.action != Marker.ADD:
            self._scene.remove(name)
            self._drawn.discard(name)
            return
        self._drawn.add(name)
        if posed is None:
            return
        X = pose_matrix(marker.pose, 'marker.pose')
        points = np.array([numbers(point, 'point') for point in marker.points]).reshape(-1, 3)
        points = points @ X[:3, :3].T + X[:3, 3]
        place = points[0] if marker.type == Marker.ARROW and len(points) else X[:3, 3]
        found = self._carrier(posed, marker.header, place)
        if found is None:
            return
        frame, X = found
        points, place = (x @ X[:3, :3].T + X[:3, 3] for x in (points, place))
        farthest, width = float(np.abs(np.vstack([points, place])).max()), marker.scale.x
        if not (farthest <= FARTHEST and abs(width) <= FARTHEST):
            size = f'{farthest:.3g} m away, {width:.3g} m large'
            raise InvalidArgumentError('marker', size, f'at most {FARTHEST:g} m')
        color = _color(marker.color)
        look: dict[str, Any]
        if marker.type == Marker.ARROW and len(points) == 2:
            kind, look = 'arrows', arrow(points, width, color)
        elif marker.type == Marker.LINE_LIST and len(points) >= 2:
            pairs = points[: len(points) // 2 * 2].reshape(-1, 2, 3)
            colors = [_color(one) for one in marker.colors[::2]] or [color] * len(pairs)
            if len(colors) != len(pairs):
                problem = f'{len(marker.colors)} for {len(points)} points'
                raise InvalidArgumentError('marker.colors', problem, 'none, or one for each point')
            both = np.repeat(np.array(colors)[:, None], 2, axis=1)
            kind, look = 'line_segments', {'points': pairs, 'colors': both, 'thickness': width}
        elif marker.type == Marker.SPHERE:
            kind, look = 'icosphere', sphere(place, width, color)
        elif marker.type == Marker.TEXT_VIEW_FACING:
            kind, look = 'label', {'text': marker.text, 'position': place}
        else:
            return
        self._scene.draw(name, frame, kind, **look)

    def _draw_uncertainty(self, posed: PosedRobot, name: str, message: ExternalWrench) -> None:
        """Draw the uncertainty ellipsoid of a force at the arrow tip; not if degraded."""
        start = numbers(message.reference_point, 'reference_point')
        covariance = np.reshape(message.covariance, (6, 6))[:3, :3]
        found = self._carrier(posed, message.header, start)
        if found is None or message.degraded or not np.isfinite(covariance).all():
            self._scene.remove(name)
            return
        frame, X = found
        R, tip = X[:3, :3], start + self._scale * numbers(message.wrench.force, 'force')
        variances, axes = np.linalg.eigh(R @ covariance @ R.T)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        x, y, z, w = matrix_to_quaternion(axes)
        radii = DEVIATIONS * self._scale * np.sqrt(np.maximum(variances, 0.0))
        look = sphere(R @ tip + X[:3, 3], 2.0, UNCERTAINTY_COLOR)
        look |= {'wxyz': (w, x, y, z), 'scale': tuple(radii.tolist()), 'opacity': 0.4}
        self._scene.draw(name, frame, 'icosphere', **look, cast_shadow=False)


def is_finite(message: Vector3 | Point) -> bool:
    """Whether all coordinates of a vector or point are finite."""
    return bool(np.isfinite((message.x, message.y, message.z)).all())


def _color(color: object) -> Color:
    # Black where a number is none.
    channels = (float(getattr(color, name)) for name in 'rgb')
    red, green, blue = (min(max(x, 0.0), 1.0) if x == x else 0.0 for x in channels)
    return red, green, blue
