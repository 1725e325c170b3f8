# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry as numbers: from its bytes, as the middleware carries them, or from a message object.

Its two covariances make a message object of it cost more than all that is done with it. The layout
is that of ``cdr``: stamp, two strings, and 85 float64 in a row.
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
"""Pose (7), its covariance (36), twist (6), its covariance; where the twist ends."""


class _Layout(NamedTuple):
    """Where everything is in odometry of these frames.

    Attributes:
        head: the encapsulation.
        names: the bytes between stamp and numbers.
        size: of the message.
        stamp: reads the stamp.
        number: type of the numbers.
        frame_id, child_frame_id: the frames.
    """

    head: bytes
    names: bytes
    size: int
    stamp: struct.Struct
    number: np.dtype[np.float64]
    frame_id: str
    child_frame_id: str

    def numbers(self, data: bytes) -> tuple[PoseValues, tuple[float, ...]]:
        """Pose and twist of a message."""
        begin = STAMP_END + len(self.names)
        x, y, z, *others = np.frombuffer(data, self.number, TWIST_END, begin).tolist()
        a, b, c, d = others[:4]
        return PoseValues((x, y, z), (a, b, c, d)), tuple(others[-6:])


class OdometryReader:
    """Reads odometry; frames that are those of the last message are not read again."""

    def __init__(self) -> None:
        self._layout: _Layout | None = None

    def read(self, data: bytes) -> OdometryValues:
        """What odometry says.

        Raises:
            MalformedMessageError: it is none.
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
            layout = self._layout = _scanned(scanner)
        seconds, nanoseconds = layout.stamp.unpack_from(data, ENCAPSULATION)
        pose, twist = layout.numbers(data)
        frames = layout.frame_id, layout.child_frame_id
        return OdometryValues(seconds, nanoseconds, *frames, pose, twist)


def _scanned(scanner: Scanner) -> _Layout:
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
    """Whether the middleware lays odometry out as it is read here."""
    if forced(Fallback.MESSAGES):
        return False
    message = Odometry(child_frame_id='abc')
    message.header.frame_id = 'map'
    message.pose.pose.position.y, message.twist.twist.angular.z = 1.0, 2.0
    data = serialize_message(message)
    scanner = Scanner.of(data)
    try:
        layout = None if scanner is None else _scanned(scanner)
    except MalformedMessageError:
        return False
    if layout is None:
        return False
    known = odometry_values(message)
    return layout.numbers(data) == (known.pose, known.twist)
