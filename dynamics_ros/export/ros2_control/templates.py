# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Templates of the files of a generated package, with placeholders @PLACE@ for data of a robot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from xml.sax.saxutils import quoteattr

from dynamics_ros.errors import InvalidArgumentError

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


END = '</robot>'


def with_mock_hardware(description: str, name: str, positions: Mapping[str, float]) -> str:
    """Description with a <ros2_control> element of effort commands, unless it already has one.

    Args:
        description: URDF.
        name: name of the hardware.
        positions: initial positions of the controlled joints, by name [rad or m].

    Raises:
        InvalidArgumentError: the description has no end tag of the robot.
    """
    if '<ros2_control' in description:
        return description
    place = description.rfind(END)
    if place < 0:
        raise InvalidArgumentError('robot', f'no {END}', 'a URDF')
    lines = [f'<ros2_control name={quoteattr(name)} type="system">', '  <hardware>']
    lines += ['    <plugin>mock_components/GenericSystem</plugin>', '  </hardware>']
    for joint, position in positions.items():
        lines += [f'  <joint name={quoteattr(joint)}>', '    <command_interface name="effort"/>']
        for state, value in (('position', position), ('velocity', 0.0), ('effort', 0.0)):
            initial = f'<param name="initial_value">{value!r}</param>'
            lines.append(f'    <state_interface name="{state}">{initial}</state_interface>')
        lines.append('  </joint>')
    lines.append('</ros2_control>')
    text = '\n'.join(f'  {line}' for line in lines)
    return f'{description[:place]}{text}\n{description[place:]}'
