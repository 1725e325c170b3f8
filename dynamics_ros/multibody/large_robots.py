# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots that are too large for some kernels, which would take minutes and gigabytes to compile.

Poses, Jacobians, gravity and inverse dynamics take work per joint. A mass matrix, a Coriolis matrix
and what is solved with them have entries for pairs of joints that lie behind one another, each of
which goes along the path to the root: for a chain of 60 joints they took half a gigabyte, for one
of 120 minutes. Who must not stand still that long, such as a node, asks here first.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamics_ros.errors import InvalidArgumentError

from .rigid_body_system import RigidBodySystem

MAX_PAIRS = 100_000
"""Sum over the joints of the square of how many lie between each and the root: that of a chain of
66. A humanoid of 60 joints with hands has less than a tenth."""

PAIRED = frozenset(
    {'mass_matrix', 'mass_matrix_inverse', 'coriolis', 'forward_dynamics', 'hybrid_dynamics'}
)
"""Kernels of that kind which requests ask for."""


def check_size(robot: RigidBodySystem) -> None:
    """Refuse what needs the mass matrix of a robot that is too large for it.

    Raises:
        InvalidArgumentError: it is.
    """
    depths: list[int] = []
    for joint in robot.model.joints:
        # Parents come before children.
        depths.append(1 + (depths[joint.parent] if joint.parent >= 0 else 0))
    if sum(depth * depth for depth in depths) > MAX_PAIRS:
        raise InvalidArgumentError(
            'robot_description',
            f'{len(depths)} joints, up to {max(depths)} of them one behind another, are too many '
            'for mass matrices and contacts; poses, gravity and inverse dynamics go on',
            'fewer, for example by locked_joints',
        )


def check_kernels(robot: RigidBodySystem, names: Iterable[str]) -> None:
    """Refuse kernels, named as in ``Robot.kernels``, that are too large to be made.

    Raises:
        InvalidArgumentError: one is.
    """
    if any(name.partition('(')[0] in PAIRED for name in names):
        check_size(robot)


def is_large(robot: RigidBodySystem) -> bool:
    """Whether ``check_size`` refuses a robot."""
    try:
        check_size(robot)
    except InvalidArgumentError:
        return True
    return False
