# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""control_msgs/DynamicJointState as joint states: what ros2_control tells of every joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.wire.cdr import MalformedMessageError

TOPIC = 'dynamic_joint_states'
QUANTITIES = ('position', 'velocity', 'effort')


def message_type() -> Any:
    """control_msgs/DynamicJointState.

    Raises:
        InvalidArgumentError: control_msgs is not installed.
    """
    try:
        from control_msgs.msg import DynamicJointState
    except ImportError:
        raise InvalidArgumentError(
            'joint_state_topic', 'control_msgs is not installed', "'joint_states' without it"
        ) from None
    return DynamicJointState


def dynamic_joint_values(message: Any) -> JointValues:
    """What a message says of the joints that have a position; NaN where one lacks another quantity.

    Raises:
        MalformedMessageError: it has not as many values as names.
    """
    joints = list(zip(message.joint_names, message.interface_values, strict=False))
    if len(message.joint_names) != len(message.interface_values) or any(
        len(told.interface_names) != len(told.values) for _, told in joints
    ):
        raise MalformedMessageError('not as many values as names')
    told = [
        (name, dict(zip(values.interface_names, values.values, strict=True)))
        for name, values in joints
    ]
    told = [(name, values) for name, values in told if 'position' in values]
    position, velocity, effort = (
        np.array([values.get(quantity, np.nan) for _, values in told]) for quantity in QUANTITIES
    )
    stamp = message.header.stamp
    names = tuple(name for name, _ in told)
    return JointValues(stamp.sec, stamp.nanosec, names, position, velocity, effort)
