# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Size limits for kernels that would take minutes and gigabytes to compile for large robots.

Poses, Jacobians, gravity and inverse dynamics take work per joint. A mass matrix, a Coriolis matrix
and their solutions have entries for pairs of joints on the same path to the root, each of which
takes work along that path: compiling them took half a gigabyte for a chain of 60 joints and minutes
for one of 120. Callers that must not block that long, such as a node, check here first.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamics_ros.errors import InvalidArgumentError

from .rigid_body_system import RigidBodySystem

MAX_PAIRS = 100_000
"""Largest sum over the joints of their squared depth: that of a chain of 66 joints. A humanoid of
60 joints with hands has less than a tenth.
"""

PAIRED = frozenset(
    {'mass_matrix', 'mass_matrix_inverse', 'coriolis', 'forward_dynamics', 'hybrid_dynamics'}
)
"""Requestable kernels with entries for pairs of joints."""


def is_large(robot: RigidBodySystem) -> bool:
    """Return whether ``check_size`` refuses a robot."""
    return robot.model.squared_depths > MAX_PAIRS


def check_size(robot: RigidBodySystem) -> None:
    """Refuse a robot that is too large for kernels that need its mass matrix.

    Raises:
        InvalidArgumentError: the robot is too large.
    """
    if is_large(robot):
        depths = robot.model.depths
        raise InvalidArgumentError(
            'robot_description',
            f'{len(depths)} joints, up to {max(depths)} of them one behind another, are too many '
            'for mass matrices and contacts; poses, gravity and inverse dynamics go on',
            'fewer, for example by locked_joints',
        )


def check_kernels(robot: RigidBodySystem, keys: Iterable[tuple[str, ...]]) -> None:
    """Refuse kernels, each given by its name and options, that are too large to compile.

    Raises:
        InvalidArgumentError: a kernel is too large.
    """
    if any(key[0] in PAIRED for key in keys):
        check_size(robot)
