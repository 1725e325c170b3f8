# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demonstrated robot: model, tool, posture, push, and node parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import ModelError
from dynamics_ros.model import build_model
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.robot import Robot
from dynamics_ros.simulation import (
    Actuators,
    comfortable_posture,
    gentle_push,
    require_simulable,
)

Array = NDArray[np.float64]

_MIN_TORQUE = 1e-6  # Nm, least joint torque of a push that can be shown
_SHARE_OF_PUSH = 0.3  # ratio of the contact threshold of a joint to its torque by the push
_SHARE_OF_LARGEST = 0.03  # least ratio of that threshold to the largest torque of a joint


class Subject:
    """A robot with its tool, its posture and a suitable push.

    Attributes:
        robot: the robot.
        reference: the same robot without compiled kernels, for the true poses and torques.
        tool: frame that is observed and pushed.
        posture: centre (n) of the simulated motion.
        force: force (3) of the push, in root axes [N].
        observable: whether joint torques determine the whole wrench at the tool (six joints do).
    """

    def __init__(self, urdf: str) -> None:
        """Prepare the demonstration of a description.

        Raises:
            ModelError: the description is invalid, or the robot cannot be simulated or pushed.
        """
        description = read_urdf(urdf)
        self.robot = robot = Robot(build_model(description))
        require_simulable(robot)
        self.tool = tool = tool_frame(description)
        self.posture = comfortable_posture(robot, tool)
        actuators = Actuators.for_robot(robot, self.posture, tool)
        self.force = gentle_push(robot, actuators, self.posture, tool)
        J = robot.jacobian(self.posture, tool)
        if not np.abs(J[:3].T @ self.force).max() > _MIN_TORQUE:
            reason = 'no joint feels a force at its origin: a link farther from the axes would do'
            raise ModelError(f'link {tool!r}', reason)
        self.observable = int(np.linalg.matrix_rank(J, tol=1e-6)) == 6
        self.reference = Robot(robot.model, backend='python')

    def node_parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """Parameters of each node; the description reaches the nodes by its topic.

        Contact thresholds are relative to the push, and so is the noise of the wrench estimate: the
        torques of a small arm are small, and its simulated sensors have no noise.
        """
        J = self.robot.jacobian(self.posture, self.tool)
        torques = np.abs(J[:3].T @ self.force)
        largest = float(torques.max())
        thresholds = np.maximum(_SHARE_OF_PUSH * torques, _SHARE_OF_LARGEST * largest)
        contact = {
            'frames': [self.tool],
            'thresholds': {'contact': thresholds.tolist(), 'collision': [math.inf]},
            'effort': {'noise': [max(min(0.1, 0.01 * largest), 1e-6)]},
        }
        return {'kinematics_node': {'frames': [self.tool]}, 'contact_node': contact}

    def target(self) -> Array:
        """Target of inverse kinematics (n), away from the posture and within the limits."""
        robot = self.robot
        room = np.minimum(robot.upper_limits - self.posture, self.posture - robot.lower_limits)
        signs = np.where(np.arange(robot.nq) % 2, -1.0, 1.0)
        return np.asarray(self.posture + signs * np.minimum(0.2, 0.5 * room))
