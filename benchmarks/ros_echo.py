# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lower bound of rclpy: the messages of our nodes without computation.

Run as a program: `python -m benchmarks.ros_echo FOLDER`, where FOLDER contains a captured message
of each topic, and the messages that ``ros_source`` publishes. Every state is answered with all
messages after the last publisher has sent its part, and with messages of slow topics as rarely as
our nodes publish them. One message gets the first stamp of the state, so that it can be timed.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import rclpy
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from benchmarks.ros_meter import type_of
from benchmarks.ros_source import STAMP_OFFSET, TURN
from dynamics_ros.nodes.inputs import JOINT_STATE_QOS, ODOMETRY_QOS
from dynamics_ros.nodes.process import dispose, make_executor, spin

STAMP_END = STAMP_OFFSET + 8

SELDOM = 50
"""Number of states per message of a slow topic: 20 Hz at 1 kHz, as for markers."""

CAPTURED = 'topics.json'


def build(folder: Path) -> Node:
    """A node that answers each state."""
    node = Node('benchmark_echo')
    every, seldom, timed = [], [], None
    for entry in json.loads((folder / CAPTURED).read_text()):
        kind = type_of(entry['type'])
        publish = node.create_publisher(kind, entry['topic'], QoSProfile(depth=10)).publish
        message = (folder / entry['file']).read_bytes()
        if entry['timed']:
            timed = (publish, message[:STAMP_OFFSET], message[STAMP_END:])
        elif entry['every']:
            every.append((publish, message))
        else:
            seldom.append((publish, message))
    assert timed is not None
    publish_timed, head, tail = timed
    turn = json.loads((folder / TURN).read_text())
    parts, heard, count = len(turn), 0, 0
    stamp = b''

    def answer(data: bytes) -> None:
        nonlocal count, heard, stamp
        if heard == 0:
            stamp = data[STAMP_OFFSET:STAMP_END]
        heard += 1
        if heard < parts:
            return
        heard = 0
        count += 1
        for publish, message in every:
            publish(message)
        if count % SELDOM == 0:
            for publish, message in seldom:
                publish(message)
        publish_timed(head + stamp + tail)

    node.create_subscription(JointState, 'joint_states', answer, JOINT_STATE_QOS, raw=True)
    if any(entry['topic'] == 'odom' for part in turn for entry in part):
        node.create_subscription(Odometry, 'odom', lambda _: None, ODOMETRY_QOS, raw=True)
    return node


if __name__ == '__main__':
    rclpy.init(args=sys.argv)
    echo, executor = build(Path(sys.argv[1])), make_executor()
    executor.add_node(echo)
    gc.collect()
    gc.freeze()
    spin(executor, echo)
    dispose(executor, [echo])
