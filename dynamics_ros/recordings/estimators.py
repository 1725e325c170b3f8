# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The estimators of a recording: of the robot with what it carries at the moment."""

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
    """What estimates, all of it of one robot.

    Attributes:
        payload: that the robot carries.
        pipeline: compiled estimators.
        buffer: merges joint states.
        locator: finds the place of a contact; None does not look for it.
        location: how it is found.
    """

    payload: PayloadParameters
    pipeline: ContactPipeline
    buffer: StateBuffer
    locator: ContactLocator | None
    location: LocationParameters


class EstimatorFactory:
    """Makes estimators for one payload after another.

    Attributes:
        root_link: of the description.
    """

    def __init__(
        self, description: str, general: RobotParameters, settings: ContactParameters
    ) -> None:
        """Read the robot.

        Args:
            description: URDF as text.
            general, settings: parameters of the node.

        Raises:
            DynamicsRosError: it is no robot, or a parameter does not fit it.
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
        """Without a payload."""
        return self._robot

    @property
    def geometry_problem(self) -> str:
        """Why contacts on some shapes are not found; '' where they are."""
        return self._geometry.problem if self._geometry is not None else ''

    @property
    def base_moves(self) -> bool:
        """Whether the root link moves, so that odometry is needed."""
        return self._robot.model.root_joint_nv > 0

    def frame(self, frame_id: str) -> str:
        """What the model calls a frame_id."""
        return frame_id.removeprefix(self._general.frame_prefix)

    def make(self, payload: PayloadParameters, before: Estimators | None = None) -> Estimators:
        """Estimators that go on where those of another payload have left off.

        Raises:
            DynamicsRosError: the robot cannot carry that.
        """
        robot = self._robot
        if payload.mass:
            robot = robot.with_payload(
                payload.frame, payload.mass, payload.center_of_mass, payload.inertia_matrix()
            )
        pipeline = ContactPipeline(robot, self._settings, self._tool)
        # Joint states cannot wait for a large kernel; a recording can.
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
