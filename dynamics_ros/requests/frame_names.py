# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of frames in messages, which have a prefix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownFrameError
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.model.model import ROOT
from dynamics_ros.robot import Robot


class FrameNames(NamedTuple):
    """Conversion between names of frames in the model and in messages.

    Attributes:
        root: frame id in which poses are expressed: the root link, or the frame of the odometry for
            a moving base.
        prefix: prefix of all frames of the model in messages.
    """

    root: str
    prefix: str

    @classmethod
    def of(cls, robot: Robot, buffer: StateBuffer, prefix: str) -> FrameNames:
        """Return the names for a robot; a moving base has its odometry in ``buffer``."""
        root = robot.root_frame
        moving = buffer.has_base
        return cls(buffer.base_frame_id or root if moving else f'{prefix}{root}', prefix)

    def frame_id_of(self, frame: str) -> str:
        """Return the frame id of a frame of the model; '' for ''."""
        return f'{self.prefix}{frame}' if frame else ''

    def frame_of(self, frame_id: str) -> str:
        """Return the name in the model of a frame id."""
        return frame_id.removeprefix(self.prefix) if self.prefix else frame_id

    def required_frame(self, robot: Robot, frame_id: str, argument: str) -> str:
        """Return the name in the model of a frame in a request.

        Args:
            robot: the robot.
            frame_id: name of the frame, with prefix.
            argument: name of the field in the request, for errors.

        Raises:
            UnknownFrameError: the model has no such frame.
        """
        frame = self.frame_of(frame_id)
        if frame not in robot.frame_names:
            raise UnknownFrameError(argument, frame_id, robot.frame_names)
        return frame

    def fixed_rotation(self, robot: Robot, frame_id: str, argument: str) -> NDArray[np.float64]:
        """Return the rotation R_root_frame (3, 3) of a frame that is fixed to the root link.

        Args:
            robot: the robot.
            frame_id: name of the frame, with prefix; '' is the root link.
            argument: name of the field in the message, for errors.

        Raises:
            DynamicsRosError: the frame is unknown or moved by joints.
        """
        name = robot.root_frame
        if self.frame_of(frame_id):
            name = self.required_frame(robot, frame_id, argument)
        frame = robot.model.frame(name)
        if frame.body != ROOT:
            raise DynamicsRosError(
                f'{argument}: {frame_id!r} is moved by joints; expected a link that is fixed to '
                f'{robot.root_frame!r}'
            )
        return np.array([[*row] for row in frame.placement.rotation])


def check_count(robot: Robot, count: int, argument: str) -> None:
    """Check the number of frames in a request, since a long request would delay the outputs.

    Raises:
        InvalidArgumentError: there are more frames than the robot has.
    """
    max_count = len(robot.frame_names)
    if count > max_count:
        raise InvalidArgumentError(
            argument, f'{count} frames', f'at most the {max_count} of the robot'
        )
