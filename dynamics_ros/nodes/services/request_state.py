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
    """Frame name to the sum of the wrenches (6) given for it, in that frame."""
    wrenches: dict[str, Array] = {}
    for i, message in enumerate(messages):
        frame = required_frame(context, robot, message.header.frame_id, f'external_wrenches[{i}]')
        wrench = wrench_array(message.wrench, f'external_wrenches[{i}].wrench')
        wrenches[frame] = wrenches[frame] + wrench if frame in wrenches else wrench
    # One order for one set of frames, so that it is compiled once.
    return dict(sorted(wrenches.items()))


def required_frame(context: RobotContext, robot: Robot, frame_id: str, argument: str) -> str:
    """The frame of the model that a request names.

    Raises:
        UnknownFrameError: it has none of that name.
    """
    frame = context.names.inside(frame_id)
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
