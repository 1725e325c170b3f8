# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Adds mock hardware to a robot description, to run controllers without a robot."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from dynamics_ros.errors import InvalidArgumentError

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
