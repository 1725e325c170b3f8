# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Course of a demonstration: start the nodes, watch, push, call services, check the results."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from dynamics_ros.nodes.app.executor import dispose, make_executor, spin

from .client import Client, LateError, ServiceError, UnansweredError
from .display import Display, listed
from .measures import Measures
from .processes import ChildError, Children
from .report import Report
from .subject import Subject

Answer = TypeVar('Answer')

_SLOW_START = 20.0  # s, after which the machine is reported to be slow
_START_TIMEOUT = 120.0  # s
_ROUND = 12.0  # s, duration of a round, if there are several
_QUIET = 0.1  # share of a round before the push, in which no contact may be reported
_PUSH = 0.35  # share of a round that the push lasts
_MAX_PUSH_DURATION = 4.0  # s
_PAUSE = 0.3  # s, between the push and the service calls
_HANG_TIMEOUT = 60.0  # s without a new message, after which a process is considered to hang
_SLOW_SERVICE = 10.0  # s
_MIN_SHARE = 0.8  # share of joint states processed in real time, above which a node keeps up
_POLL_PERIOD = 0.02  # s, period of checks for new messages


class Demonstration:
    """Runs the nodes on a simulated robot in rounds, each with a report.

    Attributes:
        report: report of the last complete round; before that, of the current one.
        complete: whether a round is complete.
    """

    def __init__(self, subject: Subject, running: Children, domain_id: int, began: float) -> None:
        """Prepare a demonstration.

        Args:
            subject: the robot.
            running: the child processes, which include the simulator.
            domain_id: ROS domain ID.
            began: start time of the program [s, monotonic].
        """
        self.report = Report.of(subject, domain_id)
        self.report.require(not subject.robot.massless_bodies, subject.robot.model.doubt)
        self.complete = False
        self._subject = subject
        self._running = running
        self._domain_id = domain_id
        self._began = began
        self._rng = np.random.default_rng(0)
        self._display: Display | None = None

    def run(self, duration: float) -> None:
        """Run rounds for a duration [s] from the first outputs on; infinite: until interrupted.

        Raises:
            ChildError: a process has ended or sends no messages.
        """
        rounds = 0 if math.isinf(duration) else max(1, round(duration / _ROUND))
        with spun(lambda: Client(self._subject, self._tick)) as client:
            self._wait_for_output(client)
            self.report.startup_s = time.monotonic() - self._began
            self._display = display = Display(self._subject, client)
            display.event(f'everything runs, {self.report.startup_s:.1f} s after the start')
            end = time.monotonic() + duration - 0.5 * _ROUND
            while not self.complete or time.monotonic() < end:
                self._round(client, display, duration / rounds if rounds else _ROUND)

    def _tick(self) -> None:
        """Check the processes and update the display; called every few milliseconds."""
        self._running.check()
        if self._display is not None:
            self._display.update()

    def _wait_for_output(self, client: Client) -> None:
        began, announced = time.monotonic(), False
        while silent := client.silent():
            self._tick()
            waited = time.monotonic() - began
            text = f'in {waited:.0f} s on {", ".join(silent)}'
            if waited > _START_TIMEOUT:
                raise ChildError(f'nothing {text}{self._running.last_words()}')
            if waited > _SLOW_START and not announced:
                print(f'this machine is slow: nothing {text}', flush=True)
                announced = True
            time.sleep(_POLL_PERIOD)

    def _watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._tick()
            time.sleep(_POLL_PERIOD)

    def _round(self, client: Client, display: Display, duration: float) -> None:
        report = self.report.next() if self.complete else self.report
        measures = Measures(
            report, client, self._subject, self._tick, first=client.joint_states.newest
        )
        began, count = time.monotonic(), client.joint_states.count

        self._watch(_QUIET * duration)
        quiet = client.joint_states.newest
        push = min(_PUSH * duration, _MAX_PUSH_DURATION)
        self._push(client, display, report, push)
        self._watch(push + _PAUSE)
        self._catch_up(client, quiet + round((push + _PAUSE) * 1e9))
        measures.push(quiet, push)
        self._report_push(display, report)
        self._solve(client, display, report)
        self._watch(_PAUSE)
        self._compute_torques(client, display, report)
        self._watch(began + duration - time.monotonic())

        report.duration_s = time.monotonic() - began
        report.require(client.alone(), f'another robot is in domain {self._domain_id}')
        measures.rate(client.joint_states.count - count, report.duration_s)
        measures.poses()
        measures.gravity()
        for figure, how in report.late.items():
            display.event(f'this machine is too slow: {figure}, {how}')
        self.report, self.complete = report, True

    def _catch_up(self, client: Client, stamp: int) -> None:
        """Wait until simulation and estimates have reached a stamp [ns].

        Raises:
            ChildError: a topic has no new messages.
        """
        before, since = client.received(), time.monotonic()
        while min(client.true_wrench.newest, client.wrench.newest) < stamp:
            self._tick()
            now, received = time.monotonic(), client.received()
            if all(received[name] > count for name, count in before.items()):
                before, since = received, now
            elif now - since > _HANG_TIMEOUT:
                silent = [name for name, count in before.items() if received[name] == count]
                raise ChildError(f'nothing in {_HANG_TIMEOUT:g} s on {", ".join(silent)}')
            time.sleep(_POLL_PERIOD)

    def _push(self, client: Client, display: Display, report: Report, duration: float) -> None:
        force = self._subject.force
        size = float(np.linalg.norm(force))
        text = ', '.join(f'{component:.2f}' for component in force)
        display.event(f'push at {self._subject.tool}: ({text}) N, {size:.2f} N, {duration:.1f} s')
        self._call_service(client, report, 'push', lambda: client.push(force, duration))

    def _call_service(
        self, client: Client, report: Report, figure: str, question: Callable[[], Answer]
    ) -> Answer | None:
        """Response of a service; None if it failed, which is added to the report."""
        began, outputs = time.monotonic(), client.wrench.count
        try:
            answer = question()
        except LateError as error:
            report.came_late(figure, str(error))
        except UnansweredError as error:
            waited = time.monotonic() - began
            if client.wrench.count - outputs < _MIN_SHARE * waited * client.rate():
                report.came_late(figure, str(error))
            else:
                report.require(False, str(error))
        except ServiceError as error:
            report.require(False, str(error))
        else:
            waited = time.monotonic() - began
            if waited > _SLOW_SERVICE:
                report.came_late(figure, f'answered after {waited:.0f} s')
            return answer
        return None

    def _report_push(self, display: Display, report: Report) -> None:
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
        answer = self._call_service(
            client, report, 'inverse kinematics', lambda: client.inverse_kinematics(target)
        )
        if answer is None:
            return
        q, took = answer
        report.measure_inverse_kinematics(self._subject, target, q, took)
        display.event(f'inverse kinematics in {took * 1e3:.1f} ms: {listed(q)}')

    def _compute_torques(self, client: Client, display: Display, report: Report) -> None:
        state = client.newest_state()
        a = self._rng.uniform(-1.0, 1.0, size=self._subject.robot.nv)
        answer = self._call_service(
            client, report, 'inverse dynamics', lambda: client.inverse_dynamics(state, a)
        )
        if answer is None:
            return
        torques, took = answer
        truth = self._subject.reference.inverse_dynamics(state.q, state.v, a)
        report.measure_inverse_dynamics(truth, torques, took)
        display.event(f'inverse dynamics in {took * 1e3:.1f} ms, Nm: {listed(torques)}')


class _HasNode(Protocol):
    node: Node


Spun = TypeVar('Spun', bound=_HasNode)


@contextmanager
def spun(make: Callable[[], Spun]) -> Iterator[Spun]:
    """Context with a client whose node is spun in its own thread."""
    # Signals are for the main thread, which ends the child processes first.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    client = make()
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
