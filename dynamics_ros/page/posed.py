# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A displayed robot, and bones for links without shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dynamics_ros.model import Model
from dynamics_ros.model.visual_geometry import Visual
from dynamics_ros.multibody.end_effector import pose_numbers
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .scene import Array, Pose, Scene

BONE_COLOR = (0.85, 0.6, 0.25)

THICKNESS, WAIST = 0.07, 0.2
"""Half width of a bone, and distance of its widest point from its start, over its length."""

SHORTEST = 1e-6
"""Shortest bone [m]; links at the same place have no bone between them."""


class Slider(NamedTuple):
    """Range of a joint with one coordinate [rad or m]."""

    joint: str
    lower: float
    upper: float

    def inside(self, position: float) -> float:
        """The nearest position within the range."""
        return min(max(position, self.lower), self.upper)


class PosedRobot:
    """Draws a robot in a configuration, initially its nominal one.

    Attributes:
        robot: the robot.
        q: its configuration (nq).
    """

    def __init__(
        self,
        scene: Scene,
        robot: RigidBodySystem,
        visuals: Sequence[Visual],
        on_click: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Draw the robot in its nominal configuration.

        Args:
            scene: the scene to draw in.
            robot: the robot.
            visuals: its visual shapes.
            on_click: called with the name of a link whose shape is clicked.
        """
        self.robot, self.q = robot, robot.nominal()
        self._scene, self._visuals = scene, visuals
        scene.show_robot(robot.frame_names, visuals, on_click)
        self.place()
        self.look_at()

    def move(self, positions: Mapping[str, float]) -> None:
        """Set joint positions [rad or m] by name, which ``place`` draws; others are ignored."""
        for name, position in positions.items():
            index = self.robot.joint_q_indices.get(name)
            if index is not None:
                self.q[index] = position

    def place(self) -> None:
        """Draw the robot in its current configuration."""
        for frame, pose in self.poses_at(self.q).items():
            self._scene.move_frame(frame, pose)

    def look_at(self) -> None:
        """Move the camera so that it shows the whole robot."""
        poses = dict(zip(self.robot.frame_names, self.robot.all_frames(self.q), strict=True))
        corners = [X[None, :3, 3] for X in poses.values()]
        for visual in self._visuals:
            X = poses[visual.link]
            corners.append(visual.triangles.reshape(-1, 3) @ X[:3, :3].T + X[:3, 3])
        cloud = np.concatenate(corners)
        lowest = cloud.min(axis=0)
        # Without odometry, a floating base is at the origin, and its legs are below.
        floating = self.robot.model.root_joint == 'floating'
        self._scene.set_ground(min(0.0, float(lowest[2])) if floating else 0.0)
        self._scene.look_at(lowest, cloud.max(axis=0))

    def frame_pose(self, frame: str) -> Array | None:
        """Pose (4, 4) of a frame in the root frame ('' too); None if there is no such frame."""
        if frame in ('', self.robot.root_frame):
            return np.eye(4)
        if frame not in self.robot.frame_names:
            return None
        return self.robot.forward_kinematics(self.q, frame)

    def sliders(self) -> list[Slider]:
        """Ranges of all joints with one coordinate; +-pi rad or +-1 m for joints without limits."""
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
        """Poses of all frames in a configuration (nq)."""
        return {
            frame: ((x, y, z), (qw, qx, qy, qz))
            for frame, (x, y, z, qx, qy, qz, qw) in zip(
                self.robot.frame_names, pose_numbers(self.robot.all_frames(q)), strict=True
            )
        }


def skeleton(model: Model, drawn: Collection[str]) -> tuple[Visual, ...]:
    """Return a bone from each link to each of its children, within bodies without shapes.

    Args:
        model: model of the robot.
        drawn: names of the links that have shapes.
    """
    with_shape = {frame.body for frame in model.frames if frame.name in drawn}
    frames = {frame.name: frame for frame in model.frames}
    bones = []
    for frame in model.frames:
        end = np.array([float(x) for x in frame.origin.translation])
        parent = frames.get(frame.parent)
        if parent and parent.body not in with_shape and np.linalg.norm(end) > SHORTEST:
            bones.append(Visual(parent.name, _bone(end), BONE_COLOR))
    return tuple(bones)


def _bone(end: Array) -> Array:
    """Triangles (8, 3, 3) of an octahedron from the origin to a point (3) [m]."""
    length = float(np.linalg.norm(end))
    across = np.cross(end, np.eye(3)[np.argmin(np.abs(end))])
    across *= THICKNESS * length / np.linalg.norm(across)
    sideways = np.cross(end, across) / length
    ring = [WAIST * end + side for side in (across, sideways, -across, -sideways)]
    return np.array(
        [
            corner
            for i in range(4)
            for corner in (
                (np.zeros(3), ring[i - 1], ring[i]),
                (end, ring[i], ring[i - 1]),
            )
        ]
    )
