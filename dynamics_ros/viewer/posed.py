# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on the page, and the configuration that it is shown in. Knows nothing of ROS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dynamics_ros.model.visual_geometry import Visual
from dynamics_ros.multibody.pose_numbers import pose_numbers
from dynamics_ros.robot import Robot

from .scene import Array, Scene

SMALLEST_ROBOT = 0.1
"""m; the camera does not come nearer."""


class Slider(NamedTuple):
    """Range of a joint of one coordinate [rad or m]."""

    joint: str
    lower: float
    upper: float


class PosedRobot:
    """Draws a robot, at first where all its coordinates are zero.

    Attributes:
        robot: what is drawn.
        q: its configuration.
    """

    def __init__(self, scene: Scene, robot: Robot, visuals: Sequence[Visual]) -> None:
        self.robot, self.q = robot, robot.neutral()
        self._scene = scene
        links = dict.fromkeys(visual.link for visual in visuals)
        self._visible = {link: robot.frame_names.index(link) for link in links}
        poses = robot.all_frames(self.q)
        reach = np.linalg.norm(poses[:, :3, 3], axis=1).max(initial=0.0)
        scene.show_robot(visuals, max(float(reach), SMALLEST_ROBOT))
        self._place(poses)

    def move(self, positions: Mapping[str, float]) -> None:
        """Show it with joints at other positions; names of other joints are passed over."""
        for name, position in positions.items():
            index = self.robot.joint_q_indices.get(name)
            if index is not None:
                self.q[index] = position
        self._place(self.robot.all_frames(self.q))

    def frame_pose(self, frame: str) -> Array | None:
        """(4, 4) pose of a frame in the root frame; None where it is not of this robot."""
        if frame in ('', self.robot.root_frame):
            return np.eye(4)
        if frame not in self.robot.frame_names:
            return None
        return self.robot.forward_kinematics(self.q, frame)

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

    def _place(self, poses: Array) -> None:
        if self._visible:
            shown = pose_numbers(poses[list(self._visible.values())])
            for link, (x, y, z, qx, qy, qz, qw) in zip(self._visible, shown, strict=True):
                self._scene.move_link(link, (x, y, z), (qw, qx, qy, qz))
