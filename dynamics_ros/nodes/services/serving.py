# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Services whose responses have a ``dynamics_ros_msgs/Result``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from dynamics_ros.nodes.reporting.results import success
from dynamics_ros_msgs.msg import Result

# The usual depth of ten loses requests, and responses to a client that a busy machine holds up,
# once a few clients call at a time: all of them share one history.
SERVICE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)

Handler = Callable[[Any, Any], Awaitable[None]]


def serve(node: Node, kind: Any, name: str, handler: Handler) -> None:
    """Offer a service whose response has a field ``result``.

    Args:
        node: the node; a ``GuardedNode`` answers what the handler raises.
        kind: service type.
        name: service name.
        handler: coroutine function that fills the response it is given, or raises. What it
            leaves in ``response.result`` stays, else the result is a success.
    """

    async def answer(request: Any, response: Any) -> Any:
        await handler(request, response)
        if response.result.code == Result.FAILURE and not response.result.message:
            response.result = success()
        return response

    node.create_service(kind, name, answer, qos_profile=SERVICE_QOS)
