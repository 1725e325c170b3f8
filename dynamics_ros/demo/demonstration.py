"""The course of a demonstration: start, watch, push, ask, and see whether all of it was right."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions

from dynamics_ros.nodes.executor import dispose, make_executor, spin

from .client import Client, ServiceError
from .display import Display, listed
from .processes import ChildError, Children
from .report import Report
from .subject import Subject

_START_TIMEOUT = 20.0  # s
_ROUND = 12.0  # s, of one round when there is no end
_QUIET = 0.1  # share of a round before the push, in which nothing must be felt
_PUSH = 0.35  # share of a round that the push lasts
_LONGEST_PUSH = 4.0  # s
_PAUSE = 0.3  # s between the push and the services
_LONGEST_LAG = 3.0  # s that a busy machine may be behind
_LOOK = 0.02  # s between two looks at what has come


class Demonstration:
    """Runs the nodes on a simulated robot, round by round, each with its report.

    Attributes:
        report: of the last round that was completed; before, what is known so far.
        complete: whether a round has been completed.
    """

    def __init__(self, subject: Subject, running: Children, domain_id: int, began: float) -> None:
        """Make ready.

        Args:
            subject: the robot.
            running: the processes, the simulator among them.
            domain_id: ROS domain that the environment names.
            began: when the program was started [s, monotonic].
        """
        self.report = Report.of(subject, domain_id)
        self.complete = False
        self._subject = subject
        self._running = running
        self._domain_id = domain_id
        self._began = began
        self._rng = np.random.default_rng(0)

    def run(self, duration: float) -> None:
        """One round of so many seconds from the first output on, or without end when infinite.

        Raises:
            ChildError: a process has ended by itself, or is silent.
        """
        with _client(self._subject, self._running) as client:
            self._wait_for_output(client)
            self.report.startup_s = time.monotonic() - self._began
            display = Display(self._subject, client)
            display.event(f'everything runs, {self.report.startup_s:.1f} s after the start')
            self._round(client, display, _ROUND if math.isinf(duration) else duration)
            while math.isinf(duration):
                self._round(client, display, _ROUND)

    def _wait_for_output(self, client: Client) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        while silent := client.silent():
            self._running.check()
            if time.monotonic() > deadline:
                raise ChildError(
                    f'nothing in {_START_TIMEOUT:g} s on {", ".join(silent)}'
                    + self._running.last_words()
                )
            time.sleep(_LOOK)

    def _round(self, client: Client, display: Display, duration: float) -> None:
        report = Report.of(self._subject, self._domain_id)
        report.startup_s = self.report.startup_s
        began = time.monotonic()

        def watch(seconds: float) -> None:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                self._running.check()
                display.update()
                time.sleep(_LOOK)

        watch(_QUIET * duration)
        quiet = client.joint_states.newest
        push = min(_PUSH * duration, _LONGEST_PUSH)
        self._push(client, display, report, push)
        watch(push + _PAUSE)
        self._catch_up(client)
        report.measure_push(client, self._subject, quiet, push)
        self._tell_push(display, report)
        self._solve(client, display, report)
        watch(_PAUSE)
        self._compute_torques(client, display, report)
        watch(began + duration - time.monotonic())

        report.duration_s = time.monotonic() - began
        report.require(client.alone(), f'another robot is in domain {self._domain_id}')
        report.measure_rate(client)
        report.measure_poses(client)
        report.measure_gravity(client, self._subject)
        self.report, self.complete = report, True

    def _catch_up(self, client: Client) -> None:
        """Wait until the estimates of all that has been simulated so far are there."""
        now = client.true_wrench.newest
        deadline = time.monotonic() + _LONGEST_LAG
        while client.wrench.newest < now and time.monotonic() < deadline:
            self._running.check()
            time.sleep(_LOOK)

    def _push(self, client: Client, display: Display, report: Report, duration: float) -> None:
        force = self._subject.force
        size = float(np.linalg.norm(force))
        text = ', '.join(f'{component:.2f}' for component in force)
        display.event(f'push at {self._subject.tool}: ({text}) N, {size:.2f} N, {duration:.1f} s')
        try:
            client.push(force, duration)
        except ServiceError as error:
            report.require(False, str(error))

    def _tell_push(self, display: Display, report: Report) -> None:
        if report.push_detected_after_ms is not None:
            link = f'at link {report.contact_link}' if report.contact_link else 'at no known link'
            display.event(f'detected after {report.push_detected_after_ms:.0f} ms, {link}')
        if report.push_error_percent is not None:
            display.event(
                f'estimated {report.push_estimated_n:.2f} N of {report.push_true_n:.2f} N, '
                f'{report.push_compared} off by {report.push_error_percent:.2f} %'
            )

    def _solve(self, client: Client, display: Display, report: Report) -> None:
        target = self._subject.reference.pose(self._subject.target(), self._subject.tool)
        try:
            q, took = client.inverse_kinematics(target)
        except ServiceError as error:
            report.require(False, str(error))
            return
        report.measure_inverse_kinematics(self._subject, target, q, took)
        display.event(f'inverse kinematics in {took * 1e3:.1f} ms: {listed(q)}')

    def _compute_torques(self, client: Client, display: Display, report: Report) -> None:
        state = client.newest_state()
        a = self._rng.uniform(-1.0, 1.0, size=self._subject.robot.nv)
        try:
            torques, took = client.inverse_dynamics(state, a)
        except ServiceError as error:
            report.require(False, str(error))
            return
        truth = self._subject.reference.inverse_dynamics(state.q, state.v, a)
        report.measure_inverse_dynamics(truth, torques, took)
        display.event(f'inverse dynamics in {took * 1e3:.1f} ms, Nm: {listed(torques)}')


@contextmanager
def _client(subject: Subject, running: Children) -> Iterator[Client]:
    """The client node, spun by a thread of its own."""
    # Signals are for the main thread, which ends the children before anything else.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    client = Client(subject, running.check)
    executor = make_executor()
    executor.add_node(client.node)
    thread = threading.Thread(target=spin, args=(executor, client.node), daemon=True)
    thread.start()
    try:
        yield client
    finally:
        rclpy.try_shutdown()
        thread.join(timeout=2.0)
        dispose(executor, [client.node])
