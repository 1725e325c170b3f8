# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of states and values by joint name in requests to arrays of a robot."""

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
"""Default base pose of a request, from a client that does not set it."""


def named_joints(state: JointState, buffer: StateBuffer, argument: str) -> tuple[str, ...]:
    """Check a state, and return those of its joints that have a coordinate.

    Args:
        state: joint state of a request.
        buffer: latest data of the robot's joints.
        argument: name of the state in the request, for errors.

    Raises:
        InvalidArgumentError: lengths do not match, a name is repeated or a number is not finite.
        UnknownJointError: the robot does not have a named joint.
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
    """Write the values of named joints into q (nq), v and effort (nv); 0 where none are given."""
    column = {name: i for i, name in enumerate(state.name)}
    for name in named:
        i, q_i, v_i = column[name], robot.joint_q_indices[name], robot.joint_v_indices[name]
        q[q_i] = state.position[i]
        v[v_i] = state.velocity[i] if state.velocity else 0.0
        effort[v_i] = state.effort[i] if state.effort else 0.0


def with_positions(buffer: StateBuffer, q: Array, state: JointState, argument: str) -> Array:
    """Return a copy of the configuration q (nq) with the positions of a joint state.

    Raises:
        InvalidArgumentError, UnknownJointError: the state is invalid, see ``named_joints``.
    """
    robot, result = buffer.robot, q.copy()
    column = {name: i for i, name in enumerate(state.name)}
    for name in named_joints(state, buffer, argument):
        result[robot.joint_q_indices[name]] = state.position[column[name]]
    return result


def values_by_joint(
    robot: Robot, names: Sequence[str], values: Sequence[float], argument: str
) -> Array:
    """Return an array (nv) of values given by joint name; zero for other joints.

    Raises:
        InvalidArgumentError: lengths do not match, a name is repeated or a number is not finite.
        UnknownJointError: the robot does not have a named joint.
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
    """Return the name of each entry of a velocity (nv)."""
    components = {0: '', 3: 'vx vy wz', 6: 'vx vy vz wx wy wz'}[robot.model.root_joint_nv]
    names = [f'base_{component}' for component in components.split()]
    for joint in robot.model.actuated:
        single = len(joint.v_indices) == 1
        names += [
            joint.name if single else f'{joint.name}[{i}]' for i in range(len(joint.v_indices))
        ]
    return names


def base_vector(robot: Robot, values: Array) -> Array:
    """Return the entries of the base in an array (nv) as a 6-vector; zeros for a fixed base."""
    vector = np.zeros(6)
    size = robot.model.root_joint_nv
    if size == 3:
        vector[[0, 1, 5]] = values[:3]
    else:
        vector[:size] = values[:size]
    return vector


def base_is_given(buffer: StateBuffer, state: JointState, pose: Pose, twist: Twist | None) -> bool:
    """Return whether a request gives the pose of the base; otherwise it means the latest pose.

    Raises:
        InvalidArgumentError: the pose is given for a fixed base, or is not finite.
    """
    not_given = quaternion_is_zero(pose.orientation) or (not state.name and _is_default(pose))
    if not_given:
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
    """Return whether a pose is the default, ``NOT_GIVEN``."""
    p, r = pose.position, pose.orientation
    return (r.w, r.x, r.y, r.z, p.x, p.y, p.z) == (1.0, *6 * (0.0,))


def _components(twist: Twist) -> tuple[float, ...]:
    v, w = twist.linear, twist.angular
    return v.x, v.y, v.z, w.x, w.y, w.z
