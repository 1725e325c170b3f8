# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measures a process that answers joint states: answers, latency, cost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future

from benchmarks.ros_source import STAMP, STAMP_OFFSET
from dynamics_ros.nodes.process import make_executor

TIMEOUT = 30.0
"""Timeout for a process that does nothing [s]."""

QUIET = 1.0
"""Time without an answer after which no more are expected [s]."""

OBSERVED = 3.0
"""Duration of joint states before messages are captured [s]."""

DEEP = QoSProfile(depth=5000)
"""Profile of counted topics, with a queue that loses nothing in this process."""

SHALLOW = QoSProfile(depth=1)
"""Profile of topics that are subscribed to but not read."""


@dataclass(frozen=True)
class Measurement:
    """Measurement of a process over a number of states.

    Attributes:
        sent, received: numbers of states and answers.
        seconds: time from the first to the last state [s].
        cpu: processor time of the process [s].
        latencies: (n) times from sending the last part to reading the answer [us].
        memory: resident memory [MB], once a second.
    """

    sent: int
    received: int
    seconds: float
    cpu: float
    latencies: Any
    memory: tuple[float, ...]

    @property
    def cost(self) -> float:
        """Processor time per answered state [us]."""
        return 1e6 * self.cpu / max(self.received, 1)

    @property
    def lost(self) -> float:
        """Share of states without an answer."""
        return max(0.0, 1.0 - self.received / self.sent)

    def percentile(self, percent: float) -> float:
        """Percentile of the latencies [us]; NaN without any."""
        return float(np.percentile(self.latencies, percent)) if len(self.latencies) else np.nan


