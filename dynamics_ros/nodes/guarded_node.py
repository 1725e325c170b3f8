# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of all nodes: catches errors of callbacks and refuses malformed input."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutine
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, printable
from dynamics_ros.estimation.samples.reports import NANOSECONDS
from dynamics_ros.nodes.reporting import FaultLog, NodeLog, failure, guarded_executor
from dynamics_ros.settings import Declared
from dynamics_ros.wire.cdr import MalformedMessageError, deserialized

MAX_ENTRIES = 1000
"""Maximum number of parameters or wrenches in one request; no node has so many."""

LISTS = ('parameters', 'names', 'prefixes', 'external_wrenches')
"""Fields of requests with at most ``MAX_ENTRIES`` entries, since each entry takes time."""

TYPES = frozenset(kind.value for kind in Parameter.Type)
"""Types of the value of a parameter."""

WHILE_RUNNING = {
    'gravity': 'use ~/set_gravity of dynamics_node, or ',
    'payload': 'use ~/set_payload of dynamics_node, or ',
    'robot_description': 'without it, the topic robot_description describes the robot; ',
}
"""What to do, beside a new start, instead of changing a parameter or group that is fixed then."""


class GuardedNode(Node):
    """Node that catches the errors of all its callbacks, those of rclpy included.

    An unexpected error in a callback is logged once with its traceback and counted. Requests that
    are too large are refused, and a failed request gets a response with the reason. Messages on
    /clock with an invalid time are ignored.

    Attributes:
        faults: log of unexpected errors of callbacks, and numbers of refused messages.
        outputs: its publishers of type ``Output``, which diagnostics report.
        declared: its parameters that parameter sets have declared, by name.
    """

    def __init__(self, name: str, **options: Any) -> None:
        """Create the node; arguments as of ``rclpy.node.Node``."""
        # Set first, because rclpy creates its own services through the methods below.
        self._log: NodeLog | None = None
        self.faults = FaultLog(self)
        self.outputs: list[Any] = []
        self.declared: dict[str, Declared] = {}
        super().__init__(name, **options)

    def set_parameters_atomically(
        self, parameter_list: list[Parameter[Any]]
    ) -> SetParametersResult:
        """Set parameters; a refusal of one that is fixed at start says what to do instead."""
        result = super().set_parameters_atomically(parameter_list)
        for name in [] if result.successful else [x.name for x in parameter_list]:
            if self.has_parameter(name) and self.describe_parameter(name).read_only:
                other = WHILE_RUNNING.get(name.partition('.')[0], '')
                result.reason = f'{name} is fixed at start; {other}start the node anew'
        return result

    def get_logger(self) -> NodeLog:
        """Return the log of the node, which escapes unprintable characters."""
        if self._log is None:
            self._log = NodeLog(super().get_logger().name)
        return self._log

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *rest: Any, **options: Any
    ) -> Subscription[Any]:
        """Subscribe; arguments as of ``rclpy.node.Node``.

        Messages are received as bytes and deserialized here, or by the callback if it asks for
        ``raw`` messages. Malformed messages are counted; rclpy would print the error of the
        middleware for each of them.
        """
        if msg_type is Clock:
            callback = self._valid_clock(callback)
        raw = options.pop('raw', False)

        def handle(data: bytes) -> None:
            try:
                callback(data if raw else deserialized(data, msg_type))
            except MalformedMessageError:
                text = f'message on {topic} refused: {len(data)} malformed bytes'
                self._ignore(f'malformed bytes on {topic}', text)
            except Exception as error:
                self.faults.report(topic, error)

        return super().create_subscription(msg_type, topic, handle, *rest, raw=True, **options)

    def create_timer(
        self, timer_period_sec: float, callback: Any, *rest: Any, **options: Any
    ) -> Timer:
        """Create a timer; arguments as of ``rclpy.node.Node``."""
        handler = None if callback is None else self.faults.guarded('a timer', callback)
        return super().create_timer(timer_period_sec, handler, *rest, **options)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[..., Any], **options: Any
    ) -> Service[Any, Any]:
        """Create a service; arguments as of ``rclpy.node.Node``; coroutines may answer it."""
        service = super().create_service(srv_type, srv_name, callback, **options)
        self.guard_service(service)
        return service

    def guard_service(self, service: Service[Any, Any]) -> None:
        """Turn errors of a service into responses with the reason, and await its coroutines.

        It also refuses requests with too many entries. The log reports errors with the name of the
        service. The events executor of rclpy 7.1.6 (Jazzy) tries to send a coroutine: rclpy issue
        1473; and in an exclusive group, other callbacks wait for a coroutine function.
        """
        kind, name, callback = service.srv_type, service.srv_name, service.callback

        def refusal(error: Exception) -> Any:
            if not isinstance(error, DynamicsRosError):
                self.faults.report(name, error)
            return refused(kind, error)

        async def awaited(answer: Any) -> Any:
            try:
                return _printable(await answer)
            except Exception as error:
                return refusal(error)

        def answer(request: Any, response: Any) -> Any:
            try:
                check_entries(request)
                result = callback(request, response)
                return awaited(result) if iscoroutine(result) else _printable(result)
            except Exception as error:
                return refusal(error)

        send = self.faults.guarded(name, service.send_response)

        def send_when_done(response: Any, header: Any) -> None:
            if not iscoroutine(response):
                send(response, header)
                return

            async def finish() -> None:
                send(await response, header)

            assert self.executor is not None, 'the executor has called the service'
            guarded_executor(self.executor, self.faults).create_task(finish())

        service.callback, service.send_response = answer, send_when_done

    def _ignore(self, reason: str, text: str) -> None:
        """Count a refused message, and log the first one with this reason."""
        if self.faults.count(f'refused: {reason}') == 1:
            self.get_logger().error(f'{text}; from now on diagnostics counts such messages')

    def _valid_clock(self, callback: Callable[[Clock], Any]) -> Callable[[Clock], Any]:
        """Wrap the callback of rclpy's time source, which raises for a negative time."""

        def handle(message: Clock) -> None:
            stamp = message.clock
            if stamp.sec >= 0 and stamp.nanosec < NANOSECONDS:
                callback(message)
                return
            text = f'/clock ignored: {stamp.sec} s and {stamp.nanosec} ns'
            self._ignore('a /clock that is no time', text)

        return handle


