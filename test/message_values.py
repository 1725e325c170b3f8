# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Values of message objects, which reading their bytes has to give as well."""

from __future__ import annotations

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from dynamics_ros.estimation.samples.reports import JointValues, OdometryValues
from dynamics_ros.wire.conversions import float_array, pose_values, raw_numbers


def joint_values(message: JointState) -> JointValues:
    """Values of a joint state, unchecked."""
    stamp = message.header.stamp
    numbers = map(float_array, (message.position, message.velocity, message.effort))
    return JointValues(stamp.sec, stamp.nanosec, tuple(message.name), *numbers)


def odometry_values(message: Odometry) -> OdometryValues:
    """Values of an odometry message, unchecked."""
    stamp, frames = message.header.stamp, (message.header.frame_id, message.child_frame_id)
    pose, twist = pose_values(message.pose.pose), raw_numbers(message.twist.twist)
    return OdometryValues(stamp.sec, stamp.nanosec, *frames, pose, twist)
