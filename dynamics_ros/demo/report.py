# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Report of a demonstration: its figures, what the machine was too slow for, and failures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import ClassVar

from .screen import WIDTH

GREEN, RED, YELLOW, PLAIN = (f'\033[{n}m' for n in (32, 31, 33, 0))
"""Escape sequences of a terminal."""

_MAX_FAILURES = 20  # stored, because an endless demonstration may fail in each round


@dataclass(kw_only=True)
class Report:
    """Figures of a demonstration; None if they were not determined.

    Attributes:
        rows: rows of the summary: formats of a name and of figures.
        late: figures that this machine was too slow for, with the reason; these are no failures.
        failures: failures of this round and of earlier ones, one line each.
    """

    rows: ClassVar[Sequence[tuple[str, str]]] = ()
    robot: str
    joints: int
    late: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def require(self, condition: bool, failure: str) -> None:
        """Add a failure, unless the condition holds or the failure is listed already."""
        full = failure in self.failures or len(self.failures) >= _MAX_FAILURES
        if not condition and not full:
            self.failures.append(failure)

    def summary(self) -> str:
        """The figures as text."""
        lines = []
        for name, figures in self.rows:
            try:
                text = figures.format(self)
            except TypeError:  # of a figure that is None
                text = '-'
            if name or text != '-':
                lines.append(f'  {name.format(self):30}{text}')
        for figure, how in self.late.items():
            lines += wrap(
                f'too slow for {figure}: {how}',
                WIDTH,
                initial_indent='  ',
                subsequent_indent='    ',
            )
        color, verdict = GREEN, 'all of it worked'
        if self.failures:
            color, verdict = RED, 'failed'
        elif self.late:
            color = YELLOW
            verdict = 'nothing was wrong, the machine was too slow'
        if sys.stdout.isatty():
            verdict = f'{color}{verdict}{PLAIN}'
        return '\n'.join(['', f'{self.robot}, {self.joints} joints: {verdict}', *lines])