def _printable(response: Any) -> Any:
    """Escape texts that may repeat names of a request, in responses without a ``Result``."""
    text = getattr(response, 'message', None)
    if isinstance(text, str):
        response.message = printable(text)
    if isinstance(response, SetParameters.Response | SetParametersAtomically.Response):
        single = hasattr(response, 'result')
        for result in [response.result] if single else response.results:
            result.reason = printable(result.reason)
    return response


def check_entries(request: Any) -> None:
    """Check number and types of the entries of a request, which rclpy has already deserialized.

    Raises:
        InvalidArgumentError: it has too many entries, or a parameter of an unknown type.
    """
    for field in LISTS:
        count = len(getattr(request, field, ()))
        if count > MAX_ENTRIES:
            raise InvalidArgumentError('request', f'{count} entries', f'at most {MAX_ENTRIES}')
    for parameter in getattr(request, 'parameters', ()):
        if parameter.value.type not in TYPES:
            kinds = ', '.join(f'{kind.value} {kind.name.lower()}' for kind in Parameter.Type)
            problem = f'its value has the type {parameter.value.type}'
            raise InvalidArgumentError(repr(parameter.name), problem, f'one of {kinds}')


def refused(kind: Any, error: Exception) -> Any:
    """Return a response of a service type with the reason of a failure, if it has a field."""
    response, result = kind.Response(), failure(error)
    if kind in (SetParameters, SetParametersAtomically):
        failed = SetParametersResult(successful=False, reason=result.message)
        if kind is SetParameters:
            response.results = [failed]
        else:
            response.result = failed
    elif hasattr(response, 'result') and isinstance(response.result, type(result)):
        response.result = result
    elif hasattr(response, 'message'):
        response.message = result.message
    return response
