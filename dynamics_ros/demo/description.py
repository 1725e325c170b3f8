# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reads the description of the demonstrated robot from a file or from the package."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import get_package_share_directory

from dynamics_ros.errors import ModelError, meant
from dynamics_ros.model.description_file import read_description_file

from .known_robots import LEGGED

DEFAULT_ROBOT = 'seven_joint_arm.urdf'


def read_description(path: str | None) -> str:
    """URDF text of a file, expanded if it is a xacro file; by default of the package's own arm.

    Raises:
        ModelError: the file cannot be read or expanded.
    """
    own = Path(get_package_share_directory('dynamics_ros'), 'urdf', DEFAULT_ROBOT)
    if path and path.isidentifier() and not Path(path).exists():
        reason = f'neither a file nor a known robot ({", ".join(LEGGED)}){meant(path, LEGGED)}'
        raise ModelError(f'robot {path!r}', reason)
    return read_description_file(path or own)
