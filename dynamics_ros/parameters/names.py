# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the names of frames and joints in parameters."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError, UnknownJointError
from dynamics_ros.robot import Robot

COMMANDED = 'command_joints'
"""Name of the parameter with the commanded joints, in the order of the controller."""


def known_frames(
    robot: Robot, frames: tuple[str, ...], default: str, parameter: str = 'frames'
) -> tuple[str, ...]:
    """Return the frames of a parameter, or the default frame if it is empty.

    Raises:
        UnknownFrameError: the robot does not have one of them.
    """
    for frame in frames:
        if frame not in robot.frame_names:
            raise UnknownFrameError(parameter, frame, robot.frame_names)
    return frames or (default,)


def check_unique(joints: Sequence[str], expected: str = 'each joint once') -> None:
    """Check that no commanded joint is repeated.

    Args:
        joints: names of the joints.
        expected: text for the error.

    Raises:
        InvalidArgumentError: a joint is repeated.
    """
    if len(set(joints)) != len(joints):
        raise InvalidArgumentError(COMMANDED, 'a joint is named twice', expected)


def check_known(robot: Robot, joints: Sequence[str]) -> None:
    """Check that the robot has all commanded joints.

    Raises:
        UnknownJointError: the robot does not have one of them.
    """
    for name in joints:
        if name not in robot.joint_v_indices:
            raise UnknownJointError(COMMANDED, name, robot.joint_v_indices)
