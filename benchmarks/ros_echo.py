"""The floor of rclpy: as many messages of the same types as our nodes publish, nothing computed.

Run as a program: `python -m benchmarks.ros_echo FOLDER`, where FOLDER holds what was captured of
each topic. Every joint state is answered with all messages, those of the slow topics as seldom as
our nodes publish them. One message gets the stamp of the joint state, so that it can be timed.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from benchmarks.ros_meter import type_of
from benchmarks.ros_source import STAMP_OFFSET
from dynamics_ros.nodes.app.executor import dispose, make_executor, spin
from dynamics_ros.nodes.input.joint_state_input import JOINT_STATE_QOS

STAMP_END = STAMP_OFFSET + 8

SELDOM = 50
"""Joint states: 20 Hz at 1 kHz, as markers are."""


def build(folder: Path) -> Node:
    """A node that answers each joint state."""
    node = Node('benchmark_echo')
    every, seldom, timed = [], [], None
    for entry in json.loads((folder / 'topics.json').read_text()):
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
    count = 0

    def answer(data: bytes) -> None:
        nonlocal count
        count += 1
        for publish, message in every:
            publish(message)
        if count % SELDOM == 0:
            for publish, message in seldom:
                publish(message)
        publish_timed(head + data[STAMP_OFFSET:STAMP_END] + tail)

    node.create_subscription(JointState, 'joint_states', answer, JOINT_STATE_QOS, raw=True)
    return node


if __name__ == '__main__':
    rclpy.init(args=sys.argv)
    echo, executor = build(Path(sys.argv[1])), make_executor()
    executor.add_node(echo)
    gc.collect()
    gc.freeze()
    spin(executor, echo)
    dispose(executor, [echo])
