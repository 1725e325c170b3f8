# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""State of a service request: given, the latest one, or given in part and completed by that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Twist, WrenchStamped
from sensor_msgs.msg import JointState

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.nodes.reporting.results import NoStateError
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.robot import Robot
from dynamics_ros.wire.conversions import (
    Array,
    pose_values,
    time_message,
    twist_array,
    wrench_array,
)
from dynamics_ros.wire.requests import base_is_given, fill_in, named_joints


@dataclass(frozen=True)
class RequestedState:
    """State of a request.

    Attributes:
        robot: the current robot when the request was read.
        stamp: stamp of the latest state if that was used, otherwise of the request.
        q: configuration (nq).
        velocity, effort: (nv); None if neither the request nor the latest state has them.
        names: joints that the request names; empty for the latest state.
    """

    robot: Robot
    stamp: Time
    q: Array
    velocity: Array | None
    effort: Array | None
    names: tuple[str, ...]

    def required_velocity(self) -> Array:
        """Return the velocity (nv).

        Raises:
            NoStateError: it is not known.
        """
        return _required(self.velocity, 'velocity')

    def required_effort(self) -> Array:
        """Return the effort (nv).

        Raises:
            NoStateError: it is not known.
        """
        return _required(self.effort, 'effort')


def requested_state(
    context: RobotContext,
    state: JointState,
    base_pose: Pose,
    base_twist: Twist | None = None,
    argument: str = 'state',
) -> RequestedState:
    """Return the state of a request, completed by the latest state.

    An empty ``state`` means the latest state. Joints that it does not name have their latest
    values; velocities and efforts that it does not give are zero. A base pose with a zero
    quaternion, or the default pose together with an empty state, means that of the latest odometry,
    or the identity without odometry.

    Args:
        context: context of the robot.
        state: joint state of the request.
        base_pose, base_twist: pose and twist of the base in the request.
        argument: name of the joint state in the request, for errors.

    Raises:
        DynamicsRosError: the request is invalid, or needs the latest state and there is none.
    """
    robot = context.required_robot()
    assert context.buffer is not None
    named = named_joints(state, context.buffer, argument)
    base_given = base_is_given(context.buffer, state, base_pose, base_twist)
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
    fill_in(robot, named, state, q, v, effort)
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


def external_wrenches(
    context: RobotContext, robot: Robot, messages: Sequence[WrenchStamped]
) -> dict[str, Array]:
    """Return the sum of the given wrenches (6) for each frame, expressed in and at that frame."""
    wrenches: dict[str, Array] = {}
    for i, message in enumerate(messages):
        frame = required_frame(context, robot, message.header.frame_id, f'external_wrenches[{i}]')
        wrench = wrench_array(message.wrench, f'external_wrenches[{i}].wrench')
        wrenches[frame] = wrenches[frame] + wrench if frame in wrenches else wrench
    # Sorted, so that each set of frames needs only one kernel.
    return dict(sorted(wrenches.items()))


def required_frame(context: RobotContext, robot: Robot, frame_id: str, argument: str) -> str:
    """Return the name in the model of a frame in a request.

    Raises:
        UnknownFrameError: the model has no such frame.
    """
    frame = context.names.frame_of(frame_id)
    if frame not in robot.frame_names:
        raise UnknownFrameError(argument, frame_id, robot.frame_names)
    return frame


def check_count(robot: Robot, count: int, argument: str) -> None:
    """Check the number of frames in a request, since a long request would delay the outputs.

    Raises:
        InvalidArgumentError: there are more frames than the robot has.
    """
    max_count = len(robot.frame_names)
    if count > max_count:
        raise InvalidArgumentError(
            argument, f'{count} frames', f'at most the {max_count} of the robot'
        )


def _required(values: Array | None, quantity: str) -> Array:
    if values is None:
        raise NoStateError(f'the latest joint state has no {quantity} of some joints')
    return values
