# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Node of the demonstration: it stores the outputs of the nodes by stamp and calls services."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from dynamics_ros.files import use_writable_log_folder
from dynamics_ros.nodes.process import dispose, make_executor, spin
from dynamics_ros.wire.cdr import stamp_of
from dynamics_ros.wire.conversions import duration_message, fill
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ApplyWrench

from .processes import Children, DemonstrationError

Array = NDArray[np.float64]
Value = TypeVar('Value')

LENGTH = 10_000
"""Number of stored messages per topic: 20 s at 500 Hz, more than a round."""

_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=200, reliability=ReliabilityPolicy.RELIABLE
)
_SLOW = 20.0  # s without messages, after which the machine is reported to be slow
_TIMEOUT = 120.0  # s, longest wait for messages and responses
_POLL_PERIOD = 0.02  # s, period of checks for new messages


class ServiceError(Exception):
    """A service call failed or was not answered.

    Attributes:
        late: whether the service reported that its timeout was too short.
    """

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late


class Track(Generic[Value]):
    """The latest messages of a topic by stamp [ns], written by one thread and read by another.

    Attributes:
        read: converts a received message to its value, when the value is requested: most of the
            thousands of messages per second are only counted.
        messages: stored messages by stamp.
        count: number of received messages.
        newest: stamp of the latest message; 0 before the first one.
    """

    def __init__(self, read: Callable[[Any], Value] = lambda message: message) -> None:
        self.read = read
        self.messages: dict[int, Any] = {}
        self.count = self.newest = 0

    @property
    def latest(self) -> Value | None:
        """Value of the latest message; None before the first one."""
        message = self.messages.get(self.newest)
        return None if message is None else self.read(message)

    def add(self, stamp: int, message: Any) -> None:
        """Store a message, and drop the oldest one if there are too many."""
        self.messages[stamp] = message
        if len(self.messages) > LENGTH:
            del self.messages[next(iter(self.messages))]
        self.newest = stamp
        self.count += 1


def matched(
    *tracks: Track[Any], first: int = 0, last: float = math.inf, most: int | None = None
) -> list[tuple[Any, ...]]:
    """Stamp and values of all stamps in a range [ns] that all of some topics have.

    Args:
        tracks: the topics.
        first, last: range of stamps.
        most: largest number of results, evenly spread; None: all.
    """
    # Copies, because the writer drops the oldest message at any time.
    copies = [track.messages.copy() for track in tracks]
    stamps = [t for t in copies[0] if first <= t <= last and all(t in copy for copy in copies)]
    if most is not None:
        stamps = stamps[:: max(1, math.ceil(len(stamps) / most))]
    return [
        (t, *(track.read(copy[t]) for track, copy in zip(tracks, copies, strict=True)))
        for t in stamps
    ]


class Client:
    """A node that stores messages, whose callbacks run in the executor's thread, and pushes.

    Attributes:
        node: its ROS node.
        show: called repeatedly while waiting.
    """

    def __init__(self, running: Children) -> None:
        """Create the node; an exception of ``running.check`` ends every wait."""
        self.node = Node('dynamics_ros_demo')
        self.show: Callable[[], None] = lambda: None
        self._running = running
        self._tracks: dict[str, Track[Any]] = {}
        self._services: list[Any] = []
        self._push = self.service(ApplyWrench, '/robot_simulator/apply_wrench')

    def subscribe(
        self, topic: str, kind: Any, value: Callable[[Any], Value] = lambda message: message
    ) -> Track[Value]:
        """Subscribe to a topic as bytes; ``value`` converts a message when it is requested."""
        track = Track(lambda data: value(deserialize_message(data, kind)))
        self._tracks[topic] = track
        receive = lambda data: track.add(stamp_of(data), data)  # noqa: E731
        self.node.create_subscription(kind, topic, receive, _QOS, raw=True)
        return track

    def service(self, kind: Any, name: str) -> Any:
        """Client of a service, for which ``wait_for(silent)`` waits."""
        self._services.append(self.node.create_client(kind, name))
        return self._services[-1]

    def now(self) -> Time:
        """Stamp of now."""
        return self.node.get_clock().now().to_msg()

    def watch(self, seconds: float) -> None:
        """Wait for a time [s]."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._tick()

    def wait_for(self, missing: Callable[[], list[str]]) -> None:
        """Wait until no topic or service is missing.

        Raises:
            DemonstrationError: some are missing for too long, or a process has ended.
        """
        began, announced = time.monotonic(), False
        while names := missing():
            self._tick()
            waited = time.monotonic() - began
            text = f'no message or service for {waited:.0f} s: {", ".join(names)}'
            if waited > _TIMEOUT:
                raise DemonstrationError(text + self._running.last_words())
            if waited > _SLOW and not announced:
                print(f'this machine is slow: {text}', flush=True)
                announced = True

    def silent(self) -> list[str]:
        """Names of topics without a message so far, and of services that are not available."""
        return [name for name, track in self._tracks.items() if not track.count] + [
            client.srv_name for client in self._services if not client.service_is_ready()
        ]

    def behind(self, stamp: int, tracks: Iterable[Track[Any]]) -> list[str]:
        """Names of the topics of some tracks without a message of a stamp [ns] or later."""
        late = [track for track in tracks if track.newest < stamp]
        return [name for name, track in self._tracks.items() if track in late]

    def push(self, frame: str, force: Array, duration: float) -> None:
        """Push a frame with a force (3) in root axes for a duration [s].

        Raises:
            ServiceError: the push was rejected.
        """
        request = ApplyWrench.Request(frame=frame, duration=duration_message(duration))
        fill(request.wrench, np.concatenate([force, np.zeros(3)]))
        self.call(self._push, request)

    def call(self, client: Any, request: Any) -> tuple[Any, float]:
        """Response of a service, and the time of the call [s].

        Raises:
            ServiceError: the service failed or has not answered.
        """
        began = time.monotonic()
        arrivals: list[float] = []
        future = client.call_async(request)
        future.add_done_callback(lambda _: arrivals.append(time.monotonic()))
        while not arrivals:
            # Without the screen, whose drawing would delay the response.
            self._running.check()
            time.sleep(0.0005)
            if time.monotonic() - began > _TIMEOUT:
                client.remove_pending_request(future)
                raise ServiceError(f'{client.srv_name} has not answered in {_TIMEOUT:g} s')
        response = future.result()
        result = response.result
        if result.code <= 0:
            text = f'{client.srv_name}: code {result.code}, {result.message}'
            raise ServiceError(text, late=result.code == Result.TIMED_OUT)
        return response, arrivals[0] - began

    def _tick(self) -> None:
        self._running.check()
        self.show()
        time.sleep(_POLL_PERIOD)


@contextmanager
def spun(running: Children) -> Iterator[Client]:
    """Context with a client whose node is spun in its own thread."""
    # Signals are for the main thread, which ends the child processes first.
    use_writable_log_folder()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    client = Client(running)
    executor = make_executor()
    executor.add_node(client.node)
    end: Future[None] = Future()
    thread = threading.Thread(target=spin, args=(executor, client.node, end), daemon=True)
    thread.start()
    try:
        yield client
    finally:
        end.set_result(None)
        thread.join()
        # Before the context is shut down: an events executor that cannot add or remove the entities
        # of its nodes aborts the process when it is destroyed.
        dispose(executor, [client.node])
        rclpy.try_shutdown()
