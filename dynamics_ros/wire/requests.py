# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States and values that requests give by the names of joints, as arrays of a robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Pose, Twist
from sensor_msgs.msg import JointState

from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.robot import Robot

from .conversions import Array, float_array, quaternion_is_zero, vector_array

NOT_GIVEN = Pose()
"""What a client leaves that knows nothing of a moving base."""


def named_joints(state: JointState, buffer: StateBuffer, argument: str) -> tuple[str, ...]:
    """The joints with a coordinate of their own that a state names.

    Raises:
        InvalidArgumentError, UnknownJointError: the state is wrong.
    """
    names = state.name
    for field in ('position', 'velocity', 'effort'):
        values = getattr(state, field)
        if len(values) not in (0, len(names)) or (names and field == 'position' and not values):
            raise InvalidArgumentError(
                f'{argument}.{field}',
                f'{len(values)} values for {len(names)} names',
                'one for each',
            )
        if not np.isfinite(float_array(values)).all():
            raise InvalidArgumentError(f'{argument}.{field}', 'not finite', 'finite numbers')
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f'{argument}.name', 'a joint is named twice', 'each joint once')
    for name in names:
        if not buffer.knows(name):
            raise UnknownJointError(f'{argument}.name', name, buffer.joint_names)
    return tuple(name for name in names if name in buffer.robot.joint_q_indices)


def fill_in(
    robot: Robot, named: Sequence[str], state: JointState, q: Array, v: Array, effort: Array
) -> None:
    """Write what a state says of named joints into q (nq), v and effort (nv); 0 for none."""
    column = {name: i for i, name in enumerate(state.name)}
    for name in named:
        i, q_i, v_i = column[name], robot.joint_q_indices[name], robot.joint_v_indices[name]
        q[q_i] = state.position[i]
        v[v_i] = state.velocity[i] if state.velocity else 0.0
        effort[v_i] = state.effort[i] if state.effort else 0.0


def with_positions(buffer: StateBuffer, q: Array, state: JointState, argument: str) -> Array:
    """A configuration in which the joints that a state names are where it says.

    Raises:
        InvalidArgumentError, UnknownJointError: the state is wrong.
    """
    robot, result = buffer.robot, q.copy()
    column = {name: i for i, name in enumerate(state.name)}
    for name in named_joints(state, buffer, argument):
        result[robot.joint_q_indices[name]] = state.position[column[name]]
    return result


def values_by_joint(
    robot: Robot, names: Sequence[str], values: Sequence[float], argument: str
) -> Array:
    """(nv) array of values given by joint name; joints that are not named are zero.

    Raises:
        InvalidArgumentError, UnknownJointError: the request is wrong.
    """
    if len(names) != len(values):
        raise InvalidArgumentError(
            argument, f'{len(values)} values for {len(names)} names', 'one for each'
        )
    if len(set(names)) != len(names):
        raise InvalidArgumentError(argument, 'a joint is named twice', 'each joint once')
    given = float_array(values)
    if not np.isfinite(given).all():
        raise InvalidArgumentError(argument, 'not finite', 'finite numbers')
    result = np.zeros(robot.nv)
    for name, value in zip(names, given, strict=True):
        if name not in robot.joint_v_indices:
            raise UnknownJointError(argument, name, robot.joint_v_indices)
        result[robot.joint_v_indices[name]] = value
    return result


def velocity_names(robot: Robot) -> list[str]:
    """What each entry of a velocity is."""
    moves = {0: '', 3: 'vx vy wz', 6: 'vx vy vz wx wy wz'}[robot.model.root_joint_nv]
    names = [f'base_{component}' for component in moves.split()]
    for joint in robot.model.actuated:
        single = len(joint.v_indices) == 1
        names += [
            joint.name if single else f'{joint.name}[{i}]' for i in range(len(joint.v_indices))
        ]
    return names


def base_six(robot: Robot, values: Array) -> Array:
    """What stands in front of the joints in (nv) values, as a six-vector of the base."""
    six = np.zeros(6)
    size = robot.model.root_joint_nv
    if size == 3:
        six[[0, 1, 5]] = values[:3]
    else:
        six[:size] = values[:size]
    return six


def base_is_given(buffer: StateBuffer, state: JointState, pose: Pose, twist: Twist | None) -> bool:
    """Whether a request says where the base is; one that leaves it alone means the latest.

    Raises:
        InvalidArgumentError: it is given for a base that is fixed, or is not finite.
    """
    left_alone = quaternion_is_zero(pose.orientation) or (not state.name and _is_default(pose))
    if left_alone:
        vector_array(pose.position, 'base_pose.position')
        return False
    if not buffer.has_base:
        if not _is_default(pose) or (twist is not None and any(_components(twist))):
            raise InvalidArgumentError(
                'base_pose', 'given for a robot whose base is fixed', 'none, or a moving root_joint'
            )
        return False
    return True


def _is_default(pose: Pose) -> bool:
    """Whether a pose is what a client leaves that knows nothing of a moving base."""
    place, turn = pose.position, pose.orientation
    return (turn.w, turn.x, turn.y, turn.z, place.x, place.y, place.z) == (1.0, *6 * (0.0,))


def _components(twist: Twist) -> tuple[float, ...]:
    v, w = twist.linear, twist.angular
    return v.x, v.y, v.z, w.x, w.y, w.z