class Meter:
    """Subscribes to all outputs of a process, and reads one of them."""

    def __init__(self) -> None:
        rclpy.init()
        self.executor = make_executor()
        self._read = Node('benchmark_meter')
        self._unread = Node('benchmark_listener')  # not spun: its messages stay in the middleware
        self.executor.add_node(self._read)
        self._arrivals: list[tuple[int, bytes]] = []

    def close(self) -> None:
        """Destroy the nodes and shut down rclpy."""
        for node in (self._read, self._unread):
            node.destroy_node()
        self.executor.shutdown()
        rclpy.shutdown()

    def spin(self, until: Callable[[], bool], meanwhile: Callable[[], None]) -> None:
        """Spin until a condition holds, with repeated calls of ``meanwhile``.

        Raises:
            TimeoutError: the condition does not hold within ``TIMEOUT``.
        """
        deadline = time.monotonic() + TIMEOUT
        while not until():
            if time.monotonic() > deadline:
                raise TimeoutError('a process of the benchmark does not answer')
            meanwhile()
            self.executor.spin_until_future_complete(Future(), timeout_sec=0.005)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Context in which unread topics have their own participant.

        A participant has room for 512 messages of all topics while the machine pauses.
        """
        usual, context = self._unread, rclpy.Context()
        rclpy.init(context=context)
        self._unread = Node('benchmark_listener_apart', context=context)
        try:
            yield
        finally:
            self._unread.destroy_node()
            self._unread = usual
            rclpy.shutdown(context=context)

    @contextmanager
    def listening(self, kinds: Mapping[str, str], timed: str) -> Iterator[None]:
        """Context with subscriptions to topics, of which the timed one is read."""
        subscriptions = []
        for topic, kind in kinds.items():
            node = self._read if topic == timed else self._unread
            qos = DEEP if topic == timed else SHALLOW
            subscriptions.append(
                (
                    node,
                    node.create_subscription(type_of(kind), topic, self._on_answer, qos, raw=True),
                )
            )
        try:
            yield
        finally:
            for node, subscription in subscriptions:
                node.destroy_subscription(subscription)

    @contextmanager
    def publishing(
        self, namespace: str, turn: Sequence[Sequence[tuple[str, Any]]]
    ) -> Iterator[Callable[[], None]]:
        """Context with a function that publishes a state with the current stamp.

        Args:
            namespace: namespace of the process.
            turn: topics and messages of all publishers, see ``ros_source``.
        """
        pairs = [
            (self._read.create_publisher(type(message), f'/{namespace}/{topic}', 10), message)
            for part in turn
            for topic, message in part
        ]

        def publish() -> None:
            seconds, rest = divmod(time.monotonic_ns(), 10**9)
            for publisher, message in pairs:
                message.header.stamp.sec, message.header.stamp.nanosec = seconds, rest
                publisher.publish(message)

        try:
            yield publish
        finally:
            for publisher, _ in pairs:
                self._read.destroy_publisher(publisher)

    def _on_answer(self, data: bytes) -> None:
        self._arrivals.append((time.monotonic_ns(), data[STAMP_OFFSET : STAMP_OFFSET + 8]))

    def first_answer(self, publish: Callable[[], None]) -> float:
        """Monotonic time of the first answer to states that are published from now on [s]."""
        self._arrivals.clear()
        begun = time.monotonic_ns()

        def found() -> list[int]:
            # Exclude late answers to earlier states.
            return [at for at, stamp in self._arrivals if nanoseconds(stamp) >= begun]

        self.spin(lambda: bool(found()), publish)
        return found()[0] * 1e-9

    def captured(self, kinds: Mapping[str, str], publish: Callable[[], None]) -> dict[str, bytes]:
        """One message of each topic, as bytes."""
        found: dict[str, bytes] = {}
        subscriptions = [
            self._read.create_subscription(
                type_of(kind), topic, lambda m, t=topic: found.__setitem__(t, m), DEEP, raw=True
            )
            for topic, kind in kinds.items()
        ]
        # Skip the first messages, which come before the observer has settled.
        begun = time.monotonic() + OBSERVED
        self.spin(lambda: len(found) == len(kinds) and time.monotonic() > begun, publish)
        for subscription in subscriptions:
            self._read.destroy_subscription(subscription)
        return found

    def told(self, name: str, keys: Sequence[str]) -> list[float]:
        """Numbers in the diagnostics of a node.

        Args:
            name: name of the status.
            keys: keys of the numbers.
        """
        found: dict[str, str] = {}

        def hear(message: DiagnosticArray) -> None:
            for status in message.status:
                if status.name == name:
                    found.update({pair.key: pair.value for pair in status.values})

        subscription = self._read.create_subscription(DiagnosticArray, '/diagnostics', hear, 100)
        self.spin(lambda: bool(found), lambda: None)
        self._read.destroy_subscription(subscription)
        return [float(found[key]) for key in keys]

    def measure(
        self,
        pid: int,
        namespace: str,
        folder: Path,
        rate: float,
        seconds: float,
        *,
        wait: float = 0.0,
    ) -> Measurement:
        """Send states at a rate and measure the answers.

        Args:
            pid: process ID of the answering process.
            namespace: its namespace.
            folder: folder with the messages, see ``ros_source``.
            rate: rate of the states [Hz].
            seconds: duration [s].
            wait: time from the stamp of a state to the sending of its last part [s].
        """
        self._arrivals.clear()
        where = ('--ros-args', '-r', f'__ns:=/{namespace}')
        source = start('ros_source', str(folder), str(rate), str(seconds), *where, piped=True)
        found: dict[str, Any] = {'memory': []}
        done: Future[None] = Future(executor=self.executor)

        def watch() -> None:
            assert source.stdout is not None
            source.stdout.readline()
            found['cpu'] = -cpu_seconds(pid)
            ended = threading.Event()

            def sample() -> None:
                while not ended.wait(1.0):
                    found['memory'].append(resident(pid))

            sampler = threading.Thread(target=sample)
            sampler.start()
            found['end'] = source.stdout.readline().split()
            ended.set()
            sampler.join()
            found['cpu'] += cpu_seconds(pid)
            self.executor.create_task(done.set_result, None)

        watcher = threading.Thread(target=watch)
        watcher.start()
        self.executor.spin_until_future_complete(done, timeout_sec=seconds + TIMEOUT)
        watcher.join()
        _, sent, first, last = found['end']
        count, since = -1, time.monotonic()
        while time.monotonic() < since + QUIET:
            if len(self._arrivals) != count:
                count, since = len(self._arrivals), time.monotonic()
            if self._arrivals and nanoseconds(self._arrivals[-1][1]) >= int(last):
                break
            self.executor.spin_until_future_complete(Future(), timeout_sec=0.05)
        source.communicate('\n', timeout=TIMEOUT)
        pairs = np.array([(at, nanoseconds(raw)) for at, raw in self._arrivals], dtype=np.int64)
        pairs = pairs.reshape(-1, 2)
        pairs = pairs[(pairs[:, 1] >= int(first)) & (pairs[:, 1] <= int(last))]
        return Measurement(
            sent=int(sent),
            received=len(pairs),
            seconds=(int(last) - int(first)) * 1e-9,
            cpu=found['cpu'],
            latencies=(pairs[:, 0] - pairs[:, 1]) * 1e-3 - 1e6 * wait,
            memory=tuple(found['memory']),
        )


def start(module: str, *arguments: str, piped: bool = False) -> subprocess.Popen[str]:
    """Start a module of this package in its own process."""
    return launched([sys.executable, '-m', f'benchmarks.{module}', *arguments], piped=piped)


def launched(command: Sequence[str], *, piped: bool = False) -> subprocess.Popen[str]:
    """Start a process without output."""
    pipe = subprocess.PIPE if piped else None
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe or subprocess.DEVNULL, stderr=None, text=True
    )


def type_of(name: str) -> Any:
    """Class of a message type, written package/Name."""
    package, kind = name.split('/')
    return getattr(import_module(f'{package}.msg'), kind)


def nanoseconds(stamp: bytes) -> int:
    """Time of the stamp in the header of a serialised message [ns]."""
    seconds, rest = STAMP.unpack(stamp)
    return int(seconds * 10**9 + rest)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its threads [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def resident(pid: int) -> float:
    """Resident memory of a process [MB]."""
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20
