# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draws visualization_msgs/Marker messages in the frames of a robot."""

from __future__ import annotations

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.page.posed import PosedRobot
from dynamics_ros.page.scene import Array, Color, Scene
from dynamics_ros.wire.conversions import numbers, pose_matrix

MAX_MARKERS = 2000
"""Names of markers that are drawn; a publisher that takes a new name each time has more."""

FARTHEST = 1e6
"""m: browsers compute in single precision."""


class MarkerDrawing:
    """Draws the latest marker of each name in the frames of the robot.

    A marker in the root frame moves along with the frame that was nearest to it at its stamp, so an
    arrow stays at a moving tool until the next message.
    """

    def __init__(self, scene: Scene, frame_prefix: str, log: RcutilsLogger) -> None:
        """Create a drawing without markers.

        Args:
            scene: the scene to draw in.
            frame_prefix: prefix of frame names in markers.
            log: logger for markers that cannot be drawn.
        """
        self._scene, self._frame_prefix, self._log = scene, frame_prefix, log
        self._rejected: set[str] = set()
        self._drawn: set[str] = set()
        self._full = False
        self._pending: dict[str, Marker] = {}

    def keep(self, topic: str, message: MarkerArray) -> None:
        """Store the markers of a message for the next picture."""
        for marker in message.markers:
            space = f'{topic}/{marker.ns}/'
            if marker.action == Marker.DELETEALL:
                gone = space if marker.ns else f'{topic}/'
                for name in self._drawn | set(self._pending):
                    if name.startswith(gone):
                        self._pending[name] = marker
            else:
                self._keep(f'{space}{marker.id}', marker)

    def _keep(self, name: str, marker: Marker) -> None:
        """Keep a marker for the next picture, unless there are too many names."""
        known = name in self._drawn or name in self._pending
        if not known and len(self._drawn | self._pending.keys()) >= MAX_MARKERS:
            if not self._full:
                self._full = True
                text = f'not shown: markers of more than {MAX_MARKERS} names, such as {name}'
                self._log.warning(text)
            return
        self._pending[name] = marker

    def draw(self, posed: PosedRobot | None) -> None:
        """Draw the markers that have arrived since the last call."""
        waiting, self._pending = self._pending, {}
        for name, marker in waiting.items():
            try:
                self._draw(name, marker, posed)
            except DynamicsRosError as error:
                self._reject(name, error)

    def _reject(self, name: str, error: DynamicsRosError) -> None:
        """Remove an invalid marker, and log this once per name, because markers are repeated."""
        self._scene.remove(name)
        if name not in self._rejected:
            self._rejected.add(name)
            self._log.warning(f'not shown: marker {name}: {error}')

    def _draw(self, name: str, marker: Marker, posed: PosedRobot | None) -> None:
        if marker.action != Marker.ADD:
            self._scene.remove(name)
            self._drawn.discard(name)
            return
        self._drawn.add(name)
        if posed is None:
            return
        frame = marker.header.frame_id.removeprefix(self._frame_prefix) or posed.robot.root_frame
        if posed.frame_pose(frame) is None:
            return
        X = pose_matrix(marker.pose, 'marker.pose')
        points = np.array([numbers(point, 'point') for point in marker.points]).reshape(-1, 3)
        points = points @ X[:3, :3].T + X[:3, 3]
        place = points[0] if marker.type == Marker.ARROW and len(points) else X[:3, 3]
        if frame == posed.robot.root_frame:
            stamp = marker.header.stamp
            frame, carrier = posed.carrier(place, stamp.sec + 1e-9 * stamp.nanosec)
            points = (points - carrier[:3, 3]) @ carrier[:3, :3]
            place = (place - carrier[:3, 3]) @ carrier[:3, :3]
        self._show(name, frame, marker, points, place)

    def _show(self, name: str, frame: str, marker: Marker, points: Array, place: Array) -> None:
        farthest = float(np.abs(np.vstack([points, place])).max())
        if not (farthest <= FARTHEST and abs(marker.scale.x) <= FARTHEST):
            size = f'{farthest:.3g} m away, {marker.scale.x:.3g} m large'
            raise InvalidArgumentError('marker', size, f'at most {FARTHEST:g} m')
        color = _color(marker.color)
        if marker.type == Marker.ARROW and len(points) == 2:
            self._scene.show_arrow(name, frame, points, color, marker.scale.x)
        elif marker.type == Marker.LINE_LIST and len(points) >= 2:
            colors = [_color(one) for one in marker.colors[::2]] or [color] * (len(points) // 2)
            if len(colors) != len(points) // 2:
                problem = f'{len(marker.colors)} for {len(points)} points'
                raise InvalidArgumentError('marker.colors', problem, 'none, or one for each point')
            pairs = points[: len(points) // 2 * 2].reshape(-1, 2, 3)
            self._scene.show_lines(name, frame, pairs, colors, marker.scale.x)
        elif marker.type == Marker.SPHERE:
            self._scene.show_sphere(name, frame, place, marker.scale.x, color)
        elif marker.type == Marker.TEXT_VIEW_FACING:
            self._scene.show_label(name, frame, place, marker.text)


def _color(color: object) -> Color:
    # Black where a number is none.
    channels = (float(getattr(color, name)) for name in 'rgb')
    red, green, blue = (min(max(x, 0.0), 1.0) if x == x else 0.0 for x in channels)
    return red, green, blue
