# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry is read from bytes as from a message object, and never beyond their end."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from message_values import odometry_values
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message

from dynamics_ros.wire.cdr import MalformedMessageError, OdometryReader


def odometry(frame: str = 'map', child: str = 'base', seed: int = 0) -> Odometry:
    rng = np.random.default_rng(seed)
    message = Odometry(child_frame_id=child)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = 12 + seed, 345
    p, o, twist = message.pose.pose.position, message.pose.pose.orientation, message.twist.twist
    p.x, p.y, p.z, o.x, o.y, o.z, o.w = rng.normal(size=7).tolist()
    for part in (twist.linear, twist.angular):
        part.x, part.y, part.z = rng.normal(size=3).tolist()
    message.pose.covariance, message.twist.covariance = rng.normal(size=(2, 36))
    return message


def test_odometry_is_read_from_bytes_as_from_an_object():
    reader = OdometryReader()
    for seed, frame in enumerate(('', 'b', 'map', 'map', 'odom_frame')):
        for child in ('', 'base', 'a_long/name', 'ü'):
            for message in (odometry(frame, child, seed), odometry(frame, child, seed + 9)):
                assert reader.read(serialize_message(message)) == odometry_values(message)


@pytest.mark.parametrize('known', [False, True])
def test_bytes_that_are_no_odometry_are_refused(known):
    data, reader = serialize_message(odometry()), OdometryReader()
    endless = data[:12] + b'\xff' * 40
    for broken in (*(data[:size] for size in range(0, len(data), 7)), endless, data + bytes(100)):
        if known:
            reader.read(data)
        with pytest.raises(MalformedMessageError):
            reader.read(broken)
