"""The course of a demonstration: start, watch, push, ask, and see whether all of it was right."""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import rclpy
from rclpy.executors import Executor

from dynamics_ros.nodes.executor import make_executor, spin

from .client import Client, ServiceError
from .display import Display
from .processes import Child, ChildError, children
from .report import Report
from .subject import Subject

_START_TIMEOUT = 20.0  # s
_FASTEST_START = 5.0  # s that the start may take once everything is built
_CYCLE = 12.0  # s that a round takes when there is no end
_QUIET = 0.1  # share of the time before the push, in which nothing must be felt
_PUSH = 0.35  # share of the time that the push lasts
_LONGEST_PUSH = 4.0  # s
_SETTLED = 0.4  # share of the push after which it counts as steady
_EDGE = 50_000_000  # ns left out at the end of the push
_PAUSE = 0.5  # s after the push before the services are asked
_LOOK = 0.02  # s between two looks

SHORTEST = 5.0
"""s that a demonstration needs."""


class Demonstration:
    """Runs the nodes on a simulated robot and fills a report.

    Args:
        subject: the robot.
        domain_id: ROS domain that the environment names.
    """

    def __init__(self, subject: Subject, domain_id: int) -> None:
        self._subject = subject
        self._domain_id = domain_id
        self.report = Report.of(subject, domain_id)
        self.complete = False

    def run(self, duration: float, began: float) -> None:
        """Show everything, once in so many seconds, or again and again when it is infinite.

        Args:
            duration: from the first output on [s].
            began: when the program was started [s, monotonic].

        Raises:
            ChildError: a process has ended by itself, or is silent.
            ServiceError: a service has failed.
        """
        with tempfile.TemporaryDirectory(prefix='dynamics_ros_demo_') as folder:
            with children() as running:
                for executable, parameters in (
                    ('robot_simulator', self._subject.simulator_parameters()),
                    ('dynamics_ros', self._subject.node_parameters()),
                ):
                    running.append(Child(executable, parameters, Path(folder)))
                with _client(self._subject) as client:
                    self._show(client, running, duration, began)

    def _show(self, client: Client, running: list[Child], duration: float, began: float) -> None:
        self._wait_for_output(client, running)
        self.report.startup_s = time.monotonic() - began
        display = Display(self._subject, client)
        display.event(f'everything is running after {self.report.startup_s:.1f} s')
        while True:
            course = _Course(self._subject, client, running, display, self.report)
            course.run(min(duration, _CYCLE))
            course.run_until(began + self.report.startup_s + min(duration, 1e9))
            self.complete = True
            if math.isfinite(duration):
                return

    def _wait_for_output(self, client: Client, running: list[Child]) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        while silent := client.silent():
            for child in running:
                child.check()
            if time.monotonic() > deadline:
                words = ''.join(child.last_words() for child in running)
                raise ChildError(f'nothing after {_START_TIMEOUT:g} s on {", ".join(silent)}{words}')
            time.sleep(_LOOK)
