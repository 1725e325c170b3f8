# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of demonstrated robots: a file, the package's arm, or a legged robot by its name.

Legged robots are those of the PyPI package example-robot-data.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dynamics_ros.errors import ModelError, meant
from dynamics_ros.model.description_file import read_description_file

NEEDED = 'mujoco example-robot-data'
"""Names of the Python packages that a legged robot needs."""


class LeggedRobot(NamedTuple):
    """A legged robot.

    Attributes:
        file: path of the URDF in the package's folder ``robots``.
        feet: frames of the feet.
        foot_radius: radius of the spherical feet [m].
        base: root link.
        stance: joint positions of the standing robot [rad]; 0 for other joints.
    """

    file: str
    feet: tuple[str, ...]
    foot_radius: float
    base: str
    stance: Mapping[str, float]


LEGGED = {
    'anymal': LeggedRobot(
        'anymal_b_simple_description/robots/anymal.urdf',
        ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT'),
        0.031,
        'base',
        {
            f'{leg}_{joint}': sign * angle
            for leg, sign in (('LF', 1.0), ('RF', 1.0), ('LH', -1.0), ('RH', -1.0))
            for joint, angle in (('HFE', 0.6), ('KFE', -1.2))
        },
    ),
}


def robots_folder() -> Path:
    """Path of the folder ``robots`` of the installed example-robot-data.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    for entry in sys.path:
        for prefix in ('cmeel.prefix/', ''):
            folder = Path(entry) / f'{prefix}share/example-robot-data/robots'
            if folder.is_dir():
                return folder
    raise FileNotFoundError('example-robot-data: install it with "pip install example-robot-data"')


def read_description(robot: str | None) -> str:
    """URDF text of a robot of `LEGGED` or of a file, which may be xacro; None: the package's arm.

    Raises:
        ModelError: the file cannot be read or expanded, or a required package is not installed.
    """
    # Here, because benchmarks use this file without ROS.
    from ament_index_python.packages import get_package_share_directory

    if robot in LEGGED:
        with suppress(FileNotFoundError):
            if find_spec('mujoco') is not None:
                return (robots_folder() / LEGGED[robot].file).read_text(encoding='utf-8')
        cure = f'{sys.executable} -m pip install {NEEDED}'
        raise ModelError(f'robot {robot!r}', f'takes packages that are not installed: {cure}')
    if robot and robot.isidentifier() and not Path(robot).exists():
        reason = f'neither a file nor a known robot ({", ".join(LEGGED)}){meant(robot, LEGGED)}'
        raise ModelError(f'robot {robot!r}', reason)
    own = Path(get_package_share_directory('dynamics_ros'), 'urdf', 'seven_joint_arm.urdf')
    return read_description_file(robot or own)
