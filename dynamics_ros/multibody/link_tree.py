# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The links of a robot as a tree along its joints: those that move, and those that stand still."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.kernels import Kernel

from .rigid_body_system import RigidBodySystem

Array = NDArray[np.float64]

Links = tuple[tuple[str, str], ...]
"""Parent and child."""


class LinkTree(NamedTuple):
    """The tree of a robot.

    Attributes:
        moving: links that joints move; a base that moves in the world has the parent ''.
        transforms: the kernel of their poses in their parents; None where nothing moves.
        fixed: links that stand still in their parents.
        poses: (n, 4, 4) of these.
    """

    moving: Links
    transforms: Kernel | None
    fixed: Links
    poses: Array

    @classmethod
    def of(cls, robot: RigidBodySystem, *, base: bool) -> LinkTree:
        """The tree of a robot.

        Args:
            robot: the robot; locked joints stand still.
            base: whether a moving base is part of it.
        """
        model = robot.model
        links = [model.frame(name) for name in model.body_names]
        moving = tuple((link.parent, link.name) for link in links if base or link.parent)
        poses = [link.origin.array() for link in model.fixed_frames]
        return cls(
            moving,
            robot.kernel('link_transforms', 'base' if base else '') if moving else None,
            tuple((link.parent, link.name) for link in model.fixed_frames),
            np.reshape(poses, (-1, 4, 4)),
        )
