# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that uses private API of rclpy, each function with a fallback on public API.

Seen to work with rclpy 7.1.6 (Jazzy) and 9.1.2 (Kilted). Where another version lacks what is used
here, or ``Fallback.RCLPY`` is forced, the fallback is taken.
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
"""Raised where the middleware refuses to make something; its base class is the fallback."""


def bytes_publisher(publisher: Publisher[Any]) -> Callable[[bytes], None]:
    """Function that publishes a serialized message; the fallback is ``publisher.publish``.

    ``publish`` asks for the type of the message first, which takes 2 us, as long as the publishing
    itself. A state is answered with a dozen messages.
    """
    raw = None if forced(Fallback.RCLPY) else getattr(publisher.handle, 'publish_raw', None)
    return publisher.publish if raw is None else raw


def given_parameters(node: Node) -> dict[str, Parameter[Any]]:
    """Values of the command line and of files for a node, whether or not it has such parameters.

    rclpy declares them all or tells none. Fallback: none, so that misspelt ones go unseen.
    """
    return {} if forced(Fallback.RCLPY) else getattr(node, '_parameter_overrides', {})


def take_waiting(
    subscription: Subscription[Any], limit: int
) -> list[tuple[Any, Mapping[str, Any]]]:
    """Take the messages that wait in the queue of a subscription, at most ``limit``.

    Each comes with what the middleware tells about it. The executor hands over one message at a
    time and does not mind that others are gone. Fallback: none are taken, so that each is handed
    over in its turn and none is passed over for newer ones.
    """
    handle = subscription.handle
    if forced(Fallback.RCLPY) or not hasattr(handle, 'take_message'):
        return []
    found: list[tuple[Any, Mapping[str, Any]]] = []
    with handle:
        while len(found) < limit:
            taken = handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                break
            found.append(taken)
    return found


def lost_messages(subscription: Subscription[Any]) -> int:
    """How many messages did not get as far as the queue, as the middleware counts them.

    rclpy has a callback for this, which the events executor does not call. Fallback: 0.
    """
    if forced(Fallback.RCLPY) or not hasattr(_rclpy, 'EventHandle'):
        return 0
    kind = QoSSubscriptionEventType.RCL_SUBSCRIPTION_MESSAGE_LOST
    try:
        # Made anew: one that is kept keeps the participant, and its shared memory, to the end.
        with subscription.handle:
            event = _rclpy.EventHandle(subscription.handle, kind)
    except UnsupportedEventTypeError:
        return 0
    with event:
        status = event.take_event()
    event.destroy_when_not_in_use()
    return int(status.total_count)


def release_state_machine(node: Node) -> None:
    """Let go of the state machine of a managed node that has been destroyed.

    It holds on to the node, and so to the participant in the middleware, which ``destroy_node``
    forgets. Fallback: it is kept until the node is garbage.
    """
    if not forced(Fallback.RCLPY):
        vars(node).pop('_state_machine', None)


def log_for_callers_of(file: str) -> bool:
    """Have rclpy's loggers take the callers of a file for those that log; whether they do.

    A logger tells the line that logs by the first caller outside of a list of files, to which the
    file is added. Fallback: nothing; filters such as ``once`` cannot be used then.
    """
    callers = getattr(rcutils_logger, '_internal_callers', None)
    if callers is None or forced(Fallback.RCLPY):
        return False
    if file not in callers:
        callers.append(file)
    return True
