# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Values of the launch arguments, parsed and checked."""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Mapping
from typing import Any

from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.model.tool_frame import tool_frame
from dynamics_ros.model.urdf import read_urdf

_SWITCHES = {'true': True, 'false': False}


class Settings:
    """Values of the arguments of a launch file.

    Attributes:
        values: text of each argument, by name.
        description: URDF text; '' if it comes from the topic.
        root_link: root link of the description; '' without a readable description.
        tool: default frame of the nodes; '' without a readable description.
        frames, contact_frames, command_joints: lists of names in the arguments of these names.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        """Parse the values.

        Args:
            values: text of each argument, by name.

        Raises:
            InvalidArgumentError: arguments contradict each other or have a wrong format.
            ModelError: the description file cannot be read or expanded.
        """
        self.values = dict(values)
        self.description = self._description()
        self.root_link, self.tool = _root_and_tool(self.description)
        self.frames = _names(self['frames'])
        self.contact_frames = _names(self['contact_frames'])
        self.command_joints = _names(self['command_joints'])

    def __getitem__(self, name: str) -> str:
        """Return the value of an argument; '' if the launch file does not have it."""
        return self.values.get(name, '')

    def is_on(self, name: str) -> bool:
        """Return whether an argument is ``true``."""
        return self[name] == 'true'

    def as_parameters(self, *names: str) -> dict[str, Any]:
        """Return the arguments that are not empty, as parameters with the same names."""
        return {name: _SWITCHES.get(self[name], self[name]) for name in names if self[name]}

    def with_default(self, name: str, value: str) -> Settings:
        """Return a copy with a value for an empty argument, other than one of the description."""
        return self.changed(**{name: self[name] or value})

    def changed(self, **values: str) -> Settings:
        """Return a copy with other values for arguments, except those of the description."""
        other = copy.copy(self)
        other.values = self.values | values
        return other

    def for_robot(self, name: str) -> Settings:
        """Return the settings of one of several robots, with ``name`` in namespace and prefix."""
        namespace = '/'.join(part for part in (self['namespace'].rstrip('/'), name) if part)
        return self.changed(namespace=namespace, frame_prefix=f'{self["frame_prefix"]}{name}/')

    def resolved(self, topic: str) -> str:
        """Return the full name of a topic in the namespace."""
        if topic.startswith('/'):
            return topic
        return '/' + '/'.join(part for part in (self['namespace'].strip('/'), topic) if part)

    @property
    def fixed_frame(self) -> str:
        """Fixed frame of RViz; '' if it is not known at launch."""
        if self['fixed_frame']:
            return self['fixed_frame']
        if self['root_joint'] in ('floating', 'planar'):
            return 'odom'
        return self['frame_prefix'] + self.root_link if self.root_link else ''

    def _description(self) -> str:
        text, file = self['robot_description'], self['description_file']
        if text and file:
            raise InvalidArgumentError(
                'robot_description', 'is given, and description_file too', 'one of them'
            )
        if file:
            return read_description_file(file, self._xacro_arguments())
        if self['xacro_args']:
            raise InvalidArgumentError('xacro_args', 'is given, but no file', 'description_file')
        return text

    def _xacro_arguments(self) -> dict[str, str]:
        pairs = [word.partition(':=') for word in shlex.split(self['xacro_args'])]
        if not all(name and sign for name, sign, _ in pairs):
            raise InvalidArgumentError('xacro_args', repr(self['xacro_args']), "'name:=value ...'")
        return {name: value for name, _, value in pairs}


def _names(text: str) -> list[str]:
    return [name for name in re.split(r'[,\s]+', text) if name]


def _root_and_tool(description: str) -> tuple[str, str]:
    """Return root link and tool frame; '' for an invalid description, which the nodes report."""
    if not description:
        return '', ''
    try:
        robot = read_urdf(description)
    except ModelError:
        return '', ''
    return robot.root, tool_frame(robot)
