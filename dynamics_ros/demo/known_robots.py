# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Legged robots that the demonstration knows by name, from the PyPI package example-robot-data."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dynamics_ros.errors import ModelError

NEEDED = 'mujoco example-robot-data'
"""Names of the Python packages that a legged robot needs."""


@dataclass(frozen=True)
class LeggedRobot:
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


def legged_description(name: str) -> str:
    """URDF text of a robot of `LEGGED`.

    Raises:
        ModelError: the description or MuJoCo is not installed.
    """
    try:
        path = robots_folder() / LEGGED[name].file
        found = find_spec('mujoco') is not None
    except FileNotFoundError:
        found = False
    if not found:
        cure = f'{sys.executable} -m pip install {NEEDED}'
        raise ModelError(f'robot {name!r}', f'takes packages that are not installed: {cure}')
    return path.read_text(encoding='utf-8')
