"""Services: answered at once where that can be, and never brought down by a request."""

from __future__ import annotations

import logging
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.reporting.results import FaultLog, failure, success
from dynamics_ros.nodes.wire.service_bytes import (
    MOST_BYTES,
    RefusedRequest,
    ServiceBytes,
    UnknownMessageClassError,
)
from dynamics_ros_msgs.msg import Result

from .repeats import Repeatable, Repeats

# The usual depth of ten loses requests, and responses to a client that a busy machine holds up,
# once a few clients call at a time: all of them share one history.
SERVICE_QOS = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)

Handler = Callable[[Any, Any], Awaitable[Repeatable | None]]
Answered = Coroutine[Any, Any, Any]

_log = logging.getLogger('dynamics_ros.nodes')


def serve(
    node: Node, kind: Any, name: str, handler: Handler, faults: FaultLog, *, repeats: bool = False
) -> Repeats:
    """Offer a service whose response carries a Result, and which no request can bring down.

    Args:
        node: the node.
        kind: service type; its response has a field ``result``.
        name: service name.
        handler: a coroutine function that fills the response it is given, or raises. What it
            leaves in ``response.result`` stays, else the result is a success.
        faults: where unforeseen errors go.
        repeats: whether the handler returns how requests would be answered that differ from this
            one in numbers only.

    Returns:
        The requests that are remembered, to be forgotten with the robot that they are about.
    """

    async def answer(request: Any, response: Any) -> tuple[Any, Repeatable | None]:
        try:
            repeatable = await handler(request, response)
        except Exception as error:
            if not isinstance(error, DynamicsRosError):
                faults.report(name, error)
            response = kind.Response()
            response.result = failure(error)
            return response, None
        if response.result.code == Result.FAILURE and not response.result.message:
            response.result = success()
        return response, repeatable

    async def answer_message(request: Any, response: Any) -> Any:
        return (await answer(request, response))[0]

    like_before = Repeats()

    async def answer_anew(data: bytes) -> Any:
        if len(data) > MOST_BYTES:
            error = RefusedRequest(len(data), MOST_BYTES, 'bytes').error
            return kind.Response(result=failure(error))
        request = deserialize_message(data, kind.Request)
        response, repeatable = await answer(request, kind.Response())
        if repeatable is not None:
            try:
                like_before.learn(data, request, response, repeatable)
            except Exception as error:  # which is no reason not to answer
                faults.report(name, error)
        return response

    def answer_bytes(data: bytes, response: Any) -> Any:
        try:
            known = like_before.answer(data)
        except Exception as error:
            faults.report(name, error)
            known = None
        if known is None:
            return _begun(answer_anew(data))
        response.data = known
        return response

    as_bytes = _as_bytes(kind) if repeats else None
    if as_bytes is None:
        offer(node, kind, name, answer_message)
    else:
        _offer(node, kind, name, answer_bytes, as_bytes)
    return like_before


def offer(node: Node, kind: Any, name: str, answer: Callable[[Any, Any], Answered]) -> None:
    """Offer a service.

    Args:
        node: the node.
        kind: service type.
        name: service name.
        answer: coroutine function from a request and an empty response to the response.
    """
    _offer(node, kind, name, lambda request, response: _begun(answer(request, response)))


def _offer(
    node: Node, kind: Any, name: str, callback: Callable[[Any, Any], Any], taken_as: Any = None
) -> None:
    service = node.create_service(kind, name, callback, qos_profile=SERVICE_QOS)
    if taken_as is not None:
        # What executors ask it to take requests as.
        service.srv_type = taken_as
    send = service.send_response

    def send_when_there(response: Any, head: Any) -> None:
        if not isinstance(response, _Later):
            send(response, head)
            return

        async def finish() -> None:
            send(await _rest(response), head)

        executor = node.executor
        assert executor is not None, 'one of its callbacks runs'
        executor.create_task(finish())

    service.send_response = send_when_there


class _Later:
    """A response that somebody else has to work on first."""

    def __init__(self, coroutine: Answered, awaited: Any) -> None:
        self.coroutine, self.awaited = coroutine, awaited


def _begun(coroutine: Answered) -> Any:
    """What a coroutine returns if it does not wait for anything.

    Executors make tasks of coroutine functions, which takes longer than many an answer.
    """
    try:
        awaited = coroutine.send(None)
    except StopIteration as end:
        return end.value
    return _Later(coroutine, awaited)


@types.coroutine
def _rest(later: _Later) -> Generator[Any, Any, Any]:
    awaited = later.awaited
    while True:
        yield awaited
        try:
            awaited = later.coroutine.send(None)
        except StopIteration as end:
            return end.value


def _as_bytes(kind: Any) -> Any:
    try:
        return ServiceBytes(kind)
    except UnknownMessageClassError as reason:
        _log.warning('requests are read as message objects, which is slower: %s', reason)
        return None
