# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Selection of the joints to command so that a frame moves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.parameters.robot import COMMANDED, check_known, check_unique
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

FULL_TURN = 2.0 * math.pi


def moved_joints(robot: Robot, frame: str) -> NDArray[np.bool_]:
    """Mask of the velocities (nv) that move a frame.

    Raises:
        InvalidArgumentError: no joint moves it.
    """
    J = robot.jacobian(robot.random_configuration(0), frame)
    moving: NDArray[np.bool_] = np.abs(J).max(axis=0, initial=0.0) > 0.0
    if not moving.any():
        raise InvalidArgumentError('frame', f'no joint moves {frame!r}', 'a frame that moves')
    return moving


def turning_joints(robot: Robot) -> NDArray[np.bool_]:
    """Mask of the positions (nq) with a period of 2 pi: continuous joints without mimic joints.

    A mimic joint does not turn by whole turns when its leader does.
    """
    model = robot.model
    leaders = {joint.leader for joint in model.joints}
    turning = np.zeros(robot.nq, dtype=np.bool_)
    for joint in model.actuated:
        if joint.kind.name == 'continuous' and joint.name not in leaders:
            turning[robot.joint_q_indices[joint.name]] = True
    return turning


def nearest_equivalent_angles(q: Array, before: Array, turning: NDArray[np.bool_]) -> Array:
    """Add the whole turns to positions (n) that bring them nearest to the previous ones.

    Drivers report continuous joints from -pi to pi, with a jump at the ends.

    Args:
        q: (n) as reported.
        before: (n) previous positions.
        turning: (n) mask, as of ``turning_joints``.
    """
    turns = np.where(turning, np.rint((before - q) / FULL_TURN), 0.0)
    return q + FULL_TURN * turns if turns.any() else q


def check_order_is_known(asked: Sequence[str], kind: str) -> None:
    """Refuse joints of an array of commands unless their order is given.

    Args:
        asked: the requested joints.
        kind: what the commands are: 'effort' or a ``command_type`` of the servo.

    Raises:
        InvalidArgumentError: the order is not given, or a joint occurs twice.
    """
    expected = 'the joints of the controller in its order'
    if not asked and kind != 'trajectory':
        raise InvalidArgumentError(COMMANDED, f'empty beside commands of {kind}', expected)
    check_unique(asked, expected)


def commanded_joints(robot: Robot, frame: str, asked: Sequence[str], kind: str) -> tuple[str, ...]:
    """Joints that are commanded: the requested ones, by default all that move the frame.

    Args:
        robot: the robot.
        frame: the frame.
        asked, kind: as for ``check_order_is_known``; efforts need all joints that move the frame.

    Raises:
        InvalidArgumentError: the order is not given, no joint moves the frame, or one is missing.
        UnknownJointError: the robot does not have a joint.
    """
    mask = moved_joints(robot, frame)
    check_known(robot, asked)
    check_order_is_known(asked, kind)
    moving = tuple(name for name, index in robot.joint_v_indices.items() if mask[index])
    missing = [name for name in moving if name not in asked]
    if kind == 'effort' and missing:
        problem = f'{missing[0]!r} moves {frame!r} and is missing'
        raise InvalidArgumentError(COMMANDED, problem, 'all joints that do')
    return tuple(asked) or moving


def check_speeds_bounded(robot: Robot, joints: Sequence[str], fastest: float) -> None:
    """Refuse to command joints whose speed has no limit.

    Args:
        robot: the robot.
        joints: commanded joints.
        fastest: limit for each joint in addition to the description [rad/s or m/s]; inf for none.

    Raises:
        InvalidArgumentError: a joint has no limit; the error names it.
    """
    limits, base = robot.velocity_limits, robot.model.root_joint_nv
    free = [x for x in joints if not math.isfinite(limits[robot.joint_v_indices[x] - base])]
    if free and not math.isfinite(fastest):
        raise InvalidArgumentError(
            'speed.joint',
            f'inf beside {free[0]!r}, which has no velocity limit in the description',
            'a number',
        )
