# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rounds of a demonstration, and the report of each: figures, lateness and failures."""

from __future__ import annotations

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, ClassVar

from .client import Client, ServiceError, spun
from .processes import Children
from .screen import WIDTH, Screen, View

GREEN, RED, YELLOW, PLAIN = (f'\033[{n}m' for n in (32, 31, 33, 0))
"""Escape sequences of a terminal."""

Rows = Sequence[tuple[str, str]]

_MAX_FAILURES = 20  # stored, because an endless demonstration may fail in each round
_ROUND = 12.0  # s, duration of a round, if there are several


@dataclass
class Report:
    """Report of a round.

    Attributes:
        rows: rows of the summary: formats of a name and of figures.
        figures: figures by name; None if they were not determined.
        late: figures that this machine was too slow for, with the reason; these are no failures.
        failures: failures of this round and of earlier ones, one line each.
    """

    rows: Rows
    figures: dict[str, Any]
    late: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def require(self, condition: bool, failure: str) -> None:
        """Add a failure, unless the condition holds or the failure is listed already."""
        full = failure in self.failures or len(self.failures) >= _MAX_FAILURES
        if not condition and not full:
            self.failures.append(failure)

    def json(self) -> dict[str, Any]:
        """All of it as one object."""
        return {**self.figures, 'late': self.late, 'failures': self.failures}

    def summary(self) -> str:
        """The figures as text."""
        lines = []
        for name, row in self.rows:
            try:
                text = row.format_map(self.figures)
            except TypeError:  # of a figure that is None
                text = '-'
            if name or text != '-':
                lines.append(f'  {name.format_map(self.figures):30}{text}')
        for figure, how in self.late.items():
            text = f'too slow for {figure}: {how}'
            lines += wrap(text, WIDTH, initial_indent='  ', subsequent_indent='    ')
        color, verdict = GREEN, 'all of it worked'
        if self.failures:
            color, verdict = RED, 'failed'
        elif self.late:
            color, verdict = YELLOW, 'nothing was wrong, the machine was too slow'
        if sys.stdout.isatty():
            verdict = f'{color}{verdict}{PLAIN}'
        title = '{robot}, {joints} joints: '.format_map(self.figures)
        return '\n'.join(['', title + verdict, *lines])


class Demonstration(ABC):
    """Rounds with a simulated robot and the nodes, each with a report.

    Attributes:
        report: report of the last complete round; before that, of the current one.
        complete: whether a round is complete.
    """

    rows: ClassVar[Rows]
    """Rows of the summary of a report."""

    measured: ClassVar[tuple[str, ...]]
    """Names of the figures of a round."""

    settling: ClassVar[float] = 0.0
    """Time from the first outputs to the first round [s]."""

    def __init__(self, running: Children, began: float, **figures: Any) -> None:
        """Start without a round.

        Args:
            running: the processes.
            began: start of the program [s, monotonic].
            figures: figures of all rounds.
        """
        self._running, self._began = running, began
        self.report = Report(self.rows, {**figures, 'rounds': 1, **dict.fromkeys(self.measured)})
        self.complete = False

    @abstractmethod
    def subscribe(self, client: Client) -> None:
        """Subscribe to the topics and services of the nodes."""

    @abstractmethod
    def round(self, client: Client, screen: Screen, report: Report, duration: float) -> None:
        """Push the robot, and fill the report within a duration [s]."""

    @abstractmethod
    def view(self) -> View:
        """What the screen shows now."""

    def run(self, duration: float) -> None:
        """Run rounds for a duration [s] from the first outputs on; infinite: until interrupted.

        Raises:
            DemonstrationError: a process has ended or sends no messages.
        """
        rounds = 0 if math.isinf(duration) else max(1, round(duration / _ROUND))
        with spun(self._running) as client:
            self.subscribe(client)
            client.wait_for(client.silent)
            startup = time.monotonic() - self._began
            self.report.figures['startup_s'] = startup
            with Screen(self.view) as screen:
                client.show = screen.update
                screen.event(f'everything runs, {startup:.1f} s after the start')
                end = time.monotonic() + duration - 0.5 * _ROUND
                client.watch(self.settling)
                lasting = (duration - self.settling) / rounds if rounds else _ROUND
                while not self.complete or time.monotonic() < end:
                    report = self.report
                    if self.complete:
                        of_all = {**report.figures, **dict.fromkeys(self.measured)}
                        of_all['rounds'] += 1
                        report = Report(self.rows, of_all, failures=list(report.failures))
                    self.round(client, screen, report, lasting)
                    self.report, self.complete = report, True


@contextmanager
def reported(report: Report, figure: str) -> Iterator[None]:
    """Context in which a service that fails, or is late with a figure, goes into a report."""
    try:
        yield
    except ServiceError as error:
        if error.late:
            report.late[figure] = str(error)
        else:
            report.require(False, str(error))
