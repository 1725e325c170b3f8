# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstrations: a node that stores messages by stamp and calls services, in reported rounds."""

from __future__ import annotations

import math
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import Any, ClassVar

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
from dynamics_ros.wire.conversions import duration_message, fill
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ApplyWrench

from .processes import Children, DemonstrationError
from .screen import WIDTH, Screen, View

Array = NDArray[np.float64]

LENGTH = 10_000
"""Number of stored messages per topic: 20 s at 500 Hz, more than a round."""

_TIMEOUT = 120.0  # s, longest wait for messages and responses
_POLL_PERIOD = 0.02  # s, period of checks for new messages
_MAX_FAILURES = 20  # stored, because an endless demonstration may fail in each round
_ROUND = 12.0  # s, duration of a round, if there are several
_MAX_GAP = 20_000_000  # ns, largest interval between two outputs; a tenth of that is usual
_MIN_SAMPLES = 10


class Demonstration(ABC):
    """Rounds with a simulated robot and the nodes, each with figures.

    Attributes:
        figures: figures of the round by name; ``late`` lists what the machine was too slow for.
        report: figures of the last complete round; before that, of the current one.
        complete: whether a round is complete.
        failures: failures of all rounds, one line each.
        first: newest stamp at the start of the round [ns].
        node: the node, whose callbacks run in a thread of their own; from ``run`` on.
        screen: the screen; from ``run`` on.
    """

    rows: ClassVar[Sequence[tuple[str, str]]]
    """Rows of the summary: formats of a name and of figures."""

    settling: ClassVar[float] = 0.0
    """Time from the first outputs to the first round [s]."""

    figures: dict[str, Any]
    node: Node
    screen: Screen

    def __init__(self, running: Children, began: float, **figures: Any) -> None:
        """Start without a round.

        Args:
            running: the processes.
            began: start of the program [s, monotonic].
            figures: figures of all rounds.
        """
        self._running, self._began, self._constant = running, began, figures
        self.failures: list[str] = []
        self.complete, self.first = False, 0
        self.messages: dict[str, dict[int, Any]] = {}  # by topic and stamp [ns]
        self._values: dict[str, Callable[[Any], Any]] = {}
        self._services: list[Any] = []
        self._begin_round(1)
        self.report = self.figures

    @abstractmethod
    def connect(self) -> None:
        """Subscribe to the topics, and create the clients of services."""

    @abstractmethod
    def round(self, duration: float) -> None:
        """Push the robot, and determine the figures within a duration [s]."""

    @abstractmethod
    def view(self) -> View:
        """What the screen shows now."""

    def run(self, duration: float) -> None:
        """Run rounds for a duration [s] from the first outputs on; infinite: until interrupted.

        Raises:
            DemonstrationError: a process has ended or sends no messages.
        """
        rounds = 0 if math.isinf(duration) else max(1, round(duration / _ROUND))
        self.screen = Screen(self.view)
        with self._spinning():
            self._push = self.service(ApplyWrench, '/robot_simulator/apply_wrench')
            self.connect()
            self._wait_for(lambda topic: bool(self.messages[topic]))
            startup = self._constant['startup_s'] = time.monotonic() - self._began
            with self.screen:
                self.screen.event(f'everything runs, {startup:.1f} s after the start')
                end = time.monotonic() + duration - 0.5 * _ROUND
                self.watch(self.settling)
                lasting = (duration - self.settling) / rounds if rounds else _ROUND
                while not self.complete or time.monotonic() < end:
                    for line in self._lines() if self.complete else ():
                        self.screen.event(line)
                    self._begin_round(self.report['rounds'] + self.complete)
                    self.round(lasting)
                    self.report, self.complete = self.figures, True

    def _begin_round(self, number: int) -> None:
        self.figures = defaultdict(lambda: None, **self._constant, rounds=number, late=[])
        self.first = max(map(self.newest, self.messages), default=0)

    @contextmanager
    def _spinning(self) -> Iterator[None]:
        """Context in which the node is spun in its own thread."""
        # Signals are for the main thread, which ends the child processes first.
        use_writable_log_folder()
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('dynamics_ros_demo')
        executor = make_executor()
        executor.add_node(self.node)
        end: Future[None] = Future()
        thread = threading.Thread(target=spin, args=(executor, self.node, end), daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set_result(None)
            thread.join()
            # Before the context is shut down: an events executor that cannot add or remove the
            # entities of its nodes aborts the process when it is destroyed.
            dispose(executor, [self.node])
            rclpy.try_shutdown()

    def subscribe(
        self, topic: str, kind: Any, value: Callable[[Any], Any] = lambda message: message
    ) -> str:
        """Store the messages of a topic; ``value`` converts one when it is requested."""
        # As bytes, because most of the thousands of messages per second are only counted.
        self._values[topic] = lambda data: value(deserialize_message(data, kind))
        receive = lambda data: self.store(topic, stamp_of(data), data)  # noqa: E731
        self.messages[topic] = {}
        self.node.create_subscription(kind, topic, receive, QoSProfile(depth=200), raw=True)
        return topic

    def store(self, topic: str, stamp: int, message: Any) -> None:
        """Store a message, and drop the oldest one of the topic if there are too many."""
        stored = self.messages[topic]
        stored[stamp] = message
        if len(stored) > LENGTH:
            del stored[next(iter(stored))]

    def newest(self, topic: str) -> int:
        """Stamp of the latest message of a topic [ns]; 0 before the first one."""
        return next(iter(list(self.messages[topic])[-1:]), 0)

    def latest(self, topic: str) -> Any:
        """Value of the latest message of a topic; None before the first one."""
        stamp = self.newest(topic)
        return self._values[topic](self.messages[topic][stamp]) if stamp else None

    def matched(
        self, *topics: str, first: int = 0, last: float = math.inf, most: float = math.inf
    ) -> list[tuple[Any, ...]]:
        """Stamp and values of at most ``most`` stamps in a range [ns] that all topics have."""
        copies = [self.messages[topic].copy() for topic in topics]
        stamps = [t for t in copies[0] if first <= t <= last and all(t in copy for copy in copies)]
        values = [self._values[topic] for topic in topics]
        return [
            (t, *(value(copy[t]) for value, copy in zip(values, copies, strict=True)))
            for t in stamps[:: max(1, math.ceil(len(stamps) / most))]
        ]

    def service(self, kind: Any, name: str) -> Any:
        """Client of a service, for which the first round waits."""
        self._services.append(self.node.create_client(kind, name))
        return self._services[-1]

    def watch(self, seconds: float) -> None:
        """Wait for a time [s]."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._tick()

    def wait_until(self, stamp: int) -> None:
        """Wait until all topics have reached a stamp [ns]: a slow machine simulates later."""
        self._wait_for(lambda topic: self.newest(topic) >= stamp)

    def _wait_for(self, ready: Callable[[str], bool]) -> None:
        """Wait until all topics are ready, and all services are available.

        Raises:
            DemonstrationError: some are not for too long, or a process has ended.
        """
        end = time.monotonic() + _TIMEOUT
        while missing := [
            *(topic for topic in self.messages if not ready(topic)),
            *(client.srv_name for client in self._services if not client.service_is_ready()),
        ]:
            self._tick()
            if time.monotonic() > end:
                text = f'no message or service for {_TIMEOUT:.0f} s: {", ".join(missing)}'
                raise DemonstrationError(text + self._running.last_words())

    def _tick(self) -> None:
        self._running.check()
        self.screen.update()
        time.sleep(_POLL_PERIOD)

    def require(self, condition: bool, failure: str, *, estimate: bool = False) -> None:
        """Note a failure unless the condition holds.

        On an overloaded machine messages are lost or late. An observer that missed joint states
        needs time to settle again, so estimates of a round with missed messages do not fail: they
        are late.
        """
        if condition:
            return
        if estimate and any(map(self._misses, self.messages)):
            self.figures['late'].append(f'{failure}; messages were missed')
        elif failure not in self.failures and len(self.failures) < _MAX_FAILURES:
            self.failures.append(failure)

    def check(
        self, failure: str, allowed: float, figures: Mapping[str, Any], *, estimate: bool = False
    ) -> None:
        """Set figures, each of which has to be at most ``allowed``; the failure may name them."""
        self.figures.update(figures)
        fits = all(x is not None and x <= allowed for x in figures.values())
        self.require(fits, failure.format_map(self.figures), estimate=estimate)

    def _misses(self, topic: str) -> bool:
        """Whether messages of a topic were missed in this round."""
        last = max(map(self.newest, self.messages))
        stamps = [t for t in self.messages[topic].copy() if self.first < t]
        return bool(np.diff([self.first, *sorted(stamps), last]).max() > _MAX_GAP)

    def are_enough(self, what: str, samples: Sequence[Any]) -> bool:
        """Whether there are enough samples to compare, which is required."""
        enough = len(samples) >= _MIN_SAMPLES
        failure = f'{what}: {len(samples)} stamps with a true value, too few to compare'
        self.require(enough, failure, estimate=True)
        return enough

    def push(self, frame: str, force: Array, duration: float) -> None:
        """Push a frame with a force (3) in root axes for a duration [s]."""
        size, number = np.linalg.norm(force), self.figures['rounds']
        self.screen.event(f'push {number} at {frame}: {size:.2f} N for {duration:.1f} s')
        request = ApplyWrench.Request(frame=frame, duration=duration_message(duration))
        fill(request.wrench, np.concatenate([force, np.zeros(3)]))
        self.call(self._push, request)

    def call(self, client: Any, request: Any) -> tuple[Any, float]:
        """Response of a service, None if it has failed or was late, and the time it took [ms]."""
        began, done = time.monotonic(), threading.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        # Without the screen, whose drawing would delay the response.
        while not done.wait(0.1) and time.monotonic() - began < _TIMEOUT:
            self._running.check()
        took = 1e3 * (time.monotonic() - began)
        if not done.is_set():
            client.remove_pending_request(future)
            self.require(False, f'{client.srv_name} has not answered in {_TIMEOUT:g} s')
            return None, took
        response = future.result()
        if response.result.code > 0:
            return response, took
        text = f'{client.srv_name}: code {response.result.code}, {response.result.message}'
        if response.result.code == Result.TIMED_OUT:
            self.figures['late'].append(text)
        else:
            self.require(False, text)
        return None, took

    def _lines(self) -> list[str]:
        """The figures of the report as lines of text."""
        lines = []
        for name, row in self.rows:
            try:
                lines.append(f'  {name.format_map(self.report):30}{row.format_map(self.report)}')
            except TypeError:  # of a figure that is None
                lines += [f'  {name.format_map(self.report):30}-'] if name else []
        for late in self.report['late']:
            text = f'too slow: {late}'
            lines += wrap(text, WIDTH, initial_indent='  ', subsequent_indent='    ')
        return lines

    def summary(self) -> str:
        """The verdict and the figures of the report as text."""
        color, verdict = 32, 'all of it worked'
        if self.failures:
            color, verdict = 31, 'failed'
        elif self.report['late']:
            color, verdict = 33, 'nothing was wrong, the machine was too slow'
        if sys.stdout.isatty():
            verdict = f'\033[{color}m{verdict}\033[0m'
        title = '{robot}, {joints} joints: '.format_map(self.report)
        return '\n'.join(['', title + verdict, *self._lines()])
