# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots from descriptions in formats other than URDF."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeVar

from dynamics_ros.model import build_model
from dynamics_ros.model.build import RootJoint
from dynamics_ros.model.formats.mjcf import read_mjcf
from dynamics_ros.model.formats.sdf import read_sdf

from .kernel_methods import KernelMethods

DEFAULT_GRAVITY = (0.0, 0.0, -9.81)

_Kind = TypeVar('_Kind', bound='OtherFormats')


class OtherFormats(KernelMethods):
    """Constructors of a robot from MJCF and SDF."""

    @classmethod
    def from_mjcf(
        cls: type[_Kind],
        source: str | os.PathLike[str],
        gravity: Sequence[float] | None = None,
        locked_joints: Mapping[str, float] | None = None,
        backend: str = 'auto',
    ) -> _Kind:
        """Read a robot from MJCF with the library ``mujoco``.

        A single body on a free joint is a floating base. q and v have the order of MuJoCo, with
        quaternions x, y, z, w and a base's velocity in its own frame. Sites become frames. Damping,
        friction and armature are stored in the joints of ``model``; the dynamics is that of rigid
        bodies without them, as for a URDF. Other ignored elements are logged as a warning.

        Args:
            source: MJCF text, or a path to a file, which may include others.
            gravity: [m/s^2]; None takes that of the file.
            locked_joints: joint name to the constant position at which it is locked.
            backend: 'llvm', 'python' or 'auto'.

        Raises:
            ModelError: mujoco is not installed, or refuses the file.
            InvalidArgumentError: another argument is wrong.
        """
        read = read_mjcf(source)
        pull = read.gravity if gravity is None else gravity
        return cls(build_model(read.description, read.root_joint, pull, locked_joints), backend)

    @classmethod
    def from_sdf(
        cls: type[_Kind],
        source: str | os.PathLike[str],
        root_joint: RootJoint | None = None,
        gravity: Sequence[float] = DEFAULT_GRAVITY,
        locked_joints: Mapping[str, float] | None = None,
        backend: str = 'auto',
    ) -> _Kind:
        """Read a robot from SDF with the library ``drake``.

        A single body that no joint holds is a floating base. Named frames become frames. Joints
        with two axes, joint friction and mimic elements are not supported: the first are refused,
        the last are logged as a warning.

        Args:
            source: SDF text, or a path to a file, which may include others.
            root_joint: how the root link moves in the world: 'fixed', 'floating' or 'planar'; None
                takes that of the file.
            gravity: in the root frame [m/s^2].
            locked_joints: joint name to the constant position at which it is locked.
            backend: 'llvm', 'python' or 'auto'.

        Raises:
            ModelError: drake is not installed, or refuses the file.
            InvalidArgumentError: another argument is wrong.
        """
        read = read_sdf(source)
        root = read.root_joint if root_joint is None else root_joint
        return cls(build_model(read.description, root, gravity, locked_joints), backend)
