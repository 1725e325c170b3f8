# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All uses of private API of rclpy; each function has a fallback with public API.

Works with rclpy 7.1.6 (Jazzy) and 9.1.2 (Kilted). The fallback is used if another version lacks
the private API.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.event_handler import QoSSubscriptionEventType
from rclpy.impl import implementation_singleton, rcutils_logger
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from rclpy.utilities import get_rmw_implementation_identifier

_rclpy: Any = getattr(implementation_singleton, 'rclpy_implementation', None)

RCL_ERROR: type[Exception] = getattr(_rclpy, 'RCLError', RuntimeError)
"""Error of the middleware when it refuses to create an entity; fallback: its base class."""


def bytes_publisher(publisher: Publisher[Any]) -> Callable[[bytes], None]:
    """Return a function that publishes serialized messages; fallback: ``publisher.publish``.

    ``publish`` checks the type of the message first, which takes 2 us, as long as publishing
    itself. Each joint state leads to a dozen messages.
    """
    return getattr(publisher.handle, 'publish_raw', publisher.publish)


def given_parameters(node: Node) -> dict[str, Parameter[Any]]:
    """Return the parameters that the command line and files give a node, declared or not.

    The public API offers only to declare all of them. Fallback: none, so that misspelt parameters
    are not detected.
    """
    return getattr(node, '_parameter_overrides', {})


def take_waiting(subscription: Subscription[Any], limit: int) -> list[Any]:
    """Take at most ``limit`` waiting messages out of the queue of a subscription.

    The executor delivers one message at a time, and tolerates that others have been taken.
    Fallback: no message is taken, so that the executor delivers each, and none is skipped in favour
    of newer ones.
    """
    handle = subscription.handle
    if not hasattr(handle, 'take_message'):
        return []
    messages: list[Any] = []
    with handle:
        while len(messages) < limit:
            taken = handle.take_message(subscription.msg_type, subscription.raw)
            if taken is None:
                break
            messages.append(taken[0])
    return messages


MAX_LOST = 1 << 30
"""A larger count of lost messages is an error of the middleware."""


def lost_messages(subscription: Subscription[Any]) -> int | None:
    """Return how many messages the middleware has lost before the queue; None if it counts none.

    rclpy has a callback for this, which the events executor does not call. Only Fast DDS is known
    to count all losses; others are believed once they have counted one. Fast DDS reports a negative
    count as a huge one when the sequence numbers of a writer jump. Fallback: None.
    """
    if not hasattr(_rclpy, 'EventHandle'):
        return None
    kind, event, status = QoSSubscriptionEventType.RCL_SUBSCRIPTION_MESSAGE_LOST, None, None
    try:
        # Created for each call: a permanent one would keep the participant and its shared memory.
        with subscription.handle:
            event = _rclpy.EventHandle(subscription.handle, kind)
        with event:
            status = event.take_event()
    except Exception:
        return None  # a middleware without this event may refuse to create or to read it
    finally:
        if event is not None:
            event.destroy_when_not_in_use()
    count = 0 if status is None else int(status.total_count)
    counts = count > 0 or get_rmw_implementation_identifier().startswith('rmw_fastrtps')
    return count if counts and count < MAX_LOST else None


def release_state_machine(node: Node) -> None:
    """Release the state machine of a managed node that has been destroyed.

    ``destroy_node`` keeps the state machine, which references the node and thereby the participant
    in the middleware. Fallback: it lives until the node is garbage-collected.
    """
    vars(node).pop('_state_machine', None)


def log_for_callers_of(file: str) -> bool:
    """Make rclpy's loggers attribute messages to the callers of a file; return whether they do.

    A logger identifies the calling line as the first one outside of a list of files, to which the
    file is added. Fallback: no effect, and filters such as ``once`` cannot be used.
    """
    callers = getattr(rcutils_logger, '_internal_callers', None)
    if callers is None:
        return False
    if file not in callers:
        callers.append(file)
    return True


