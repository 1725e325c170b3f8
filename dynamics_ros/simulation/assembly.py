# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Creates a simulated robot from its description: posture, actuators, motion, engine, ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import build_model
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot

from .actuators import Actuators
from .engines import GroundedRobot, require_simulable
from .motion import comfortable_posture, slow_motion
from .mujoco_world import NOTHING_AROUND, Surroundings
from .simulated_robot import SimulatedRobot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Assembly:
    """Options for a simulated robot.

    Attributes:
        root_joint: 'fixed' or 'floating'.
        engine: 'internal' (`RigidBodies`) or 'mujoco'; 'auto' selects 'mujoco' for a floating base,
            else 'internal'.
        tool: tool frame; '' for the end of the longest chain.
        posture: (n) joint positions at the start; empty for a comfortable posture of a fixed base,
            and for the middle of the ranges of a floating base.
        moving: whether an arm on a fixed base moves slowly without commands.
        feet: frames of the feet of a floating base.
        foot_radius: radius of the sphere around each foot [m].
        friction: friction coefficient of the ground.
    """

    root_joint: str = 'fixed'
    engine: str = 'auto'
    tool: str = ''
    posture: Sequence[float] = ()
    moving: bool = True
    feet: Sequence[str] = ()
    foot_radius: float = 0.03
    friction: float = 0.8

    def of(self, urdf: str) -> tuple[SimulatedRobot, str, tuple[str, ...]]:
        """Create the simulated robot.

        Args:
            urdf: text of the robot description.

        Returns:
            The robot, the name of its tool frame, and warnings.

        Raises:
            DynamicsRosError: MuJoCo is required, but not installed.
            ModelError: the description is invalid, or the engine cannot simulate the robot.
            InvalidArgumentError: the posture has a wrong size, or a frame does not exist.
        """
        description = read_urdf(urdf)
        floating = self.root_joint == 'floating'
        fixed_robot = Robot(build_model(description))
        robot = Robot(build_model(description, self.root_joint)) if floating else fixed_robot
        uses_mujoco = self.engine == 'mujoco' or (self.engine == 'auto' and floating)
        if not uses_mujoco:
            require_simulable(robot)
        tool = self.tool or tool_frame(description)
        posture = self._posture(fixed_robot, tool, floating)
        actuators = Actuators.for_robot(fixed_robot, posture, tool, self.feet)
        warnings = []
        if actuators.unusable_limits:
            names = ', '.join(actuators.unusable_limits)
            warnings.append(f'effort limits too small to carry the robot are not enforced: {names}')
        motion = slow_motion(fixed_robot, posture)
        if floating or not self.moving:
            motion = motion.standing
        engine = None
        if uses_mujoco:
            surroundings = NOTHING_AROUND
            q = np.concatenate([robot.neutral()[: robot.model.root_joint_nq], posture])
            if floating:
                surroundings, shape_warnings = self._surroundings(urdf, robot)
                warnings += shape_warnings
                q[2] = -lowest_point(robot, q, surroundings)
            engine = GroundedRobot(robot, actuators, q, surroundings)
        return SimulatedRobot(robot, actuators, motion, engine=engine), tool, tuple(warnings)

    def _posture(self, fixed_robot: Robot, tool: str, floating: bool) -> Array:
        if len(self.posture):
            if len(self.posture) != fixed_robot.nq:
                raise InvalidArgumentError(
                    'posture', f'{len(self.posture)} positions', f'{fixed_robot.nq}, one a joint'
                )
            return np.array(self.posture, dtype=float)
        if floating:
            lower, upper = fixed_robot.lower_limits, fixed_robot.upper_limits
            bounded = np.isfinite(lower) & np.isfinite(upper)
            return np.where(bounded, 0.5 * (lower + upper), 0.0)
        return comfortable_posture(fixed_robot, tool)

    def _surroundings(self, urdf: str, robot: Robot) -> tuple[Surroundings, list[str]]:
        """Feet, collision shapes of bodies without feet, and warnings of unread shapes."""
        model = robot.model
        foot_bodies = {model.frame(foot).body for foot in self.feet}
        geometry = read_collision_geometry(urdf)
        shapes = {
            link: triangles
            for link, triangles in geometry.triangles.items()
            if model.frame(link).body not in foot_bodies
        }
        unread = [link for link in geometry.unread if model.frame(link).body not in foot_bodies]
        warnings = [f'links that touch nothing, their shapes are not read: {", ".join(unread)}']
        around = Surroundings(dict.fromkeys(self.feet, self.foot_radius), shapes, self.friction)
        return around, warnings if unread else []


def lowest_point(robot: Robot, q: Array, around: Surroundings) -> float:
    """Height of the lowest point of feet and shapes at q (nq) [m]; 0 if there are none."""
    heights = [
        float(robot.forward_kinematics(q, foot)[2, 3]) - radius
        for foot, radius in around.feet.items()
    ]
    for link, triangles in around.shapes.items():
        pose = robot.forward_kinematics(q, link)
        heights.append(float((triangles.reshape(-1, 3) @ pose[2, :3] + pose[2, 3]).min()))
    return min(heights, default=0.0)
