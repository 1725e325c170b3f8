# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading of joint states of a topic: from bytes if their layout is known, else from objects.

The topic ``dynamic_joint_states`` of ros2_control has messages control_msgs/DynamicJointState.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from dynamics_ros.estimation.samples.reports import JointValues

from .cdr import JointStateReader, MalformedMessageError, deserialized
from .conversions import joint_values
from .fallbacks import Fallback, forced
from .optional_messages import message_type

_log = logging.getLogger('dynamics_ros.nodes')

TOPIC = 'dynamic_joint_states'
QUANTITIES = ('position', 'velocity', 'effort')


def reader_for(topic: str) -> tuple[Any, Callable[[bytes], JointValues]]:
    """Return the message type of a topic, and a function that reads serialized messages.

    Args:
        topic: ``joint_states``, or ``dynamic_joint_states`` of ros2_control.

    Raises:
        InvalidArgumentError: control_msgs is needed and not installed.
    """
    if topic == TOPIC:
        name, otherwise = 'control_msgs/msg/DynamicJointState', "'joint_states' without it"
        kind = message_type(name, 'joint_state_topic', otherwise)
        return kind, _by_message(kind, dynamic_joint_values)
    read = JointStateReader().read
    return JointState, read if can_read_bytes() else _by_message(JointState, joint_values)


def dynamic_joint_values(message: Any) -> JointValues:
    """Return the values of the joints with a position; NaN for a missing velocity or effort.

    Raises:
        MalformedMessageError: the numbers of names and values differ.
    """
    joints = list(zip(message.joint_names, message.interface_values, strict=False))
    if len(message.joint_names) != len(message.interface_values) or any(
        len(values.interface_names) != len(values.values) for _, values in joints
    ):
        raise MalformedMessageError('not as many values as names')
    by_name = [
        (name, dict(zip(values.interface_names, values.values, strict=True)))
        for name, values in joints
    ]
    by_name = [(name, values) for name, values in by_name if 'position' in values]
    position, velocity, effort = (
        np.array([values.get(quantity, np.nan) for _, values in by_name]) for quantity in QUANTITIES
    )
    stamp = message.header.stamp
    names = tuple(name for name, _ in by_name)
    return JointValues(stamp.sec, stamp.nanosec, names, position, velocity, effort)


def _by_message(kind: Any, values: Callable[[Any], JointValues]) -> Callable[[bytes], JointValues]:
    return lambda data: values(deserialized(data, kind))


@cache
def can_read_bytes() -> bool:
    """Return whether the middleware serializes joint states with the layout known to ``cdr``."""
    known = not forced(Fallback.MESSAGES) and _knows_layout()
    if not known:
        _log.warning('joint states are read as message objects, which is slower')
    return known


def _knows_layout() -> bool:
    message = JointState(name=['a', 'bcd'], position=[1.0, 2.0], effort=[3.0, 4.0])
    message.header.stamp.sec, message.header.stamp.nanosec = 5, 6
    message.header.frame_id = 'base'
    try:
        read = JointStateReader().read(serialize_message(message))
        return read[:3] == (5, 6, ('a', 'bcd')) and all(
            np.array_equal(a, b) for a, b in zip(read[3:6], joint_values(message)[3:6], strict=True)
        )
    except MalformedMessageError:
        return False
