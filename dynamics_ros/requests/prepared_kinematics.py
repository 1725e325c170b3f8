# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the topics of kinematics_node, checked and compiled for a robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.link_tree import LinkTree
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.names import known_frames
from dynamics_ros.robot import Robot

from .search import warm_up


@dataclass(frozen=True)
class PreparedKinematics:
    """Kernels of the configured topics for a robot.

    Attributes:
        robot: the robot.
        frames: frames with topics.
        poses, twists: kernels of the pose and of the twist of each frame.
        twist_reference: reference of the twists.
        center_of_mass: kernel of the centre of mass; None if no moving body has mass.
        tree: transforms for tf; None if tf is not published.
    """

    robot: Robot
    frames: tuple[str, ...]
    poses: tuple[Kernel, ...]
    twists: tuple[Kernel, ...]
    twist_reference: str
    center_of_mass: Kernel | None
    tree: LinkTree | None

    @classmethod
    def of(
        cls, robot: Robot, values: KinematicsParameters, default_frame: str
    ) -> PreparedKinematics:
        """Check the frames, and compile the kernels.

        Raises:
            DynamicsRosError: the parameters do not fit the robot.
        """
        frames, reference = (
            known_frames(robot, values.frames, default_frame),
            values.twist_reference,
        )
        return cls(
            robot,
            frames,
            tuple(robot.kernel('pose', frame) for frame in frames),
            tuple(robot.kernel('frame_velocity', frame, reference) for frame in frames),
            reference,
            robot.kernel('center_of_mass') if robot.total_mass > 0.0 else None,
            LinkTree.of(robot, base=values.publish_base_tf) if values.publish_tf else None,
        )

    def warm_up(self) -> list[Callable[[], object]]:
        """Return functions that compile the kernels of services and markers."""
        robot, frames, q = self.robot, self.frames, self.robot.neutral()
        slices: list[Callable[[], object]] = []
        slices += [partial(robot.jacobian, q, frame) for frame in frames]
        slices += [partial(robot.forward_kinematics, q, frame) for frame in frames]
        slices += [partial(warm_up, robot, frame) for frame in frames]
        if self.center_of_mass is not None:
            slices.append(partial(robot.center_of_mass, q))
        return slices
