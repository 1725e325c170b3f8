# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstrations: a node that stores outputs by stamp and calls services, in reported rounds."""

from __future__ import annotations

import math
import re
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
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


@dataclass
class Report:
    """Report of a round.

    Attributes:
        rows: rows of the summary: formats of a name and of figures.
        figures: figures by name; None if they were not determined.
        late: figures that this machine was too slow for, with the reason; these are no failures.
        failures: failures of this round and of earlier ones, one line each.
    """

    rows: Sequence[tuple[str, str]]
    figures: dict[str, Any] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = re.findall(r'{(\w+)', ''.join(text for row in self.rows for text in row))
        self.figures = {**dict.fromkeys(names), **self.figures}

    def require(self, condition: bool, failure: str) -> None:
        """Add a failure, unless the condition holds or the failure is listed already."""
        full = failure in self.failures or len(self.failures) >= _MAX_FAILURES
        if not condition and not full:
            self.failures.append(failure)

    def json(self) -> dict[str, Any]:
        """All of it as one object."""
        return {**self.figures, 'late': self.late, 'failures': self.failures}

    def lines(self) -> list[str]:
        """The figures as lines of text."""
        lines = []
        for name, row in self.rows:
            try:
                lines.append(f'  {name.format_map(self.figures):30}{row.format_map(self.figures)}')
            except TypeError:  # of a figure that is None
                lines += [f'  {name.format_map(self.figures):30}-'] if name else []
        for figure, how in self.late.items():
            text = f'too slow for {figure}: {how}'
            lines += wrap(text, WIDTH, initial_indent='  ', subsequent_indent='    ')
        return lines

    def summary(self) -> str:
        """The verdict and the figures as text."""
        color, verdict = 32, 'all of it worked'
        if self.failures:
            color, verdict = 31, 'failed'
        elif self.late:
            color, verdict = 33, 'nothing was wrong, the machine was too slow'
        if sys.stdout.isatty():
            verdict = f'\033[{color}m{verdict}\033[0m'
        title = '{robot}, {joints} joints: '.format_map(self.figures)
        return '\n'.join(['', title + verdict, *self.lines()])


class Track:
    """The latest messages of a topic by stamp [ns], written by one thread and read by another.

    Attributes:
        read: converts a received message to its value, when the value is requested: most of the
            thousands of messages per second are only counted.
        messages: stored messages by stamp.
        count: number of received messages.
        newest: stamp of the latest message; 0 before the first one.
    """

    def __init__(self, read: Callable[[Any], Any] = lambda message: message) -> None:
        self.read = read
        self.messages: dict[int, Any] = {}
        self.count = self.newest = 0

    @property
    def latest(self) -> Any:
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

    def misses(self, first: int, last: int) -> bool:
        """Whether there are gaps between the messages from one stamp to another [ns]."""
        stamps = [first, *sorted(t for t in self.messages.copy() if first < t < last), last]
        return any(later - earlier > _MAX_GAP for earlier, later in pairwise(stamps))


def matched(
    *tracks: Track, first: int = 0, last: float = math.inf, most: float = math.inf
) -> list[tuple[Any, ...]]:
    """Stamp and values of all stamps in a range [ns] that all of some topics have.

    Args:
        tracks: the topics.
        first, last: range of stamps.
        most: largest number of results, evenly spread.
    """
    # Copies, because the writer drops the oldest message at any time.
    copies = [track.messages.copy() for track in tracks]
    stamps = [t for t in copies[0] if first <= t <= last and all(t in copy for copy in copies)]
    return [
        (t, *(track.read(copy[t]) for track, copy in zip(tracks, copies, strict=True)))
        for t in stamps[:: max(1, math.ceil(len(stamps) / most))]
    ]


