# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The values of the launch arguments, read and checked."""

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
    """What a launch file was asked for.

    Attributes:
        description: URDF text; '' when the topic brings it.
        root_link: of that description; '' when there is none or it cannot be read.
        tool: the frame that the nodes mean when none is configured; '' likewise.
        frames: names in the argument of that name.
        contact_frames, command_joints: likewise.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        """Read the values.

        Args:
            values: argument name to value.

        Raises:
            InvalidArgumentError: arguments that do not go together, or have the wrong form.
            ModelError: the description file cannot be read or expanded.
        """
        self.values = dict(values)
        self.description = self._description()
        self.root_link, self.tool = _landmarks(self.description)
        self.frames = _names(self['frames'])
        self.contact_frames = _names(self['contact_frames'])
        self.command_joints = _names(self['command_joints'])

    def __getitem__(self, name: str) -> str:
        """The value of an argument; '' for one that this launch file does not have."""
        return self.values.get(name, '')

    def is_on(self, name: str) -> bool:
        """Whether an argument is ``true``."""
        return self[name] == 'true'

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the arguments that are not empty, as parameters of the same name."""
        return {name: _SWITCHES.get(self[name], self[name]) for name in names if self[name]}

    def with_default(self, name: str, value: str) -> Settings:
        """The same, with a value for an argument that is empty and not about the description."""
        return self.changed(**{name: self[name] or value})

    def changed(self, **values: str) -> Settings:
        """The same, with other values for arguments that are not about the description."""
        other = copy.copy(self)
        other.values = self.values | values
        return other

    def of_robot(self, name: str) -> Settings:
        """Those of one of several robots: NAME is its namespace and the prefix of its frames."""
        namespace = '/'.join(part for part in (self['namespace'].rstrip('/'), name) if part)
        return self.changed(namespace=namespace, frame_prefix=f'{self["frame_prefix"]}{name}/')

    def resolved(self, topic: str) -> str:
        """The full name of a topic, as ROS resolves it in the namespace."""
        if topic.startswith('/'):
            return topic
        return '/' + '/'.join(part for part in (self['namespace'].strip('/'), topic) if part)

    @property
    def fixed_frame(self) -> str:
        """The frame that RViz draws in; '' when it is not known at launch."""
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


def _landmarks(description: str) -> tuple[str, str]:
    """Root link and tool frame; of a bad description, it is the nodes that complain."""
    if not description:
        return '', ''
    try:
        robot = read_urdf(description)
    except ModelError:
        return '', ''
    return robot.root, tool_frame(robot)
