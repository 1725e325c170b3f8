# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot made from its description: posture, actuators, motion, engine, ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.contact_estimators import per_velocity
from dynamics_ros.model import build_model
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot

from .actuators import Actuators
from .grounded_robot import GroundedRobot
from .motion import comfortable_posture, slow_motion
from .mujoco_model import NOTHING_AROUND, Surroundings
from .rigid_bodies import require_simulable
from .simulated_robot import SimulatedRobot

Array = NDArray[np.float64]

ENGINES = ('auto', 'internal', 'mujoco')


@dataclass(frozen=True)
class Assembly:
    """How a description becomes a simulated robot.

    Attributes:
        root_joint: fixed or floating.
        engine: auto is mujoco for a floating base, else internal: `RigidBodies`.
        tool: frame that is followed; '' is the end of the longest chain.
        posture: (n) joints at the start; empty is a comfortable one of a fixed base, and the
            middle of the ranges of a floating one.
        moving: whether a fixed base has its arm move slowly by itself.
        feet: frames that stand on the ground, of a floating base.
        foot_radius: of a sphere around each [m].
        friction: coefficient of the ground.
        load_friction: what dry friction of the joints grows by per torque that they carry: one
            number, or one per joint.
    """

    root_joint: str = 'fixed'
    engine: str = 'auto'
    tool: str = ''
    posture: Sequence[float] = ()
    moving: bool = True
    feet: Sequence[str] = ()
    foot_radius: float = 0.03
    friction: float = 0.8
    load_friction: Sequence[float] = (0.0,)

    def of(self, urdf: str) -> tuple[SimulatedRobot, str, tuple[str, ...]]:
        """The robot, the name of its tool, and what is worth a warning.

        Raises:
            DynamicsRosError: MuJoCo is wanted and not installed.
            ModelError: a description that is none, or that the engine does not simulate.
            InvalidArgumentError: a posture of another size, a frame that there is not.
        """
        description = read_urdf(urdf)
        floating = self.root_joint == 'floating'
        held = Robot(build_model(description))
        robot = Robot(build_model(description, self.root_joint)) if floating else held
        by_mujoco = self.engine == 'mujoco' or (self.engine == 'auto' and floating)
        if not by_mujoco:
            require_simulable(robot)
        tool = self.tool or tool_frame(description)
        posture = self._posture(held, tool, floating)
        actuators = Actuators.for_robot(held, posture, tool, self.feet)
        remarks = []
        if actuators.unusable_limits:
            names = ', '.join(actuators.unusable_limits)
            remarks.append(f'effort limits too small to carry the robot are not enforced: {names}')
        motion = slow_motion(held, posture)
        if floating or not self.moving:
            motion = motion.standing
        grows = per_velocity(held, tuple(self.load_friction), 'load_friction', base=0.0)
        if not by_mujoco:
            simulated = SimulatedRobot(robot, actuators, motion, load_friction=grows)
            return simulated, tool, tuple(remarks)
        around = NOTHING_AROUND
        if floating:
            around, unread = self._surroundings(urdf, robot)
            remarks += unread
        q = np.concatenate([robot.neutral()[: robot.model.root_joint_nq], posture])
        if floating:
            q[2] = -lowest_point(robot, q, around)
        engine = GroundedRobot(robot, actuators, q, around)
        simulated = SimulatedRobot(robot, actuators, motion, engine=engine, load_friction=grows)
        return simulated, tool, tuple(remarks)

    def _posture(self, held: Robot, tool: str, floating: bool) -> Array:
        if len(self.posture):
            if len(self.posture) != held.nq:
                raise InvalidArgumentError(
                    'posture', f'{len(self.posture)} positions', f'{held.nq}, one a joint'
                )
            return np.array(self.posture, dtype=float)
        if floating:
            lower, upper = held.lower_limits, held.upper_limits
            bounded = np.isfinite(lower) & np.isfinite(upper)
            return np.where(bounded, 0.5 * (lower + upper), 0.0)
        return comfortable_posture(held, tool)

    def _surroundings(self, urdf: str, robot: Robot) -> tuple[Surroundings, list[str]]:
        """Feet, and the collision shapes of bodies that end in none."""
        model = robot.model
        ends = {model.frame(foot).body for foot in self.feet}
        geometry = read_collision_geometry(urdf)
        shapes = {
            link: triangles
            for link, triangles in geometry.triangles.items()
            if model.frame(link).body not in ends
        }
        unread = [link for link in geometry.unread if model.frame(link).body not in ends]
        remarks = [f'links that touch nothing, their shapes are not read: {", ".join(unread)}']
        around = Surroundings(dict.fromkeys(self.feet, self.foot_radius), shapes, self.friction)
        return around, remarks if unread else []


def lowest_point(robot: Robot, q: Array, around: Surroundings) -> float:
    """Height of what touches the ground first, at q (nq) [m]; 0 where nothing can."""
    heights = [
        float(robot.forward_kinematics(q, foot)[2, 3]) - radius
        for foot, radius in around.feet.items()
    ]
    for link, triangles in around.shapes.items():
        pose = robot.forward_kinematics(q, link)
        heights.append(float((triangles.reshape(-1, 3) @ pose[2, :3] + pose[2, 3]).min()))
    return min(heights, default=0.0)
