# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What frames are called outside of the model."""

from __future__ import annotations

from typing import NamedTuple

from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.robot import Robot


class FrameNames(NamedTuple):
    """What frames are called in messages.

    Attributes:
        root: the frame that poses are given in: the root link; for a moving base, that of odometry.
        prefix: in front of the names of all frames of the model.
    """

    root: str
    prefix: str

    @classmethod
    def of(cls, robot: Robot, buffer: StateBuffer, prefix: str) -> FrameNames:
        """The names of a robot whose odometry, if its base moves, is in a buffer."""
        root = robot.root_frame
        moving = buffer.has_base
        return cls(buffer.base_frame_id or root if moving else f'{prefix}{root}', prefix)

    def outside(self, frame: str) -> str:
        """The frame_id of a frame of the model; none for none."""
        return f'{self.prefix}{frame}' if frame else ''

    def inside(self, frame_id: str) -> str:
        """What the model calls a frame_id."""
        return frame_id.removeprefix(self.prefix) if self.prefix else frame_id
