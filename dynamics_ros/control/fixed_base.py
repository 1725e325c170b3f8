# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check that a robot has a fixed base, for controllers that need a motor for every velocity."""

from __future__ import annotations

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


def check_fixed_base(robot: RigidBodySystem) -> None:
    """Raise an error if the base of the robot moves.

    Raises:
        InvalidArgumentError: the first entries of tau would be torques on the base.
    """
    count = robot.model.root_joint_nv
    if count:
        raise InvalidArgumentError(
            'robot',
            f'a base with {count} velocities and no motor',
            'a fixed base; WholeBodyProblem and virtual_model_torques control what stands on feet',
        )
