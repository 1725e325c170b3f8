# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of frames and joints in parameters, held against a robot."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError, UnknownJointError
from dynamics_ros.robot import Robot

COMMANDED = 'command_joints'
"""The parameter of every node that commands joints, in the order of a controller."""


def known_frames(
    robot: Robot, frames: tuple[str, ...], default: str, parameter: str = 'frames'
) -> tuple[str, ...]:
    """The frames that a parameter configures, or the default.

    Raises:
        UnknownFrameError: the robot does not have one of them.
    """
    for frame in frames:
        if frame not in robot.frame_names:
            raise UnknownFrameError(parameter, frame, robot.frame_names)
    return frames or (default,)


def check_unique(joints: Sequence[str], expected: str = 'each joint once') -> None:
    """Refuse commanded joints of which one is named twice.

    Raises:
        InvalidArgumentError: with what is expected.
    """
    if len(set(joints)) != len(joints):
        raise InvalidArgumentError(COMMANDED, 'a joint is named twice', expected)


def check_known(robot: Robot, joints: Sequence[str]) -> None:
    """Refuse commanded joints that the robot does not have.

    Raises:
        UnknownJointError: naming the first of them.
    """
    for name in joints:
        if name not in robot.joint_v_indices:
            raise UnknownJointError(COMMANDED, name, robot.joint_v_indices)
