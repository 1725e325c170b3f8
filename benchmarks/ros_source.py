"""Publishes joint states at a steady rate: serialised once, only the stamp changes.

Run as a program: `python -m benchmarks.ros_source FILE RATE SECONDS [STAMPS]`, where FILE holds the
bytes of a joint state; into the file STAMPS all stamps are written, eight bytes each. The stamp of
each message is the monotonic clock [ns] when it was sent. Prints `begin` and, with the number of
messages and the first and last stamp, `end` of the measured time, which begins after a second of
warm-up.
"""

from __future__ import annotations

import gc
import struct
import sys
import time
from array import array
from pathlib import Path

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

WARM_UP = 1.0
"""Seconds of messages that are not measured."""

QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)

STAMP = struct.Struct('=iI')
STAMP_OFFSET = 4
"""Of the stamp in the bytes of a message that begins with a header."""

MISSED = 0.5
"""Seconds behind the plan after which it is not made up for."""


def main(file: str, rate: float, seconds: float, stamps: str = '') -> None:
    """Publish; late messages are sent at once, so that the mean rate holds."""
    message = bytearray(Path(file).read_bytes())
    rclpy.init(args=sys.argv)
    node = Node('benchmark_source')
    publisher = node.create_publisher(JointState, 'joint_states', QOS)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    gc.collect()
    gc.freeze()
    publish, clock = publisher.publish, time.monotonic_ns
    sent = array('q')

    def send(count: int) -> tuple[int, int]:
        due, first, now = clock(), 0, 0
        period = round(1e9 / rate)
        for _ in range(count):
            due += period
            wait = due - clock()
            if wait > 0:
                time.sleep(wait * 1e-9)
            elif wait < -MISSED * 1e9:
                due = clock()
            now = clock()
            STAMP.pack_into(message, STAMP_OFFSET, now // 10**9, now % 10**9)
            publish(bytes(message))
            sent.append(now)
            first = first or now
        return first, now

    send(round(WARM_UP * rate))
    print('begin', flush=True)
    sent = array('q')
    count = round(seconds * rate)
    first, last = send(count)
    if stamps:
        Path(stamps).write_bytes(sent.tobytes())
    print(f'end {count} {first} {last}', flush=True)
    # What has been sent may still be on its way: the participant stays until it is told to end.
    sys.stdin.readline()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    given = sys.argv[4:5] if not sys.argv[4].startswith('-') else ()
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *given)