_RESPONSES = (
    ('Service', 'service_send_response', 'librcl.so', 'rcl_send_response'),
    ('ActionServer', 'send_goal_response', 'librcl_action.so', 'rcl_action_send_goal_response'),
    ('ActionServer', 'send_cancel_response', 'librcl_action.so', 'rcl_action_send_cancel_response'),
    ('ActionServer', 'send_result_response', 'librcl_action.so', 'rcl_action_send_result_response'),
)
"""Methods with which rclpy sends responses, and the functions of rcl that they call."""

_SENT, _CLIENT_GONE = 0, 2
"""Return codes of these functions: RCL_RET_OK and RCL_RET_TIMEOUT."""


def send_responses_by(
    submit: Callable[[Callable[[], None]], object], lost: Callable[[], object] = lambda: None
) -> bool:
    """Make rclpy send the responses of all services and actions in other threads.

    rmw_fastrtps waits 100 ms for a client that has left, and rclpy keeps the interpreter locked
    meanwhile, which stops all threads. Here the functions of rcl are called without that lock.
    Fallback: rclpy sends responses in the executor's thread.

    Args:
        submit: calls a function in another thread.
        lost: called in that thread for each response that the middleware drops because its client
            seems to have left.

    Returns:
        Whether responses are sent by ``submit``.
    """
    try:
        reset_error = ctypes.CDLL('librcutils.so').rcutils_reset_error
        senders = [
            (getattr(_rclpy, owner), method, getattr(ctypes.CDLL(library), function))
            for owner, method, library, function in _RESPONSES
        ]
    except (AttributeError, OSError):
        return False
    for owner, method, function in senders:
        function.argtypes = [ctypes.c_void_p] * 3
        original = getattr(owner, method)
        setattr(owner, method, _deferred(submit, lost, original, function, reset_error))
    return True


def _deferred(
    submit: Callable[[Callable[[], None]], object],
    lost: Callable[[], object],
    original: Any,
    function: Any,
    reset_error: Any,
) -> Any:
    """Return a replacement of a method that sends responses."""

    def send_response(handle: Any, *given: Any) -> None:
        # Actions pass the header first, services the response.
        header, response = given if hasattr(given[0], 'sequence_number') else given[::-1]
        identity = _request_identity(header)
        if identity is None:
            original(handle, *given)
            return

        def send() -> None:
            with _message(response) as message, handle:
                status = function(handle.pointer, identity, message)
            if status != _SENT:
                reset_error()
            if status == _CLIENT_GONE:
                lost()
            elif status != _SENT:
                raise RCL_ERROR(f'{function.__name__}: error {status}')

        submit(send)

    return send_response


def _request_identity(header: Any) -> bytes | None:
    """Return the header of a request as in C: 16 bytes that name its client, and its number.

    rclpy gives access to the number only. The header is an instance of pybind11, which stores the
    address of the C structure behind the head of the object. Fallback: None.
    """
    if type(type(header)).__name__ != 'pybind11_type':
        return None
    address = ctypes.c_void_p.from_address(id(header) + object.__basicsize__).value
    identity = ctypes.string_at(address, 24) if address else b''
    number = int.from_bytes(identity[16:], sys.byteorder, signed=True)
    return identity if number == header.sequence_number else None


@contextmanager
def _message(response: Any) -> Iterator[int]:
    """Convert a response to its C structure; return the address."""
    kind = type(response)
    message = _function(kind._CREATE_ROS_MESSAGE, ctypes.c_void_p)()
    try:
        convert = _function(kind._CONVERT_FROM_PY, ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)
        convert(response, message)
        yield message
    finally:
        _function(kind._DESTROY_ROS_MESSAGE, None, ctypes.c_void_p)(message)


def _function(capsule: Any, result: Any, *arguments: Any) -> Any:
    """Return a function of a message type; it runs with the interpreter locked."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.PYFUNCTYPE(result, *arguments)(get(capsule, None))
