# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimators for a recording, created anew when the payload of the robot changes."""

from __future__ import annotations

import logging
from typing import NamedTuple

from dynamics_ros.estimation import ContactLocator, ContactPipeline
from dynamics_ros.estimation.contact.geometry import ContactGeometry
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.model import build_model
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.contact import ContactParameters, LocationParameters
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.robot import Robot

LOG = logging.getLogger(__name__)


class Estimators(NamedTuple):
    """Estimators of one robot with its current payload.

    Attributes:
        payload: current payload.
        pipeline: compiled contact pipeline.
        buffer: merges joint states.
        locator: contact locator; None if contacts are not located.
        location: settings of the locator.
    """

    payload: PayloadParameters
    pipeline: ContactPipeline
    buffer: StateBuffer
    locator: ContactLocator | None
    location: LocationParameters


class EstimatorFactory:
    """Creates estimators for consecutive payloads.

    Attributes:
        root_link: root link of the description.
    """

    def __init__(
        self, description: str, general: RobotParameters, settings: ContactParameters
    ) -> None:
        """Builds the robot.

        Args:
            description: URDF as XML text.
            general, settings: parameters of the node.

        Raises:
            DynamicsRosError: the description is invalid, or a parameter does not fit the robot.
        """
        self._general, self._settings = general, settings
        urdf = read_urdf(description)
        self.root_link, self._tool = urdf.root, tool_frame(urdf)
        joints = general.locked_joints
        self._locked = dict(zip(joints.names, joints.positions, strict=False))
        model = build_model(urdf, general.root_joint, general.gravity, self._locked)
        self._robot = Robot(model, general.backend)
        self._geometry = None
        if settings.location.enabled:
            resolution = settings.location.resolution
            self._geometry = ContactGeometry.read(self._robot, description, resolution)

    @property
    def robot(self) -> Robot:
        """Robot without a payload."""
        return self._robot

    @property
    def geometry_problem(self) -> str:
        """Shapes on which contacts cannot be located, and why; '' if there are none."""
        return self._geometry.problem if self._geometry is not None else ''

    @property
    def base_moves(self) -> bool:
        """Whether the base moves, so that odometry is needed."""
        return self._robot.model.root_joint_nv > 0

    def frame(self, frame_id: str) -> str:
        """Returns the model's name of a frame_id."""
        return frame_id.removeprefix(self._general.frame_prefix)

    def make(self, payload: PayloadParameters, before: Estimators | None = None) -> Estimators:
        """Creates estimators that continue from those of another payload.

        Raises:
            DynamicsRosError: the payload does not fit the robot.
        """
        robot = self._robot
        if payload.mass:
            robot = robot.with_payload(
                payload.frame, payload.mass, payload.center_of_mass, payload.inertia_matrix()
            )
        pipeline = ContactPipeline(robot, self._settings, self._tool)
        # Unlike a node, a recording can wait for the compilation of a large kernel.
        pipeline.compile(wait=True)
        buffer = StateBuffer(robot, tuple(self._locked), self._general.joint_timeout)
        if before is not None:
            pipeline.inherit(before.pipeline)
            buffer.adopt(before.buffer)
        return Estimators(
            payload, pipeline, buffer, self._locator(robot, pipeline), self._settings.location
        )

    def _locator(self, robot: Robot, pipeline: ContactPipeline) -> ContactLocator | None:
        if self._geometry is None:
            return None
        settings = self._settings
        noise = pipeline.torque_deviations
        return self._geometry.locator(robot, noise, settings.location.friction)
