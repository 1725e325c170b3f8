# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The state that a service request asks about: its own, the latest, or one filled by the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Twist, WrenchStamped
from sensor_msgs.msg import JointState

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError, UnknownJointError
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.nodes.reporting.results import NoStateError
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    Array,
    float_array,
    pose_values,
    quaternion_is_zero,
    time_message,
    twist_array,
    vector_array,
    wrench_array,
)

NOT_GIVEN = Pose()
"""What a client leaves that knows nothing of a moving base."""


@dataclass(frozen=True)
class RequestedState:
    """State of a request.

    Attributes:
        robot: the robot in force when it was read.
        stamp: of the latest state where that was used, else of the request.
        q: configuration.
        velocity, effort: None where neither the request nor the latest state has them.
        names: the joints that the request names; empty when it left the state to the node.
    """

    robot: Robot
    stamp: Time
    q: Array
    velocity: Array | None
    effort: Array | None
    names: tuple[str, ...]

    def required_velocity(self) -> Array:
        """The velocity.

        Raises:
            NoStateError: not known.
        """
        return _required(self.velocity, 'velocity')

    def required_effort(self) -> Array:
        """The effort.

        Raises:
            NoStateError: not known.
        """
        return _required(self.effort, 'effort')


def requested_state(
    context: RobotContext,
    state: JointState,
    base_pose: Pose,
    base_twist: Twist | None = None,
    argument: str = 'state',
) -> RequestedState:
    """The state that a request is about.

    An empty ``state`` is the latest one. Joints that a state does not name are those of the latest;
    velocities and efforts that it does not give are zero. A base pose of zero quaternion, or left
    at its default beside an empty state, is that of the latest odometry, identity without any.

    Raises:
        DynamicsRosError: the request is wrong, or needs a latest state that is not there.
    """
    robot = context.required_robot()
    assert context.buffer is not None
    named = _checked(state, context.buffer, argument)
    base_given = _base_given(context.buffer, state, base_pose, base_twist)
    velocity_known = effort_known = True
    if len(named) == len(context.buffer.joint_names):
        q, v, effort = context.buffer.neutral.copy(), np.zeros(robot.nv), np.zeros(robot.nv)
        context.buffer.copy_base(q, v)
        stamp = state.header.stamp
    else:
        latest = context.latest_state()
        q, v, effort = latest.q.copy(), latest.v.copy(), latest.effort.copy()
        stamp = time_message(latest.time)
        velocity_known = bool(named) or not latest.velocity_missing
        effort_known = bool(named) or not latest.effort_missing
    _fill(robot, named, state, q, v, effort)
    if base_given:
        base = context.buffer.base_coordinates(pose_values(base_pose), 'base_pose')
        q[: len(base)] = base
        twist = twist_array(base_twist, 'base_twist') if base_twist else np.zeros(6)
        base_v = context.buffer.base_velocity(twist)
        v[: len(base_v)] = base_v
    return RequestedState(
        robot=robot,
        stamp=stamp,
        q=q,
        velocity=v if velocity_known else None,
        effort=effort if effort_known else None,
        names=tuple(state.name),
    )


def with_positions(context: RobotContext, q: Array, state: JointState, argument: str) -> Array:
    """A configuration in which the joints that a state names are where it says.

    Raises:
        InvalidArgumentError, UnknownJointError: the state is wrong.
    """
    assert context.buffer is not None
    robot, result = context.buffer.robot, q.copy()
    column = {name: i for i, name in enumerate(state.name)}
    for name in _checked(state, context.buffer, argument):
        result[robot.joint_q_indices[name]] = state.position[column[name]]
    return result


def joint_values(
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


def external_wrenches(
    context: RobotContext, robot: Robot, messages: Sequence[WrenchStamped]
) -> dict[str, Array]:
    """Frame name to the sum of the wrenches (6) given for it, in that frame."""
    wrenches: dict[str, Array] = {}
    for i, message in enumerate(messages):
        frame = required_frame(context, robot, message.header.frame_id, f'external_wrenches[{i}]')
        wrench = wrench_array(message.wrench, f'external_wrenches[{i}].wrench')
        wrenches[frame] = wrenches[frame] + wrench if frame in wrenches else wrench
    # One order for one set of frames, so that it is compiled once.
    return dict(sorted(wrenches.items()))


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


def required_frame(context: RobotContext, robot: Robot, frame_id: str, argument: str) -> str:
    """The frame of the model that a request names.

    Raises:
        UnknownFrameError: it has none of that name.
    """
    frame = context.frame_name(frame_id)
    if frame not in robot.frame_names:
        raise UnknownFrameError(argument, frame_id, robot.frame_names)
    return frame


def check_count(robot: Robot, count: int, argument: str) -> None:
    """Refuse requests for more frames than there are: the outputs would wait for the answer.

    Raises:
        InvalidArgumentError: so many cannot all differ.
    """
    most = len(robot.frame_names)
    if count > most:
        raise InvalidArgumentError(argument, f'{count} frames', f'at most the {most} of the robot')


def _required(values: Array | None, what: str) -> Array:
    if values is None:
        raise NoStateError(f'the latest joint state has no {what} of some joints')
    return values


def _checked(state: JointState, buffer: StateBuffer, argument: str) -> tuple[str, ...]:
    """The joints with a coordinate of their own that the state names."""
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


def _base_given(buffer: StateBuffer, state: JointState, pose: Pose, twist: Twist | None) -> bool:
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


def _fill(
    robot: Robot, named: Sequence[str], state: JointState, q: Array, v: Array, effort: Array
) -> None:
    column = {name: i for i, name in enumerate(state.name)}
    for name in named:
        i, q_i, v_i = column[name], robot.joint_q_indices[name], robot.joint_v_indices[name]
        q[q_i] = state.position[i]
        v[v_i] = state.velocity[i] if state.velocity else 0.0
        effort[v_i] = state.effort[i] if state.effort else 0.0
