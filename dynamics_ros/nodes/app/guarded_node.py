"""The node of every executable: no callback of it raises, whatever outsiders send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
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
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, printable
from dynamics_ros.nodes.reporting.node_log import NodeLog
from dynamics_ros.nodes.reporting.results import FaultLog, failure
from dynamics_ros.nodes.wire.conversions import NANOSECONDS
from dynamics_ros.nodes.wire.service_bytes import MOST_BYTES, RefusedRequest, bounded

MOST_ENTRIES = 1000
"""Parameters that one request may name: no node has so many."""

MOST_PARAMETER_BYTES = 16 << 20
"""Of a request about parameters, one of which may be a robot description."""

ABOUT_PARAMETERS = (
    *(DescribeParameters, GetParameters, GetParameterTypes, ListParameters),
    *(SetParameters, SetParametersAtomically),
)
"""Requests that begin with a sequence: the names, or the parameters."""


class GuardedNode(Node):
    """A node whose callbacks end without an error, whoever made them, rclpy or this package.

    A fault in a callback is logged once with its traceback and counted. A request that is too large
    is refused unread, one that fails gets an answer that says so. A /clock that is no time is
    ignored.

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
        """Subscribe; arguments as of ``rclpy.node.Node``."""
        if msg_type is Clock:
            callback = self._sane_clock(callback)
        guarded = self._guarded(callback, topic)
        return super().create_subscription(msg_type, topic, guarded, *rest, **options)

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
        entries, most = None, MOST_BYTES
        if srv_type in ABOUT_PARAMETERS:
            entries, most = MOST_ENTRIES, MOST_PARAMETER_BYTES
        if srv_type is SetParameters:
            callback = _one_by_one(callback)
        elif srv_type is SetParametersAtomically:
            callback = _all_readable(callback)

        service = super().create_service(srv_type, srv_name, callback, **options)
        self.guard_service(service, srv_name, most, entries)
        return service

    def guard_service(
        self, service: Service[Any, Any], name: str, most: int, entries: int | None = None
    ) -> None:
        """Have the callback of a service end without an error, and its requests be bounded.

        Args:
            service: as rclpy has made it.
            name: for the log.
            most, entries: as of ``bounded``.
        """
        kind, callback = service.srv_type, service.callback

        def answer(request: Any, response: Any) -> Any:
            try:
                if isinstance(request, RefusedRequest):
                    raise request.error
                answered = callback(request, response)
                text = getattr(answered, 'message', None)
                if isinstance(text, str):  # of std_srvs; those with a Result come from ``failure``
                    answered.message = printable(text)
                return answered
            except Exception as error:
                if not isinstance(error, DynamicsRosError):
                    self.faults.report(name, error)
                return refused(kind, error)

        service.callback = answer
        service.send_response = self._guarded(service.send_response, name)
        # What executors ask it to take requests as.
        service.srv_type = bounded(kind, most, entries)

    def _guarded(self, callback: Callable[..., Any], where: str) -> Callable[..., Any]:
        @wraps(callback)  # rclpy looks at how many arguments it takes
        def guarded(*arguments: Any) -> None:
            try:
                callback(*arguments)
            except Exception as error:
                self.faults.report(where, error)

        return guarded

    def _sane_clock(self, callback: Callable[[Clock], Any]) -> Callable[[Clock], Any]:
        """The callback of rclpy's time source, which raises where time is negative."""

        def take(message: Clock) -> None:
            stamp = message.clock
            if stamp.sec >= 0 and stamp.nanosec < NANOSECONDS:
                callback(message)
                return
            reason = 'a /clock that is no time'
            self.ignored[reason] += 1
            if self.ignored[reason] == 1:
                told = f'{stamp.sec} s and {stamp.nanosec} ns'
                self.get_logger().error(
                    f'/clock ignored: {told}; from now on diagnostics counts such messages'
                )

        return take


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
        _check_count(request.parameters)
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
        _check_count(request.parameters)
        for one in request.parameters:
            _check_readable(one)
        response = callback(request, response)
        response.result = _printable(response.result)
        return response

    return answer


def _check_count(parameters: Any) -> None:
    if len(parameters) > MOST_ENTRIES:  # where requests cannot be looked at in bytes
        raise InvalidArgumentError('request', f'{len(parameters)} entries', f'up to {MOST_ENTRIES}')


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
