# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of joint trajectories: messages to points and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trajectory_msgs.msg import JointTrajectory

from dynamics_ros.control import JointMotion, LimitViolation
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros_msgs.msg import LimitViolation as LimitViolationMessage

from .conversions import Array, duration_message, float_sequence, seconds

MAX_POINTS = 100_000
"""Maximum number of points of a trajectory."""


def motion_of(message: JointTrajectory) -> JointMotion:
    """Return the points of a trajectory, with derivatives for those that it does not give.

    Raises:
        InvalidArgumentError: the trajectory is invalid.
    """
    points = message.points
    if not 0 < len(points) <= MAX_POINTS:
        raise InvalidArgumentError('points', f'{len(points)}', f'1 to {MAX_POINTS}')
    count = len(message.joint_names)
    return JointMotion.of(
        message.joint_names,
        [seconds(point.time_from_start) for point in points],
        _rows('positions', [point.positions for point in points], count),
        _rows_if_given('velocities', [point.velocities for point in points], count),
        _rows_if_given('accelerations', [point.accelerations for point in points], count),
    )


def fill_efforts(message: JointTrajectory, motion: JointMotion, efforts: Array) -> None:
    """Write the velocities of a motion and efforts (m, k) into the m points of a trajectory."""
    for point, v, effort in zip(message.points, motion.v, efforts, strict=True):
        point.velocities = float_sequence(v)
        point.effort = float_sequence(effort)


def violation_message(violation: LimitViolation) -> LimitViolationMessage:
    """Return the message of a limit that a trajectory violates."""
    return LimitViolationMessage(
        joint=violation.joint,
        quantity=violation.quantity,
        time_from_start=duration_message(violation.time),
        value=violation.value,
        limit=violation.limit,
    )


def _rows(argument: str, rows: Sequence[Any], count: int) -> list[Any]:
    index = next((i for i, row in enumerate(rows) if len(row) != count), None)
    if index is not None:
        problem = f'{len(rows[index])} in point {index}'
        raise InvalidArgumentError(argument, problem, f'one for each of {count} joints')
    return list(rows)


def _rows_if_given(argument: str, rows: Sequence[Any], count: int) -> list[Any] | None:
    """Return the rows, or None if no point has values."""
    return _rows(argument, rows, count) if any(len(row) for row in rows) else None
