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


def check_effort_joints(joints: Sequence[str]) -> None:
    """Refuse joints of an effort array unless their order is given.

    Raises:
        InvalidArgumentError: there are no joints, or one occurs twice.
    """
    expected = 'the joints of the effort controller in its order'
    if not joints:
        raise InvalidArgumentError(COMMANDED, 'empty', expected)
    check_unique(joints, expected)


def effort_places(robot: Robot, frame: str, joints: Sequence[str]) -> NDArray[np.intp]:
    """Indices among the velocities of the joints that receive efforts.

    Raises:
        UnknownJointError: the robot does not have a joint.
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
    """Refuse a ``command_type`` that sends an array unless the joint order is given.

    Raises:
        InvalidArgumentError: the order is not given.
    """
    if not asked and kind != 'trajectory':
        problem = f'empty beside command_type {kind}'
        expected = 'the joints of the controller in its order'
        raise InvalidArgumentError(COMMANDED, problem, expected)


def servo_joints(robot: Robot, frame: str, asked: Sequence[str], kind: str) -> tuple[str, ...]:
    """Joints that a servo commands: the requested ones, by default all that move the frame.

    Raises:
        InvalidArgumentError: the command type needs a joint order and none is given, or no joint
            moves the frame.
        UnknownJointError: the robot does not have a joint.
    """
    moved = moved_joints(robot, frame)
    check_known(robot, asked)
    check_order_is_known(asked, kind)
    if asked:
        return tuple(asked)
    return tuple(name for name, index in robot.joint_v_indices.items() if moved[index])


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
