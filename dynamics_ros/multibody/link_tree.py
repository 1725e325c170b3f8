# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tree of a robot's links along its joints, moving and fixed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.kernels import Kernel

from .rigid_body_system import RigidBodySystem

Array = NDArray[np.float64]

Links = tuple[tuple[str, str], ...]
"""Pairs of parent and child link."""


class LinkTree(NamedTuple):
    """Link tree of a robot.

    Attributes:
        moving: links that joints move; a base that moves in the world has the parent ''.
        transforms: the kernel of their poses in their parents; None if no link moves.
        fixed: links that are fixed to their parents.
        poses: (n, 4, 4) poses of the fixed links.
    """

    moving: Links
    transforms: Kernel | None
    fixed: Links
    poses: Array

    @classmethod
    def of(cls, robot: RigidBodySystem, *, base: bool) -> LinkTree:
        """Return the tree of a robot.

        Args:
            robot: the robot; locked joints are fixed.
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