class Demonstration(ABC):
    """Rounds with a simulated robot and the nodes, each with a report.

    On an overloaded machine, messages are lost or late. An observer that missed joint states needs
    time to settle again, and its estimates in the meantime are neither right nor wrong. So a wrong
    estimate, or too few samples, is a failure only if no message of the round was missed.

    Attributes:
        report: report of the last complete round; before that, of the current one.
        current: report of the current round.
        first: newest stamp at the start of the current round [ns].
        complete: whether a round is complete.
        node: the node, whose callbacks run in a thread of their own; from ``run`` on.
        screen: the screen; from ``run`` on.
        tracks: stored topics by name.
    """

    rows: ClassVar[Sequence[tuple[str, str]]]
    """Rows of the summary of a report."""

    settling: ClassVar[float] = 0.0
    """Time from the first outputs to the first round [s]."""

    node: Node
    screen: Screen

    def __init__(self, running: Children, began: float, **figures: Any) -> None:
        """Start without a round.

        Args:
            running: the processes.
            began: start of the program [s, monotonic].
            figures: figures of all rounds.
        """
        self._running, self._began = running, began
        self._of_all = {**figures, 'rounds': 1}
        self.report = self.current = Report(self.rows, dict(self._of_all))
        self.first, self.complete = 0, False
        self.tracks: dict[str, Track] = {}
        self._services: list[Any] = []

    @abstractmethod
    def connect(self) -> None:
        """Subscribe to the topics, and create the clients of services."""

    @abstractmethod
    def round(self, duration: float) -> None:
        """Push the robot, and fill the current report within a duration [s]."""

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
            self.wait_for(self._silent)
            startup = self._of_all['startup_s'] = time.monotonic() - self._began
            self.report.figures['startup_s'] = startup
            with self.screen:
                self.screen.event(f'everything runs, {startup:.1f} s after the start')
                end = time.monotonic() + duration - 0.5 * _ROUND
                self.watch(self.settling)
                lasting = (duration - self.settling) / rounds if rounds else _ROUND
                while not self.complete or time.monotonic() < end:
                    if self.complete:
                        for line in self.report.lines():
                            self.screen.event(line)
                        self._of_all['rounds'] += 1
                        failures = list(self.report.failures)
                        self.current = Report(self.rows, dict(self._of_all), failures=failures)
                    self.first = max(track.newest for track in self.tracks.values())
                    self.round(lasting)
                    self.report, self.complete = self.current, True

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
    ) -> Track:
        """Subscribe to a topic as bytes; ``value`` converts a message when it is requested."""
        track = self.tracks[topic] = Track(lambda data: value(deserialize_message(data, kind)))
        receive = lambda data: track.add(stamp_of(data), data)  # noqa: E731
        self.node.create_subscription(kind, topic, receive, QoSProfile(depth=200), raw=True)
        return track

    def service(self, kind: Any, name: str) -> Any:
        """Client of a service, for which the first round waits."""
        self._services.append(self.node.create_client(kind, name))
        return self._services[-1]

    def _silent(self) -> list[str]:
        """Names of topics without a message so far, and of services that are not available."""
        return [name for name, track in self.tracks.items() if not track.count] + [
            client.srv_name for client in self._services if not client.service_is_ready()
        ]

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
        end = time.monotonic() + _TIMEOUT
        while names := missing():
            self._tick()
            if time.monotonic() > end:
                text = f'no message or service for {_TIMEOUT:.0f} s: {", ".join(names)}'
                raise DemonstrationError(text + self._running.last_words())

    def wait_until(self, stamp: int) -> None:
        """Wait until all topics have reached a stamp [ns]: a slow machine simulates later."""
        self.wait_for(lambda: [name for name, x in self.tracks.items() if x.newest < stamp])

    def expect(self, what: str, condition: bool, failure: str) -> None:
        """Note a failure unless a condition holds, or a slow machine if it missed messages."""
        last = max(track.newest for track in self.tracks.values())
        if condition or not any(x.misses(self.first, last) for x in self.tracks.values()):
            self.current.require(condition, failure)
        else:
            self.current.late[what] = f'{failure}; messages were missed'

    def push(self, frame: str, force: Array, duration: float) -> None:
        """Push a frame with a force (3) in root axes for a duration [s]."""
        request = ApplyWrench.Request(frame=frame, duration=duration_message(duration))
        fill(request.wrench, np.concatenate([force, np.zeros(3)]))
        self.call('push', self._push, request)

    def call(self, what: str, client: Any, request: Any) -> tuple[Any, float]:
        """Response of a service, and the time of the call [s].

        The response is None if the service has failed or was late, which goes into the report.
        """
        began, report = time.monotonic(), self.current
        arrivals: list[float] = []
        future = client.call_async(request)
        future.add_done_callback(lambda _: arrivals.append(time.monotonic()))
        while not arrivals and time.monotonic() - began < _TIMEOUT:
            # Without the screen, whose drawing would delay the response.
            self._running.check()
            time.sleep(0.0005)
        if not arrivals:
            client.remove_pending_request(future)
            report.require(False, f'{client.srv_name} has not answered in {_TIMEOUT:g} s')
            return None, math.inf
        response = future.result()
        code, took = response.result.code, arrivals[0] - began
        if code > 0:
            return response, took
        text = f'{client.srv_name}: code {code}, {response.result.message}'
        if code == Result.TIMED_OUT:
            report.late[what] = text
        else:
            report.require(False, text)
        return None, took

    def _tick(self) -> None:
        self._running.check()
        self.screen.update()
        time.sleep(_POLL_PERIOD)
