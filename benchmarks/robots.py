"""The robots that are measured: the URDFs of the PyPI package example-robot-data."""

from __future__ import annotations

import sys
from pathlib import Path

NAMED = {
    'panda': 'panda_description/urdf/panda.urdf',
    'ur5': 'ur_description/urdf/ur5_robot.urdf',
    'xarm7': 'xarm_description/urdf/xarm7.urdf',
    'kinova': 'kinova_description/robots/kinova.urdf',
    'anymal': 'anymal_b_simple_description/robots/anymal.urdf',
    'talos_reduced': 'talos_data/robots/talos_reduced.urdf',
}


def robots_folder() -> Path:
    """The folder ``robots`` of the installed example-robot-data.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    for entry in sys.path:
        for prefix in ('cmeel.prefix/', ''):
            folder = Path(entry) / f'{prefix}share/example-robot-data/robots'
            if folder.is_dir():
                return folder
    raise FileNotFoundError('example-robot-data: install it with "pip install example-robot-data"')


def urdf_path(name: str) -> Path:
    """The URDF file of a named robot."""
    return robots_folder() / NAMED[name]


def all_urdfs() -> list[Path]:
    """Every URDF file of the collection."""
    return sorted(robots_folder().rglob('*.urdf'))
