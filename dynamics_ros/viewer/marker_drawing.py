# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draws visualization_msgs/Marker in the frames of a robot."""

from __future__ import annotations

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger
from visualization_msgs.msg import Marker, MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.wire.conversions import pose_matrix, vector_array

from .posed import PosedRobot
from .scene import Array, Color, Scene

MOST_MARKERS = 2000
"""Names of markers that are drawn; a publisher that takes a new name each time has more."""

FARTHEST = 1e6
"""m: browsers compute in single precision."""


class MarkerDrawing:
    """Draws the newest marker of each name, in step with the robot.

    A marker in the root frame is carried on by the frame that it lay at when it was stamped, so
    that an arrow stays on a moving tool until the next one comes.
    """

    def __init__(self, scene: Scene, frame_prefix: str, log: RcutilsLogger) -> None:
        """Draw nothing yet.

        Args:
            scene: where.
            frame_prefix: before the names of frames in markers.
            log: where markers are named that cannot be drawn.
        """
        self._scene, self._frame_prefix, self._log = scene, frame_prefix, log
        self._refused: set[str] = set()
        self._drawn: set[str] = set()
        self._full = False
        self._waiting: dict[str, Marker] = {}

    def keep(self, topic: str, message: MarkerArray) -> None:
        """Draw these at the next picture."""
        for marker in message.markers:
            space = f'{topic}/{marker.ns}/'
            if marker.action == Marker.DELETEALL:
                gone = space if marker.ns else f'{topic}/'
                for name in self._drawn | set(self._waiting):
                    if name.startswith(gone):
                        self._waiting[name] = marker
            else:
                self._wait(f'{space}{marker.id}', marker)

    def _wait(self, name: str, marker: Marker) -> None:
        """Keep a marker for the next picture, unless there are too many names."""
        known = name in self._drawn or name in self._waiting
        if not known and len(self._drawn | self._waiting.keys()) >= MOST_MARKERS:
            if not self._full:
                self._full = True
                told = f'not shown: markers of more than {MOST_MARKERS} names, such as {name}'
                self._log.warning(told)
            return
        self._waiting[name] = marker

    def draw(self, posed: PosedRobot | None) -> None:
        """Draw what has come since the last picture."""
        waiting, self._waiting = self._waiting, {}
        for name, marker in waiting.items():
            try:
                self._draw(name, marker, posed)
            except DynamicsRosError as error:
                self._refuse(name, error)

    def _refuse(self, name: str, error: DynamicsRosError) -> None:
        """Leave a marker out; said once, as markers come again and again."""
        self._scene.remove(name)
        if name not in self._refused:
            self._refused.add(name)
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
        points = np.array([vector_array(point, 'point') for point in marker.points]).reshape(-1, 3)
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
