# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All uses of private API of rclpy; each function has a fallback with public API.

Works with rclpy 7.1.6 (Jazzy) and 9.1.2 (Kilted). The fallback is used if another version lacks
the private API, or if ``Fallback.RCLPY`` is forced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.event_handler import QoSSubscriptionEventType, UnsupportedEventTypeError
from rclpy.impl import implementation_singleton, rcutils_logger
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription

from dynamics_ros.wire.fallbacks import Fallback, forced

_rclpy: Any = getattr(implementation_singleton, 'rclpy_implementation', None)

RCL_ERROR: type[Exception] = getattr(_rclpy, 'RCLError', RuntimeError)
"""Error of the middleware when it refuses to create an entity; fallback: its base class."""


def bytes_publisher(publisher: Publisher[Any]) -> Callable[[bytes], None]:
    """Return a function that publishes serialized messages; fallback: ``publisher.publish``.

    ``publish`` checks the type of the message first, which takes 2 us, as long as publishing
    itself. Each joint state leads to a dozen messages.
    """
    raw = None if forced(Fallback.RCLPY) else getattr(publisher.handle, 'publish_raw', None)
    return publisher.publish if raw is None else raw


def given_parameters(node: Node) -> dict[str, Parameter[Any]]:
    """Return the parameters that the command line and files give a node, declared or not.

    The public API offers only to declare all of them. Fallback: none, so that misspelt parameters
    are not detected.
    """
    return {} if forced(Fallback.RCLPY) else getattr(node, '_parameter_overrides', {})


def take_waiting(
    subscription: Subscription[Any], limit: int
) -> list[tuple[Any, Mapping[str, Any]]]:
    """Take at most ``limit`` waiting messages out of the queue of a subscription.

    Returns each message with its information from the middleware. The executor delivers one message
    at a time, and tolerates that others have been taken. Fallback: no message is taken, so that the
    executor delivers each, and none is skipped in favour of newer ones.
    """
    handle = subscription.handle
    if forced(Fallback.RCLPY) or not hasattr(handle, 'take_message'):
        return []
    messages: list[tuple[Any, Mapping[str, Any]]] = []
    with handle:
        while len(messages) < limit:
            taken = handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                break
            messages.append(taken)
    return messages


def lost_messages(subscription: Subscription[Any]) -> int:
    """Return the middleware's count of messages that were lost before the queue.

    rclpy has a callback for this, which the events executor does not call. Fallback: 0.
    """
    if forced(Fallback.RCLPY) or not hasattr(_rclpy, 'EventHandle'):
        return 0
    kind = QoSSubscriptionEventType.RCL_SUBSCRIPTION_MESSAGE_LOST
    try:
        # Created for each call: a permanent one would keep the participant and its shared memory.
        with subscription.handle:
            event = _rclpy.EventHandle(subscription.handle, kind)
    except UnsupportedEventTypeError:
        return 0
    with event:
        status = event.take_event()
    event.destroy_when_not_in_use()
    return int(status.total_count)


def release_state_machine(node: Node) -> None:
    """Release the state machine of a managed node that has been destroyed.

    ``destroy_node`` keeps the state machine, which references the node and thereby the participant
    in the middleware. Fallback: it lives until the node is garbage-collected.
    """
    if not forced(Fallback.RCLPY):
        vars(node).pop('_state_machine', None)


def log_for_callers_of(file: str) -> bool:
    """Make rclpy's loggers attribute messages to the callers of a file; return whether they do.

    A logger identifies the calling line as the first one outside of a list of files, to which the
    file is added. Fallback: no effect, and filters such as ``once`` cannot be used.
    """
    callers = getattr(rcutils_logger, '_internal_callers', None)
    if callers is None or forced(Fallback.RCLPY):
        return False
    if file not in callers:
        callers.append(file)
    return True
