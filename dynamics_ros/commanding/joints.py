# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which joints are commanded so that a frame is led."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.parameters.names import COMMANDED, check_known, check_once
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

FULL_TURN = 2.0 * math.pi


def moved_joints(robot: Robot, frame: str) -> NDArray[np.bool_]:
    """The velocities (nv) that move a frame.

    Raises:
        InvalidArgumentError: none does.
    """
    J = robot.jacobian(robot.random_configuration(0), frame)
    moving: NDArray[np.bool_] = np.abs(J).max(axis=0, initial=0.0) > 0.0
    if not moving.any():
        raise InvalidArgumentError('frame', f'no joint moves {frame!r}', 'a frame that moves')
    return moving


def turning_joints(robot: Robot) -> NDArray[np.bool_]:
    """The positions (nq) that mean the same after a turn: of continuous joints that lead no other.

    A joint that follows another turns by another angle.
    """
    model = robot.model
    leaders = {joint.leader for joint in model.joints}
    turning = np.zeros(robot.nq, dtype=np.bool_)
    for joint in model.actuated:
        if joint.kind.name == 'continuous' and joint.name not in leaders:
            turning[robot.joint_q_indices[joint.name]] = True
    return turning


def unwound(q: Array, before: Array, turning: NDArray[np.bool_]) -> Array:
    """Positions (n) with the whole turns that bring them nearest to those before.

    Drivers tell angles of continuous joints from -pi to pi, which jump where a joint goes on.

    Args:
        q: as told.
        before: (n) that they went on from.
        turning: (n), as of ``turning_joints``.
    """
    turns = np.where(turning, np.rint((before - q) / FULL_TURN), 0.0)
    return q + FULL_TURN * turns if turns.any() else q


def check_effort_joints(joints: Sequence[str]) -> None:
    """Refuse an array of efforts whose order nobody has told.

    Raises:
        InvalidArgumentError: no joints, or one twice.
    """
    expected = 'the joints of the effort controller in its order'
    if not joints:
        raise InvalidArgumentError(COMMANDED, 'empty', expected)
    check_once(joints, expected)


def effort_places(robot: Robot, frame: str, joints: Sequence[str]) -> NDArray[np.intp]:
    """Places of the joints that efforts are sent to among the velocities.

    Raises:
        UnknownJointError: the robot does not have one.
        InvalidArgumentError: no joint moves the frame, or one that does is missing.
    """
    check_known(robot, joints)
    moving = moved_joints(robot, frame)
    for name, index in robot.joint_v_indices.items():
        if moving[index] and name not in joints:
            problem = f'{name!r} moves {frame!r} and is missing'
            raise InvalidArgumentError(COMMANDED, problem, 'all joints that do')
    return np.array([robot.joint_v_indices[name] for name in joints])


def check_order_is_known(asked: Sequence[str], kind: str) -> None:
    """Refuse an array of commands of a ``command_type`` whose order nobody has told.

    Raises:
        InvalidArgumentError: that is so.
    """
    if not asked and kind != 'trajectory':
        problem = f'empty beside command_type {kind}'
        expected = 'the joints of the controller in its order'
        raise InvalidArgumentError(COMMANDED, problem, expected)


def servo_joints(robot: Robot, frame: str, asked: Sequence[str], kind: str) -> tuple[str, ...]:
    """The joints that a servo commands: those that are asked for, else all that move the frame.

    Raises:
        InvalidArgumentError: none are named where the order of an array has to be known, or no
            joint moves the frame.
        UnknownJointError: the robot does not have one.
    """
    moved = moved_joints(robot, frame)
    check_known(robot, asked)
    check_order_is_known(asked, kind)
    if asked:
        return tuple(asked)
    return tuple(name for name, index in robot.joint_v_indices.items() if moved[index])


def check_speeds_bounded(robot: Robot, joints: Sequence[str], fastest: float) -> None:
    """Refuse to command joints whose speed nothing bounds.

    Args:
        robot: that moves.
        joints: that are commanded.
        fastest: of each, beside the description [rad/s or m/s]; inf for that alone.

    Raises:
        InvalidArgumentError: a joint without limit, which it names.
    """
    limits, base = robot.velocity_limits, robot.model.root_joint_nv
    free = [x for x in joints if not math.isfinite(limits[robot.joint_v_indices[x] - base])]
    if free and not math.isfinite(fastest):
        raise InvalidArgumentError(
            'speed.joint',
            f'inf beside {free[0]!r}, which has no velocity limit in the description',
            'a number',
        )
