# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""State and wrenches of a service request, for the current robot of a node."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import Pose, Twist, WrenchStamped
from sensor_msgs.msg import JointState

from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.robot import Robot
from dynamics_ros.wire import requests
from dynamics_ros.wire.conversions import Array, wrench_array
from dynamics_ros.wire.requests import RequestedState


def requested_state(
    context: RobotContext,
    state: JointState,
    base_pose: Pose,
    base_twist: Twist | None = None,
    argument: str = 'state',
) -> RequestedState:
    """Return the state of a request; arguments as of ``wire.requests.requested_state``."""
    context.required_robot()
    assert context.buffer is not None
    latest = context.latest_state
    return requests.requested_state(context.buffer, latest, state, base_pose, base_twist, argument)


def external_wrenches(
    context: RobotContext, robot: Robot, messages: Sequence[WrenchStamped]
) -> dict[str, Array]:
    """Return the sum of the given wrenches (6) for each frame, expressed in and at that frame."""
    wrenches: dict[str, Array] = {}
    for i, message in enumerate(messages):
        frame_id, argument = message.header.frame_id, f'external_wrenches[{i}]'
        frame = context.names.required_frame(robot, frame_id, argument)
        wrench = wrench_array(message.wrench, f'{argument}.wrench')
        wrenches[frame] = wrenches[frame] + wrench if frame in wrenches else wrench
    # Sorted, so that each set of frames needs only one kernel.
    return dict(sorted(wrenches.items()))
