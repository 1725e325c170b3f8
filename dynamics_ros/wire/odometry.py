# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reads serialized odometry directly; creates a message object only for unknown layouts.

Because of the two covariances, creating a message object would cost more than all further
processing. The layout is as in ``cdr``: stamp, two strings, and 85 consecutive float64.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import NamedTuple

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.serialization import serialize_message

from dynamics_ros.estimation.samples.reports import OdometryValues, PoseValues

from .cdr import ENCAPSULATION, MAX_SURPLUS, STAMP_END, MalformedMessageError, Scanner, deserialized
from .conversions import odometry_values
from .fallbacks import Fallback, forced

NUMBERS, TWIST_END = 85, 49
"""Count of numbers: pose (7), its covariance (36), twist (6), its covariance (36); and the count up
to the end of the twist."""


class _Layout(NamedTuple):
    """Layout of serialized odometry with certain frames.

    Attributes:
        head: bytes of the encapsulation.
        names: bytes between stamp and numbers.
        size: size of the message [bytes].
        stamp: struct that reads the stamp.
        number: data type of the numbers.
        frame_id, child_frame_id: names of the frames.
    """

    head: bytes
    names: bytes
    size: int
    stamp: struct.Struct
    number: np.dtype[np.float64]
    frame_id: str
    child_frame_id: str

    def numbers(self, data: bytes) -> tuple[PoseValues, tuple[float, ...]]:
        """Return pose and twist of a message."""
        begin = STAMP_END + len(self.names)
        x, y, z, *others = np.frombuffer(data, self.number, TWIST_END, begin).tolist()
        a, b, c, d = others[:4]
        return PoseValues((x, y, z), (a, b, c, d)), tuple(others[-6:])


class OdometryReader:
    """Reader of serialized odometry, which caches the layout of the last message."""

    def __init__(self) -> None:
        self._layout: _Layout | None = None

    def read(self, data: bytes) -> OdometryValues:
        """Read an odometry message.

        Raises:
            MalformedMessageError: the bytes are not odometry.
        """
        layout = self._layout
        if layout is None or not (
            len(data) == layout.size
            and data[:ENCAPSULATION] == layout.head
            and data[STAMP_END : STAMP_END + len(layout.names)] == layout.names
        ):
            scanner = Scanner.of(data) if can_read_bytes() else None
            if scanner is None:
                return odometry_values(deserialized(data, Odometry))
            layout = self._layout = _scan_layout(scanner)
        seconds, nanoseconds = layout.stamp.unpack_from(data, ENCAPSULATION)
        pose, twist = layout.numbers(data)
        frames = layout.frame_id, layout.child_frame_id
        return OdometryValues(seconds, nanoseconds, *frames, pose, twist)


def _scan_layout(scanner: Scanner) -> _Layout:
    data = bytes(scanner.data)
    scanner.skip(STAMP_END - ENCAPSULATION)
    frames = scanner.string(), scanner.string()
    scanner.align(8)
    begin = scanner.skip(8 * NUMBERS)
    if len(data) - scanner.at > MAX_SURPLUS:
        raise MalformedMessageError(f'{len(data) - scanner.at} bytes too many')
    order = scanner.order
    return _Layout(
        *(data[:ENCAPSULATION], data[STAMP_END:begin], len(data)),
        *(struct.Struct(f'{order}iI'), np.dtype(f'{order}f8')),
        *frames,
    )


@cache
def can_read_bytes() -> bool:
    """Return whether the middleware serializes odometry with the known layout."""
    if forced(Fallback.MESSAGES):
        return False
    message = Odometry(child_frame_id='abc')
    message.header.frame_id = 'map'
    message.pose.pose.position.y, message.twist.twist.angular.z = 1.0, 2.0
    data = serialize_message(message)
    scanner = Scanner.of(data)
    try:
        layout = None if scanner is None else _scan_layout(scanner)
    except MalformedMessageError:
        return False
    if layout is None:
        return False
    known = odometry_values(message)
    return layout.numbers(data) == (known.pose, known.twist)
