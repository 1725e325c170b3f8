# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on the page, and the configurations that it was in. Knows nothing of ROS."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dynamics_ros.model.visual_geometry import Visual
from dynamics_ros.multibody.end_effector.pose_numbers import pose_numbers
from dynamics_ros.robot import Robot

from .scene import Array, Pose, Scene

REMEMBERED = 2000
"""Configurations; those of two seconds at 1 kHz."""


class Slider(NamedTuple):
    """Range of a joint of one coordinate [rad or m]."""

    joint: str
    lower: float
    upper: float

    def inside(self, position: float) -> float:
        """The nearest position in the range."""
        return min(max(position, self.lower), self.upper)


class PosedRobot:
    """Draws a robot, at first where all its coordinates are zero.

    Attributes:
        robot: what is drawn.
        q: its configuration.
    """

    def __init__(
        self,
        scene: Scene,
        robot: Robot,
        visuals: Sequence[Visual],
        on_click: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Draw it.

        Args:
            scene: where.
            robot: what.
            visuals: its shapes.
            on_click: called with the name of a link whose shape is clicked.
        """
        self.robot, self.q = robot, robot.neutral()
        self._scene, self._visuals = scene, visuals
        self._past: deque[tuple[float, Array]] = deque(maxlen=REMEMBERED)
        scene.show_robot(robot.frame_names, visuals, on_click)
        self.place()
        self.look_at()

    def move(self, positions: Mapping[str, float]) -> None:
        """Show it with joints at other positions; names of other joints are passed over."""
        self.take(positions)
        self.place()

    def take(self, positions: Mapping[str, float], stamp: float | None = None) -> None:
        """Take positions, to be drawn by ``place``.

        Args:
            positions: joint name to position [rad or m]; names of other joints are passed over.
            stamp: of them [s], by which they can be asked for; None is none.
        """
        for name, position in positions.items():
            index = self.robot.joint_q_indices.get(name)
            if index is not None:
                self.q[index] = position
        if stamp is not None:
            self._past.append((stamp, self.q.copy()))

    def place(self) -> None:
        """Draw it as it is."""
        for frame, pose in self.poses_at(self.q).items():
            self._scene.move_frame(frame, pose)

    def at(self, time: float) -> Array:
        """(nq) the remembered configuration with the stamp nearest to a time [s]; else that now."""
        nearest = min(self._past, key=lambda one: abs(one[0] - time), default=(0.0, self.q))
        return nearest[1]

    def look_at(self) -> None:
        """Let the camera frame the robot as it stands."""
        poses = dict(zip(self.robot.frame_names, self.robot.all_frames(self.q), strict=True))
        corners = [poses[frame][None, :3, 3] for frame in poses]
        for visual in self._visuals:
            X = poses[visual.link]
            corners.append(visual.triangles.reshape(-1, 3) @ X[:3, :3].T + X[:3, 3])
        cloud = np.concatenate(corners)
        self._scene.look_at(cloud.min(axis=0), cloud.max(axis=0))

    def frame_pose(self, frame: str, q: Array | None = None) -> Array | None:
        """(4, 4) pose of a frame in the root frame; None where it is not of this robot.

        Args:
            frame: its name; '' is the root frame.
            q: a configuration; None is that now.
        """
        if frame in ('', self.robot.root_frame):
            return np.eye(4)
        if frame not in self.robot.frame_names:
            return None
        return self.robot.forward_kinematics(self.q if q is None else q, frame)

    def carrier(self, point: Array, time: float) -> tuple[str, Array]:
        """The frame whose origin was nearest to a point of the root frame, and its pose then.

        What is told in the root frame of a moving robot, such as an arrow at its tool, belongs to
        that frame a moment later too.

        Args:
            point: (3) [m].
            time: stamp of what is told [s].
        """
        poses = self.robot.all_frames(self.at(time))
        index = int(np.linalg.norm(poses[:, :3, 3] - point, axis=1).argmin())
        return self.robot.frame_names[index], poses[index]

    def sliders(self) -> list[Slider]:
        """Of every joint of one coordinate; half a turn or a metre where it has no limit."""
        found = []
        for joint in self.robot.model.actuated:
            if joint.kind.nq == 1:
                free = 1.0 if joint.kind.slides[0] else math.pi
                lower, upper = joint.limits.lower, joint.limits.upper
                lower = lower if math.isfinite(lower) else min(-free, upper - free)
                upper = upper if math.isfinite(upper) else max(free, lower + free)
                found.append(Slider(joint.name, lower, upper))
        return found

    def poses_at(self, q: Array) -> dict[str, Pose]:
        """Where all frames are in a configuration."""
        return {
            frame: ((x, y, z), (qw, qx, qy, qz))
            for frame, (x, y, z, qx, qy, qz, qw) in zip(
                self.robot.frame_names, pose_numbers(self.robot.all_frames(q)), strict=True
            )
        }
