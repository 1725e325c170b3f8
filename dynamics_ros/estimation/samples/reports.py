# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What joint states and odometry say, as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError

Array = NDArray[np.float64]

NANOSECONDS = 1_000_000_000

LONGEST_FRAME_ID = 256
"""Characters of the frame that odometry may be given in: every pose carries it."""

UNIT_LENGTH_TOLERANCE = 1e-3
"""Quaternions written by hand with three digits pass; anything further off is a mistake."""


class JointValues(NamedTuple):
    """What a joint state says; the arrays may share its memory.

    Or what several say of the same joints: then stamps are arrays, and each has a row.

    Attributes:
        seconds, nanoseconds: the stamp.
        names: the joints.
        position, velocity, effort: of each joint, or empty; lengths are not checked.
        block: all three together, with one number in between that means nothing; None where they
            are not as long as each other, or somewhere else.
    """

    seconds: Any
    nanoseconds: Any
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
    block: Array | None = None

    @property
    def time(self) -> Any:
        """The stamp, or stamps (n) [ns]."""
        return self.seconds * NANOSECONDS + self.nanoseconds


class PoseValues(NamedTuple):
    """A pose as it is told, unchecked: position [m] and quaternion (x, y, z, w)."""

    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]


class OdometryValues(NamedTuple):
    """What odometry says, unchecked.

    Attributes:
        seconds, nanoseconds: the stamp.
        frame_id, child_frame_id: the frames of pose and twist.
        pose: of the root link in ``frame_id``.
        twist: (6) of the root link in ``child_frame_id``, linear first.
    """

    seconds: int
    nanoseconds: int
    frame_id: str
    child_frame_id: str
    pose: PoseValues
    twist: tuple[float, ...]


def finite_numbers(values: Sequence[float], name: str) -> list[float]:
    """The numbers.

    Raises:
        InvalidArgumentError: one of them is not finite.
    """
    if not all(map(math.isfinite, values)):
        raise InvalidArgumentError(name, f'{list(values)} is not finite', 'finite numbers')
    return list(values)


def unit_quaternion(quaternion: Sequence[float], name: str) -> tuple[float, float, float, float]:
    """(x, y, z, w), scaled to unit length.

    Raises:
        InvalidArgumentError: it is not close to that, or not finite.
    """
    x, y, z, w = finite_numbers(quaternion, name)
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if abs(length - 1.0) > UNIT_LENGTH_TOLERANCE:
        raise InvalidArgumentError(
            name, f'the quaternion has length {length:.6g}', 'a unit quaternion (x, y, z, w)'
        )
    return (x / length, y / length, z / length, w / length)


def check_odometry(odometry: OdometryValues, names: Sequence[str]) -> None:
    """Refuse odometry of another link, and what cannot be right, but for a pose that is given.

    Args:
        odometry: what it says.
        names: what the root link may be called.

    Raises:
        InvalidArgumentError: naming the field.
    """
    if odometry.child_frame_id not in ('', *names):
        problem = f'{odometry.child_frame_id!r} is not the root link'
        raise InvalidArgumentError('child_frame_id', problem, names[0])
    finite_numbers(odometry.twist, 'odom.twist')
    if not any(odometry.pose.orientation):
        raise InvalidArgumentError('odom.pose.orientation', 'zero', 'a unit quaternion')
    if len(odometry.frame_id) > LONGEST_FRAME_ID:
        given = f'{len(odometry.frame_id)} characters'
        raise InvalidArgumentError('odom.header.frame_id', given, f'at most {LONGEST_FRAME_ID}')
    if odometry.nanoseconds >= NANOSECONDS:
        given = f'{odometry.nanoseconds} ns'
        raise InvalidArgumentError('odom.header.stamp', given, 'less than a second')


def floating_base(pose: PoseValues, name: str) -> Array:
    """(7) coordinates of a floating base: position, quaternion.

    Raises:
        InvalidArgumentError: the pose is none.
    """
    position = finite_numbers(pose.position, f'{name}.position')
    return np.array([*position, *unit_quaternion(pose.orientation, f'{name}.orientation')])


def planar_base(pose: PoseValues, name: str) -> Array:
    """(3) coordinates of a planar base: x, y, angle about z.

    Raises:
        InvalidArgumentError: the pose is none, or not in the plane.
    """
    x, y, z, w = unit_quaternion(pose.orientation, f'{name}.orientation')
    position = finite_numbers(pose.position, f'{name}.position')
    if abs(position[2]) > UNIT_LENGTH_TOLERANCE or math.hypot(x, y) > UNIT_LENGTH_TOLERANCE:
        raise InvalidArgumentError(name, 'the pose leaves the x-y plane', 'a pose of a planar base')
    return np.array([position[0], position[1], 2.0 * math.atan2(z, w)])
