# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Templates of the files of a generated package, with placeholders @PLACE@ for data of a robot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

PLACE = re.compile('@([A-Z][A-Z0-9_]*)@')

PACKAGE = {
    'CMakeLists.txt': 'CMakeLists.txt',
    'README.md': 'README.md',
    'config/controllers.yaml': 'controllers.yaml',
    'controllers.xml': 'controllers.xml',
    'include/@NAME@/control.h': 'control.h',
    'inverse_dynamics.xml': 'inverse_dynamics.xml',
    'kinematics.xml': 'kinematics.xml',
    'launch/mock.launch.py': 'mock.launch.py',
    'package.xml': 'package.xml',
    'src/control.c': 'control.c',
    'src/force_torque_broadcaster.cpp': 'force_torque_broadcaster.cpp',
    'src/impedance_controller.cpp': 'impedance_controller.cpp',
    'src/inverse_dynamics.cpp': 'inverse_dynamics.cpp',
    'src/joints.hpp': 'joints.hpp',
    'src/kinematics.cpp': 'kinematics.cpp',
}
"""Name of the template of each file of a package."""


def filled(values: Mapping[str, str]) -> dict[str, str]:
    """Contents of the files of a package by path.

    Args:
        values: text for each placeholder of the templates.

    Raises:
        KeyError: a placeholder has no value.
    """
    folder = files(__package__) / 'templates'
    return {
        _filled(path, values): _filled((folder / f'{name}.in').read_text('utf-8'), values)
        for path, name in PACKAGE.items()
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    return PLACE.sub(lambda place: values[place[1]], text)
