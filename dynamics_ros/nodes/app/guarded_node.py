# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node of every executable: no callback of it raises, whatever outsiders send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutine, iscoroutinefunction
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, printable
from dynamics_ros.estimation.samples.reports import NANOSECONDS
from dynamics_ros.nodes.reporting.node_log import NodeLog
from dynamics_ros.nodes.reporting.results import FaultLog, failure
from dynamics_ros.wire.cdr import MalformedMessageError, deserialized

MAX_BYTES = 1 << 20
"""Size of a request about joints and frames: no robot has that many."""

MAX_ENTRIES = 1000
"""Number of parameters that one request may name: no node has so many."""

MAX_PARAMETER_BYTES = 16 << 20
"""Size of a request about parameters, one of which may be a robot description."""

ENTRIES = {
    DescribeParameters.Request: 'names',
    GetParameters.Request: 'names',
    GetParameterTypes.Request: 'names',
    ListParameters.Request: 'prefixes',
    SetParameters.Request: 'parameters',
    SetParametersAtomically.Request: 'parameters',
}
"""Requests about parameters, with the field that lists these."""


class GuardedNode(Node):
    """A node whose callbacks end without an error, whoever made them, rclpy or this package.

    A fault in a callback is logged once with its traceback and counted. A request that is too large
    is refused, one that fails gets an answer that says so. A /clock that is no time is ignored.

    Attributes:
        faults: errors of callbacks that nobody foresaw.
        ignored: messages that this node, not its parts, has refused, by reason.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Make the node; arguments as of ``rclpy.node.Node``."""
        # Before rclpy makes its own services and subscriptions, through the methods below.
        self._log: NodeLog | None = None
        self.ignored: Counter[str] = Counter()
        self.faults = FaultLog(self)
        super().__init__(name, **options)

    def get_logger(self) -> NodeLog:
        """The log of the node, which makes printable what it is given."""
        if self._log is None:
            self._log = NodeLog(super().get_logger().name)
        return self._log

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *rest: Any, **options: Any
    ) -> Subscription[Any]:
        """Subscribe; arguments as of ``rclpy.node.Node``.

        Messages are taken as bytes and read here, or by the callback where it is to have them
        ``raw``: what is malformed is counted, where rclpy would print what the middleware says.
        """
        if msg_type is Clock:
            callback = self._sane_clock(callback)
        if not options.pop('raw', False):
            callback = self._reading(msg_type, callback)
        guarded = self._guarded(self._counting_malformed(callback, topic), topic)
        return super().create_subscription(msg_type, topic, guarded, *rest, raw=True, **options)

    def create_timer(
        self, timer_period_sec: float, callback: Any, *rest: Any, **options: Any
    ) -> Timer:
        """Make a timer; arguments as of ``rclpy.node.Node``."""
        guarded = None if callback is None else self._guarded(callback, 'a timer')
        return super().create_timer(timer_period_sec, guarded, *rest, **options)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[..., Any], **options: Any
    ) -> Service[Any, Any]:
        """Offer a service; arguments as of ``rclpy.node.Node``."""
        if srv_type is SetParameters:
            callback = _one_by_one(callback)
        elif srv_type is SetParametersAtomically:
            callback = _all_readable(callback)
        guarded = self.guarded_service(srv_type, srv_name, callback)
        if iscoroutinefunction(guarded):
            # While it waits, the other callbacks of an exclusive group would have to wait as well.
            options.setdefault('callback_group', ReentrantCallbackGroup())
        service = super().create_service(srv_type, srv_name, guarded, **options)
        self._await_responses(service)
        return service

    def guarded_service(
        self, kind: Any, name: str, callback: Callable[[Any, Any], Any]
    ) -> Callable[[Any, Any], Any]:
        """The callback of a service, or coroutine function, that answers what cannot be answered.

        Requests that are too large are refused, and errors end in a response that names them.

        Args:
            kind: service type.
            name: service name, for the log.
            callback: from a request and an empty response to the response.
        """

        def refusal(error: Exception) -> Any:
            if not isinstance(error, DynamicsRosError):
                self.faults.report(name, error)
            return refused(kind, error)

        if iscoroutinefunction(callback):

            async def answer_later(request: Any, response: Any) -> Any:
                try:
                    check_size(request)
                    return await callback(request, response)
                except Exception as error:
                    return refusal(error)

            return answer_later

        def answer(request: Any, response: Any) -> Any:
            try:
                check_size(request)
                answered = callback(request, response)
                text = getattr(answered, 'message', None)
                if isinstance(text, str):  # of std_srvs; those with a Result come from ``failure``
                    answered.message = printable(text)
                return answered
            except Exception as error:
                return refusal(error)

        return answer

    def _await_responses(self, service: Service[Any, Any]) -> None:
        """Have a response that is a coroutine sent when it is done.

        The events executor of rclpy 7.1.6 (Jazzy) sends the coroutine itself: rclpy issue 1473.
        """
        send = service.send_response

        def send_when_done(response: Any, header: Any) -> None:
            if not iscoroutine(response):
                send(response, header)
                return

            async def finish() -> None:
                send(await response, header)

            assert self.executor is not None, 'it has called the service'
            self.executor.create_task(finish())

        service.send_response = send_when_done

    def _guarded(self, callback: Callable[..., Any], where: str) -> Callable[..., Any]:
        @wraps(callback)  # rclpy looks at how many arguments it takes
        def guarded(*arguments: Any) -> None:
            try:
                callback(*arguments)
            except Exception as error:
                self.faults.report(where, error)

        return guarded

    def _counting_malformed(
        self, callback: Callable[[bytes], None], topic: str
    ) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            try:
                callback(data)
            except MalformedMessageError:
                told = f'message on {topic} refused: {len(data)} malformed bytes'
                self._ignore(f'malformed bytes on {topic}', told)

        return take

    @staticmethod
    def _reading(kind: Any, callback: Callable[[Any], Any]) -> Callable[[bytes], None]:
        def read(data: bytes) -> None:
            callback(deserialized(data, kind))

        return read

    def _ignore(self, reason: str, text: str) -> None:
        """Count a message that is refused, and log the first of its reason."""
        self.ignored[reason] += 1
        if self.ignored[reason] == 1:
            self.get_logger().error(f'{text}; from now on diagnostics counts such messages')

    def _sane_clock(self, callback: Callable[[Clock], Any]) -> Callable[[Clock], Any]:
        """The callback of rclpy's time source, which raises where time is negative."""

        def take(message: Clock) -> None:
            stamp = message.clock
            if stamp.sec >= 0 and stamp.nanosec < NANOSECONDS:
                callback(message)
                return
            told = f'/clock ignored: {stamp.sec} s and {stamp.nanosec} ns'
            self._ignore('a /clock that is no time', told)

        return take


