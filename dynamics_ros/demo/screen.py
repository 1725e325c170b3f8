# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Screen of the demonstration: a table that stays if ``rich`` is installed, otherwise lines.

Nothing is wider than 80 columns.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

try:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text
except ImportError:
    Console = None  # type: ignore[assignment, misc]

WIDTH = 80
"""Columns of the terminal that are used at most."""

BAR, HISTORY = 9, 50
"""Characters of a bar, and of a line over time."""

SAMPLE_PERIOD = 0.25
"""Time between two characters of a line over time [s]."""

_PERIODS = {True: 0.2, False: 1.0}  # s between updates, by whether they repaint the table
_ROWS = 8
_HEIGHTS = ' ▁▂▃▄▅▆▇█'


class Cell(NamedTuple):
    """A number of the table, whose bar is full at a limit; without a limit there is no bar."""

    value: float
    limit: float = math.inf


class View(NamedTuple):
    """What the screen shows.

    Attributes:
        title: its first line.
        head: names of the columns.
        rows: name and cells of each row.
        lines: values of now that are drawn over time with a common scale, by their names [N].
    """

    title: str
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    lines: Mapping[str, float]


class Screen:
    """Context that shows the latest view, below the events."""

    def __init__(self, view: Callable[[], View]) -> None:
        """Show the view that a function returns; it is called at most five times a second."""
        self._view = view
        self._live: Any = None
        self._began = time.monotonic()
        self._next_update, self._next_sample = math.inf, 0.0
        self._history: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=HISTORY))

    def __enter__(self) -> Screen:
        self._next_update = 0.0
        encodes = (sys.stdout.encoding or '').lower().startswith('utf')
        if Console is not None and sys.stdout.isatty() and encodes:
            console = Console(width=min(Console().width, WIDTH), highlight=False)
            self._live = Live(console=console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def event(self, text: str) -> None:
        """Print a line of text, which stays."""
        time_s = f'{time.monotonic() - self._began:6.1f} s  '
        lines = wrap(text, WIDTH, initial_indent=time_s, subsequent_indent=' ' * len(time_s))
        print('\n'.join(lines), flush=True)

    def update(self) -> None:
        """Update the output if its period has passed; nothing outside of the context."""
        now = time.monotonic()
        if now < self._next_update:
            return
        self._next_update = now + _PERIODS[self._live is not None]
        view = self._view()
        if self._live is None:
            values = [f'{name} {value:.2f} N' for name, value in view.lines.items()]
            self.event('; '.join([view.title, *values]))
            return
        if now >= self._next_sample:
            self._next_sample = now + SAMPLE_PERIOD
            for name, value in view.lines.items():
                self._history[name].append(value)
        self._live.update(self._block(view), refresh=True)

    def _block(self, view: View) -> Any:
        table = Table(box=None, padding=(0, 1, 0, 0), header_style='dim')
        table.add_column(view.head[0], max_width=18, no_wrap=True)
        for name in view.head[1:]:
            table.add_column(f'{name:>9}', no_wrap=True)
        for name, cells in view.rows[:_ROWS]:
            table.add_row(name, *map(_shown, cells))
        more = len(view.rows) - _ROWS
        lines = [Text(f'and {more} more', style='dim')] if more > 0 else []
        largest = max((x for values in self._history.values() for x in values), default=0.0)
        lines += [
            Text(f'{name:10} {over_time(self._history[name], largest)} {value:7.2f} N')
            for name, value in view.lines.items()
        ]
        title = Text(f'\n{view.title}', style='bold', overflow='fold')
        return Group(title, table, Text(), *lines)


def _shown(cell: Cell) -> Any:
    """A number, and a bar of its magnitude relative to its limit, red beyond it."""
    value, limit = cell
    known = math.isfinite(value)
    text = Text(f'{value:9.3f}' if known else f'{"-":>9}')
    if 0.0 < limit < math.inf:
        share = abs(value) / limit if known else 0.0
        bar = '█' * round(BAR * min(share, 1.0))
        text.append(f' {bar:{BAR}}', 'red' if share > 1.0 else 'cyan')
    return text


def over_time(values: Iterable[float], largest: float) -> str:
    """Values as a line of characters whose heights are relative to the largest one."""
    scale = 8.0 / largest if largest > 0.0 else 0.0
    return ''.join(_HEIGHTS[round(min(scale * x, 8.0))] for x in values).rjust(HISTORY)
