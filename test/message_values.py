# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Values of message objects, which reading their bytes has to give as well."""

from __future__ import annotations

from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from dynamics_ros.estimation.samples.reports import JointValues, OdometryValues
from dynamics_ros.wire.cdr import by_joint
from dynamics_ros.wire.conversions import float_array, pose_values, raw_numbers


def joint_values(message: JointState) -> JointValues:
    """Return the values of a joint state, unchecked."""
    stamp = message.header.stamp
    return JointValues(
        stamp.sec,
        stamp.nanosec,
        tuple(message.name),
        float_array(message.position),
        float_array(message.velocity),
        float_array(message.effort),
    )


def odometry_values(message: Odometry) -> OdometryValues:
    """Return the values of an odometry message, unchecked."""
    stamp = message.header.stamp
    return OdometryValues(
        stamp.sec,
        stamp.nanosec,
        message.header.frame_id,
        message.child_frame_id,
        pose_values(message.pose.pose),
        tuple(raw_numbers(message.twist.twist)),
    )


def dynamic_joint_values(message: Any) -> JointValues:
    """Return the values of the joints with a position; NaN for a missing velocity or effort.

    Raises:
        MalformedMessageError: the numbers of names and values differ.
    """
    names, columns = by_joint(message, [one.values for one in message.interface_values])
    stamp = message.header.stamp
    return JointValues(stamp.sec, stamp.nanosec, names, *columns)
