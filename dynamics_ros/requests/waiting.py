# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node waits for before its first state, as text."""

from __future__ import annotations

from collections.abc import Callable

from dynamics_ros.estimation.samples.doubts import unknown_joints
from dynamics_ros.estimation.samples.state_buffer import ODOMETRY, StateBuffer

IMMOBILE = 'the robot has no joint that moves, so that no joint state is about it'


def is_immobile(buffer: StateBuffer) -> bool:
    """Whether a robot has no moving joint and no moving base, so it needs no joint state."""
    return not (buffer.missing() or buffer.robot.nv)


def waiting_for(
    buffer: StateBuffer, topic: str, received_any: bool, describe: Callable[[str], str]
) -> str:
    """Return a message that says what is missing for a first state and who publishes it.

    Args:
        buffer: latest data of the robot's joints.
        topic: topic of the joint states.
        received_any: whether any joint state has arrived, for whatever robot.
        describe: returns a description of the publishers of a topic.
    """
    if buffer.unreachable:
        names = ', '.join(buffer.unreachable)
        return f'joints of several coordinates do not come by joint_states; lock them: {names}'
    if is_immobile(buffer):
        return IMMOBILE
    missing = buffer.missing()
    if not missing:
        return 'the next joint state'
    reasons = []
    if any(name != ODOMETRY for name in missing):
        reason = 'messages so far lack their positions' if received_any else 'no message so far'
        if unknown := unknown_joints(buffer.robot, buffer):
            reason = f'{reason}; {unknown}'
        reasons.append(f'{describe(topic)}, {reason}')
    if ODOMETRY in missing:
        reasons.append(describe('odom'))
    return f'waiting for {", ".join(missing)}: {"; ".join(reasons)}'
