# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Creation of services whose responses have a ``dynamics_ros_msgs/Result``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from dynamics_ros.nodes.reporting.results import success
from dynamics_ros_msgs.msg import Result

# All clients share one history. With the default depth of ten, requests are lost once a few clients
# call at the same time, and so are responses to a client on a busy machine.
SERVICE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)

Handler = Callable[[Any, Any], Awaitable[None]]


def serve(node: Node, kind: Any, name: str, handler: Handler) -> None:
    """Create a service whose response has a field ``result``.

    Args:
        node: the node; a ``GuardedNode`` turns errors of the handler into responses.
        kind: service type.
        name: service name.
        handler: coroutine function that fills the response, or raises an error. If it does not set
            ``response.result``, the result is a success.
    """

    async def answer(request: Any, response: Any) -> Any:
        await handler(request, response)
        if response.result.code == Result.FAILURE and not response.result.message:
            response.result = success()
        return response

    node.create_service(kind, name, answer, qos_profile=SERVICE_QOS)
