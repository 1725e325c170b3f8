# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the topics of dynamics_node, checked and compiled for a robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.large_robots import is_large
from dynamics_ros.parameters.names import check_known
from dynamics_ros.robot import Robot


@dataclass(frozen=True)
class PreparedDynamics:
    """Kernels of the configured topics for a robot.

    Attributes:
        robot: the robot.
        names: joints whose gravity torques are published.
        torques: kernel of these gravity torques.
        commands: kernel of the gravity torques of the command joints; None without such joints.
    """

    robot: Robot
    names: tuple[str, ...]
    torques: Kernel
    commands: Kernel | None

    @classmethod
    def of(cls, robot: Robot, command_joints: Sequence[str]) -> PreparedDynamics:
        """Check the command joints, and compile the kernels.

        Raises:
            UnknownJointError: the robot does not have a command joint.
        """
        check_known(robot, command_joints)
        names = tuple(robot.joint_v_indices)
        commands = _gravity_of(robot, command_joints) if command_joints else None
        return cls(robot, names, _gravity_of(robot, names), commands)

    def warm_up(self) -> list[Callable[[], object]]:
        """Return functions that compile the kernels of the services."""
        robot, q, zero = self.robot, self.robot.neutral(), np.zeros(self.robot.nv)
        slices: list[Callable[[], object]] = [partial(robot.inverse_dynamics, q, zero, zero)]
        if not is_large(robot):
            slices += [
                partial(robot.forward_dynamics, q, zero, zero),
                partial(robot.mass_matrix, q),
                partial(robot.nonlinear_effects, q, zero),
                partial(robot.coriolis, q, zero),
                partial(robot.kinetic_energy, q, zero),
                partial(robot.potential_energy, q),
                partial(robot.center_of_mass, q),
            ]
        return slices


def _gravity_of(robot: Robot, names: Sequence[str]) -> Kernel:
    """Return the kernel of the gravity torques of some joints."""
    indices = [robot.joint_v_indices[name] for name in names]
    if indices == list(range(robot.nv)):
        return robot.kernel('gravity')  # which the services use as well
    return robot.kernel('gravity_of', *names)
