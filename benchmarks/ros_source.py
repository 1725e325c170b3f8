# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishes robot states at a steady rate: serialised once, with updated stamps.

Run as a program: `python -m benchmarks.ros_source FOLDER RATE SECONDS [STAMPS]`, where FOLDER
contains the output of ``write_turn``, the messages of one state by publishers, and optionally that
of ``write_counters``, if two joints encode the number of each state. Publishers send one after
another, each ``LAG`` of the period later. A stamp is the monotonic clock [ns] at sending. The file
STAMPS gets the first stamp of each state, eight bytes each, including the warm-up. After one second
of warm-up, the program prints `begin`, and at the end `end` with the number of states and their
first and last stamps.
"""

from __future__ import annotations

import gc
import json
import math
import struct
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

WARM_UP = 1.0
"""Duration of the warm-up, which is not measured [s]."""

QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)

STAMP = struct.Struct('=iI')
STAMP_OFFSET = 4
"""Offset of the stamp in a serialised message that begins with a header [bytes]."""

MISSED = 0.5
"""Delay from which the schedule restarts instead of catching up [s]."""

LAG = 0.3
"""Lag of a publisher as a share of the period. With a half, the order of stamps would be
ambiguous."""

TURN = 'turn.json'

COUNTERS = 'counters.json'

CYCLE, SWING = 1000, 0.1
"""Number of states in a cycle of the counters; amplitude of the two counting joints [rad]."""

_MARKS = 1.25e-300, 1.75e-300, 2.25e-300, 2.75e-300
"""Two positions and two velocities that no other number of a message is equal to."""


def write_turn(folder: Path, parts: Sequence[Sequence[tuple[str, Any]]]) -> None:
    """Write the messages that ``main`` publishes in each period.

    Args:
        folder: folder for the files.
        parts: topics and messages of each publisher, which share one stamp.
    """
    folder.mkdir(exist_ok=True)
    kinds = {'JointState': 'sensor_msgs/JointState', 'Odometry': 'nav_msgs/Odometry'}
    turn = []
    for i, part in enumerate(parts):
        entries = []
        for topic, message in part:
            file = f'{topic}{i}'
            (folder / file).write_bytes(serialize_message(message))
            entries.append({'topic': topic, 'type': kinds[type(message).__name__], 'file': file})
        turn.append(entries)
    (folder / TURN).write_text(json.dumps(turn))


def write_counters(folder: Path, message: Any, names: Sequence[str]) -> None:
    """Make ``main`` encode the number of each state in two joints of one of its messages.

    Args:
        folder: folder of ``write_turn``.
        message: joint states, the first message of the first part.
        names: of the joints, whose positions are the cosine and the sine of the number; their
            velocities are those of such a motion.
    """
    indices = [list(message.name).index(name) for name in names]
    for index, position, velocity in zip(indices, _MARKS[:2], _MARKS[2:], strict=True):
        message.position[index], message.velocity[index] = position, velocity
    data = serialize_message(message)
    (folder / COUNTERS).write_text(json.dumps([data.index(struct.pack('=d', m)) for m in _MARKS]))


def _counters(number: int, rate: float) -> tuple[float, float, float, float]:
    """Positions and velocities of the two joints that tell the number of a state at a rate [Hz]."""
    turn = 2.0 * math.pi / CYCLE
    cosine, sine = SWING * math.cos(turn * number), SWING * math.sin(turn * number)
    return cosine, sine, -turn * rate * sine, turn * rate * cosine


def number_of(cosine: float, sine: float) -> int:
    """Number of a state in its cycle, from two values proportional to its counters."""
    return round(math.atan2(sine, cosine) / (2.0 * math.pi) * CYCLE) % CYCLE


def main(folder: Path, rate: float, seconds: float, stamps: str = '') -> None:
    """Publish states; late messages are sent at once, which preserves the mean rate."""
    from benchmarks.ros_meter import type_of

    rclpy.init(args=sys.argv)
    node = Node('benchmark_source')
    parts = []
    for entries in json.loads((folder / TURN).read_text()):
        part = []
        for entry in entries:
            # A separate publisher for each part.
            publisher = node.create_publisher(type_of(entry['type']), entry['topic'], QOS)
            while not publisher.get_subscription_count():
                time.sleep(0.01)
            part.append((publisher.publish, bytearray((folder / entry['file']).read_bytes())))
        parts.append(part)
    places = json.loads((folder / COUNTERS).read_text()) if (folder / COUNTERS).exists() else []
    gc.collect()
    gc.freeze()
    clock = time.monotonic_ns
    sent = array('q')

    def send(count: int) -> tuple[int, int]:
        due, first, last = clock(), 0, 0
        period = round(1e9 / rate)
        lag = round(LAG * period)
        for _ in range(count):
            due += period - lag * len(parts)
            for i, part in enumerate(parts):
                due += lag
                wait = due - clock()
                if wait > 0:
                    time.sleep(wait * 1e-9)
                elif wait < -MISSED * 1e9:
                    due = clock()
                if places and i == 0:
                    for place, value in zip(places, _counters(len(sent), rate), strict=True):
                        struct.pack_into('=d', part[0][1], place, value)
                now = clock()
                for publish, message in part:
                    STAMP.pack_into(message, STAMP_OFFSET, now // 10**9, now % 10**9)
                    publish(bytes(message))
                if i == 0:
                    sent.append(now)
                    first = first or now
                    last = now
        return first, last

    send(round(WARM_UP * rate))
    print('begin', flush=True)
    count = round(seconds * rate)
    first, last = send(count)
    if stamps:
        Path(stamps).write_bytes(sent.tobytes())
    print(f'end {count} {first} {last}', flush=True)
    # Messages may still be in transit, so the participant stays until it is told to end.
    sys.stdin.readline()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    given = sys.argv[4:5] if not sys.argv[4].startswith('-') else ()
    main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), *given)
