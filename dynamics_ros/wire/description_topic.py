# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The robot description that a running robot publishes, for command line tools."""

from __future__ import annotations

import os

import rclpy
from rclpy.exceptions import InvalidTopicNameException
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import String

from dynamics_ros.errors import ModelError

TOPIC_WAIT = 10.0
"""Longest wait for a description on a topic [s]."""


def published_description(name: str) -> str:
    """Return the robot description that is published on a topic.

    Raises:
        ModelError: nothing is published within ``TOPIC_WAIT``.
    """
    context = rclpy.Context()
    rclpy.init(context=context)
    try:
        node = rclpy.create_node(f'_description_{os.getpid()}', context=context)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        found, message = wait_for_message(
            String, node, name, qos_profile=latched, time_to_wait=TOPIC_WAIT
        )
        node.destroy_node()
    except InvalidTopicNameException as error:
        raise ModelError(f'topic {name!r}', str(error).splitlines()[0]) from None
    finally:
        rclpy.try_shutdown(context=context)
    if not found:
        reason = f'no description within {TOPIC_WAIT:g} s; compare the name and ROS_DOMAIN_ID'
        raise ModelError(f'topic {name!r}', reason)
    return str(message.data)
