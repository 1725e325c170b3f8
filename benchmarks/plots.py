# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of records: ratios to peers, and figures relative to goals. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.records import Goal, Record

OF_GOALS = 'figure / goal'

WIDTH, ROW, AROUND = 9.0, 0.24, 1.3
"""Width of a plot, height of a case, height of a panel without its cases [inch]."""

LETTERS = 100
"""Number of letters in a row of the legend."""

UNKNOWN = '$?$'
"""Marker of a figure that could not be measured."""

NAMED = 10
"""Number of robots above which all have one colour and no legend, to show the scatter."""


@dataclass(frozen=True)
class Mark:
    """One marker in a panel.

    Attributes:
        case, robot: measured case.
        share: figure over that of the peer, or over the goal; infinite for a goal of 0 that is not
            met, NaN if there is no figure.
        limits: goal and stretch goal in the same unit.
        at_least: whether larger figures are better.
        missed: whether the goal is missed.
    """

    case: str
    robot: str
    share: float
    limits: tuple[float, ...] = ()
    at_least: bool = False
    missed: bool = False


def plottable() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def draw(suite: str, records: Iterable[Record], folder: Path) -> Path | None:
    """Write SUITE.png; return None, after a message, if no figure has a peer or a goal."""
    picture = picture_of(suite, panels(records))
    if picture is None:
        print(f'no plot of {suite}: no figure has a peer or a goal')
        return None
    return save(picture, folder / f'{suite}.png')


def save(picture: Any, file: Path) -> Path:
    """Write a matplotlib figure, and print its path."""
    file.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(file, dpi=110)
    print(f'plot: {file}')
    return file


def panels(records: Iterable[Record]) -> dict[str, list[Mark]]:
    """Markers of the panels: ratios to each peer, and figures over goals of values."""
    found: dict[str, list[Mark]] = {}
    goals: list[Mark] = []
    for record in records:
        goal = record.goal
        if record.ratio is not None:
            own = goal if goal is not None and goal.of == 'ratio' else None
            mark = _mark(record, record.ratio, own, 1.0)
            found.setdefault(f'ours / {record.peer}', []).append(mark)
        if goal is not None and goal.of == 'value':
            goals.append(_mark(record, _share(record.value, goal.limit), goal, goal.limit))
    return found | ({OF_GOALS: goals} if goals else {})


def _mark(record: Record, share: float, goal: Goal | None, unit: float) -> Mark:
    """Marker of a record, with its goals divided by a unit."""
    if goal is None:
        return Mark(record.case, record.robot, share)
    limits = [goal.limit] if goal.stretch is None else [goal.limit, goal.stretch]
    shares = tuple(_share(limit, unit) for limit in limits)
    return Mark(
        record.case, record.robot, share, shares, goal.at_least, missed=record.verdict == 'FAIL'
    )


def _share(value: float, unit: float) -> float:
    """Quotient; for a unit of 0, 1 if the value is 0, and infinite otherwise."""
    if unit != 0.0:
        return value / unit
    return 1.0 if value == 0.0 else value * math.inf


def picture_of(suite: str, of: dict[str, list[Mark]]) -> Any:
    """Matplotlib figure with a panel for each peer and one for goals; None without panels."""
    from matplotlib.figure import Figure

    if not of:
        return None
    heights = [AROUND + ROW * len(_cases(marks)) for marks in of.values()]
    picture = Figure(figsize=(WIDTH, sum(heights)), layout='constrained')
    axes = picture.subplots(len(of), 1, squeeze=False, height_ratios=heights)[:, 0]
    robots = list(dict.fromkeys(mark.robot for marks in of.values() for mark in marks))
    for axis, (title, marks) in zip(axes, of.items(), strict=True):
        _panel(axis, marks, robots)
        axis.set_xlabel(title)
    axes[0].set_title(f'{suite}: goals are ticks, a goal that is missed is a cross')
    handles, labels = _legend(robots)
    if labels:
        columns = max(1, min(5, LETTERS // max(map(len, labels))))
        picture.legend(handles, labels, loc='outside upper center', ncols=columns, fontsize='small')
    return picture


def _cases(marks: Iterable[Mark]) -> list[str]:
    return list(dict.fromkeys(mark.case for mark in marks))


def _color(robot: str, robots: list[str]) -> str:
    return f'C{robots.index(robot)}' if len(robots) <= NAMED else 'C0'


def _legend(robots: list[str]) -> tuple[list[Any], list[str]]:
    """A marker and a name for each robot; empty for more than `NAMED` robots."""
    from matplotlib.lines import Line2D

    named = [robot for robot in robots if robot] if len(robots) <= NAMED else []
    dots = [Line2D([], [], marker='o', linestyle='', color=_color(x, robots)) for x in named]
    return dots, named


def _panel(axis: Any, marks: list[Mark], robots: list[str]) -> None:
    """Draw a row for each case, on a logarithmic axis with a line at 1."""
    from matplotlib.ticker import LogFormatter

    cases, here = _cases(marks), list(dict.fromkeys(mark.robot for mark in marks))
    drawn = [x for mark in marks for x in (mark.share, *mark.limits) if 0.0 < x < math.inf]
    least, most = min([*drawn, 0.5]) / 1.5, max([*drawn, 2.0]) * 1.5
    margin = (most / least) ** 0.02
    for mark in marks:
        row = cases.index(mark.case)
        # Robots are offset vertically within a row, so that their markers do not overlap.
        y = row + 0.6 * ((here.index(mark.robot) + 0.5) / len(here) - 0.5)
        x, shape = _place(mark, least, most)
        axis.plot(
            *(x, y),
            marker=shape,
            markersize=8 if shape == UNKNOWN else 5,
            linestyle='',
            color=_color(mark.robot, robots),
        )
        for limit in mark.limits:
            axis.plot([limit, limit], [row - 0.4, row + 0.4], 'k-', linewidth=1.0)
    axis.axvline(1.0, color='0.5', linewidth=0.8, zorder=0)
    axis.set(xscale='log', xlim=(least / margin, most * margin), ylim=(len(cases) - 0.4, -0.6))
    axis.xaxis.set_major_formatter(LogFormatter())
    axis.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
    more = {mark.case for mark in marks if mark.at_least}
    labels = [f'{case} (more is better)' if case in more else case for case in cases]
    axis.set_yticks(range(len(cases)), labels, fontsize='small')
    axis.grid(axis='x', alpha=0.3)


def _place(mark: Mark, least: float, most: float) -> tuple[float, str]:
    """Position and shape of a marker; an arrowhead points to values outside the axis."""
    if math.isnan(mark.share):
        return most, UNKNOWN
    if mark.share <= 0.0:
        return least, 'x' if mark.missed else '<'
    if mark.share == math.inf:
        return most, 'x' if mark.missed else '>'
    return mark.share, 'x' if mark.missed else 'o'
