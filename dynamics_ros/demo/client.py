# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Node of the demonstration: it stores the outputs of the nodes by stamp, and pushes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import rclpy
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from dynamics_ros.files import use_writable_log_folder
from dynamics_ros.nodes.process import dispose, make_executor, spin
from dynamics_ros.wire.cdr import stamp_of
from dynamics_ros.wire.conversions import duration_message, wrench_message
from dynamics_ros_msgs.srv import ApplyWrench

from .processes import Children, DemonstrationError

LENGTH = 10_000
"""Number of stored messages per topic: 20 s at 500 Hz, more than a round."""

_DEPTH = 200  # messages that wait while the screen is drawn
_SLOW = 20.0  # s without messages, after which the machine is reported to be slow
_TIMEOUT = 120.0  # s, longest wait for messages and responses
_POLL_PERIOD = 0.02  # s, period of checks for new messages
_MAX_GAP = 20_000_000  # ns, largest interval between two outputs; a tenth of that is usual


class Track:
    """The latest messages of a topic, written by one thread and read by another.

    Messages are deserialized when they are read: most of the thousands per second never are.

    Attributes:
        newest: stamp of the latest message [ns]; 0 before the first one.
    """

    def __init__(self, kind: Any) -> None:
        self.newest = 0
        self._kind = kind
        self._messages: dict[int, bytes] = {}

    def add(self, data: bytes) -> None:
        """Store a serialized message, and drop the oldest one if there are too many."""
        self.newest = stamp_of(data)
        self._messages[self.newest] = data
        if len(self._messages) > LENGTH:
            del self._messages[next(iter(self._messages))]

    @property
    def latest(self) -> Any:
        """The latest message; None before the first one."""
        data = self._messages.get(self.newest)
        return None if data is None else deserialize_message(data, self._kind)

    def between(self, first: float, last: float) -> dict[int, Any]:
        """Messages in a range of stamps [ns], by stamp."""
        # A copy, because the writer drops the oldest message at any time.
        messages = self._messages.copy().items()
        return {t: deserialize_message(x, self._kind) for t, x in messages if first <= t <= last}

    def misses_messages(self, first: int, last: int) -> bool:
        """Whether there are gaps between the messages from one stamp to another [ns]."""
        stamps = [first, *sorted(t for t in self._messages.copy() if first < t < last), last]
        return any(later - earlier > _MAX_GAP for earlier, later in pairwise(stamps))


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
        self._tracks: dict[str, Track] = {}
        self._push = self.node.create_client(ApplyWrench, '/robot_simulator/apply_wrench')

    def subscribe(self, topic: str, kind: Any) -> Track:
        """Subscribe to a topic."""
        track = self._tracks[topic] = Track(kind)
        self.node.create_subscription(kind, topic, track.add, QoSProfile(depth=_DEPTH), raw=True)
        return track

    def watch(self, seconds: float) -> None:
        """Wait for a time [s]."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._tick()

    def wait_for(self, stamp: int) -> None:
        """Wait until each topic has a message of a stamp [ns] or later, and pushes are possible.

        Raises:
            DemonstrationError: one is missing for too long, or a process has ended.
        """
        began, announced = time.monotonic(), False
        while missing := self._missing(stamp):
            self._tick()
            waited = time.monotonic() - began
            text = f'no message or service for {waited:.0f} s: {", ".join(missing)}'
            if waited > _TIMEOUT:
                raise DemonstrationError(text + self._running.last_words())
            if waited > _SLOW and not announced:
                print(f'this machine is slow: {text}', flush=True)
                announced = True

    @property
    def newest(self) -> int:
        """Stamp of the latest message of all topics [ns]."""
        return max(track.newest for track in self._tracks.values())

    def misses_messages(self, first: int, last: int) -> bool:
        """Whether a topic has gaps from one stamp to another [ns], as on an overloaded machine."""
        return any(track.misses_messages(first, last) for track in self._tracks.values())

    def push(self, frame: str, force: NDArray[np.float64], duration: float) -> None:
        """Push a frame with a force (3) in root axes for a duration [s].

        Raises:
            DemonstrationError: the push was rejected, or not answered.
        """
        wrench = wrench_message(np.concatenate([force, np.zeros(3)]))
        lasting = duration_message(duration)
        request = ApplyWrench.Request(frame=frame, wrench=wrench, duration=lasting)
        future = self._push.call_async(request)
        began = time.monotonic()
        while not future.done():
            self._tick()
            if time.monotonic() - began > _TIMEOUT:
                raise DemonstrationError(f'{self._push.srv_name} has not answered')
        result = future.result().result
        if result.code <= 0:
            raise DemonstrationError(f'{self._push.srv_name}: {result.message}')

    def _missing(self, stamp: int) -> list[str]:
        missing = [name for name, track in self._tracks.items() if track.newest < max(stamp, 1)]
        return missing + [self._push.srv_name] * (not self._push.service_is_ready())

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