def check_size(request: Any) -> None:
    """Refuse a request that is too large, before anything is computed from it.

    rclpy has made Python objects of it by then.

    Raises:
        InvalidArgumentError: too many entries, or bytes as it was sent.
    """
    limit = MAX_BYTES
    field = ENTRIES.get(type(request))
    if field is not None:
        limit, count = MAX_PARAMETER_BYTES, len(getattr(request, field))
        if count > MAX_ENTRIES:
            raise InvalidArgumentError('request', f'{count} entries', f'at most {MAX_ENTRIES}')
    size = len(serialize_message(request))
    if size > limit:
        raise InvalidArgumentError('request', f'{size} bytes', f'at most {limit}')


def refused(kind: Any, error: Exception) -> Any:
    """The response that says why a request could not be answered, where its type has room for that.

    Args:
        kind: service type.
        error: why.
    """
    response, result = kind.Response(), failure(error)
    if kind is SetParameters:
        response.results = [_not_set(result.message)]
    elif kind is SetParametersAtomically:
        response.result = _not_set(result.message)
    elif hasattr(response, 'result') and isinstance(response.result, type(result)):
        response.result = result
    elif hasattr(response, 'message'):
        response.message = result.message
    return response


def _printable(result: SetParametersResult) -> SetParametersResult:
    """What rclpy answers, in which it repeats names as they came."""
    result.reason = printable(result.reason)
    return result


def _not_set(reason: str) -> SetParametersResult:
    return SetParametersResult(successful=False, reason=reason)


def _one_by_one(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Set what can be set; rclpy's own callback gives up at the first that it cannot read."""

    def answer(request: Any, response: Any) -> Any:
        for one in request.parameters:
            try:
                _check_readable(one)
            except InvalidArgumentError as error:
                response.results.append(_not_set(str(error)))
            else:
                single = SetParameters.Request(parameters=[one])
                results = callback(single, SetParameters.Response()).results
                response.results += map(_printable, results)
        return response

    return answer


def _all_readable(callback: Callable[..., Any]) -> Callable[..., Any]:
    def answer(request: Any, response: Any) -> Any:
        for one in request.parameters:
            _check_readable(one)
        response = callback(request, response)
        response.result = _printable(response.result)
        return response

    return answer


def _check_readable(parameter: Any) -> None:
    """Whether rclpy can make anything of it.

    Raises:
        InvalidArgumentError: it cannot.
    """
    try:
        Parameter.from_parameter_msg(parameter)
    except Exception as error:
        kinds = ', '.join(f'{kind.value} {kind.name.lower()}' for kind in Parameter.Type)
        problem = f'its value has the type {parameter.value.type}'
        raise InvalidArgumentError(repr(parameter.name), problem, f'one of {kinds}') from error
