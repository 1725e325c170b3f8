# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Findings of a run, and its HTML report: robots, and friction at first and at last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.recordings.page import page, table

from .analysis import OK
from .statistics import SPEED, percent_unexplained

Rows = Sequence[Mapping[str, Any]]
Array = NDArray[np.float64]

MIN_ROBOTS = 4
"""Minimum number of robots of a model for a comparison."""

MIN_BAGS = 4
"""Minimum number of bags of a robot for a comparison over time."""

MIN_DIFFERENCE = 0.15
"""Minimum relative difference of friction from the median of similar robots."""

MIN_CHANGE = 0.2
"""Minimum relative change over time."""

SIGMAS = 5.0
"""Minimum difference or change in standard deviations of the usual scatter."""

MIN_FRICTION = 0.02
"""Minimum difference of friction [Nm or N]."""

GAUSSIAN_RATIO = 1.4826
"""Ratio of the standard deviation to the median of the absolute values of Gaussian noise."""


@dataclass(frozen=True)
class Finding:
    """Joint with unusual friction.

    Attributes:
        robot, joint: names.
        kind: reference of the comparison: 'like robots' or 'before'.
        friction, usual: friction and its reference at ``statistics.SPEED`` [Nm or N].
    """

    robot: str
    joint: str
    kind: str
    friction: float
    usual: float

    def __str__(self) -> str:
        change = self.friction / self.usual - 1.0
        word = 'more' if change > 0.0 else 'less'
        than = 'like robots have' if self.kind == 'like robots' else 'at first'
        return (
            f'{self.robot}: {self.joint} has {abs(change):.0%} {word} friction than {than} '
            f'({self.friction:.3g} against {self.usual:.3g})'
        )


def frictions(summaries: Rows) -> dict[tuple[str, str], dict[str, Array]]:
    """Returns friction over time by (model, joint) and robot; bags without a value are skipped.

    Returns:
        (2, n) recorded times [ns], ascending, and friction at ``statistics.SPEED`` [Nm or N].
    """
    values: dict[tuple[str, str], dict[str, list[tuple[int, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in sorted(summaries, key=lambda row: (row.get('model', ''), row['robot'])):
        if row['status'] == OK:
            for joint, friction in zip(row['joints'], row['friction'], strict=True):
                if np.isfinite(friction):
                    values[row['model'], joint][row['robot']].append((row['begin'], friction))
    return {
        key: {robot: np.array(sorted(points)).T for robot, points in robots.items()}
        for key, robots in values.items()
    }


def findings(summaries: Rows) -> list[Finding]:
    """Returns joints with unusual friction, sorted by robot.

    It differs from the median of all robots of a model, or from the first third of a robot's bags
    to the last.
    """
    found = []
    for (_, joint), robots in frictions(summaries).items():
        medians = {robot: float(np.median(points[1])) for robot, points in robots.items()}
        values = np.array([*medians.values()])
        usual = float(np.median(values))
        scatter = GAUSSIAN_RATIO * float(np.median(np.abs(values - usual)))
        limit = max(MIN_DIFFERENCE * abs(usual), SIGMAS * scatter, MIN_FRICTION)
        for robot, value in medians.items():
            if len(robots) >= MIN_ROBOTS and usual > 0.0 and abs(value - usual) > limit:
                found.append(Finding(robot, joint, 'like robots', value, usual))
        for robot, (_, friction) in robots.items():
            if len(friction) < MIN_BAGS:
                continue
            third = max(2, len(friction) // 3)
            first, last = _first_and_last(friction)
            # Differences of neighbours contain the scatter but hardly the change.
            scatter = GAUSSIAN_RATIO * float(np.median(np.abs(np.diff(friction)))) / np.sqrt(2.0)
            limit = max(MIN_CHANGE * abs(first), SIGMAS * scatter / np.sqrt(third), MIN_FRICTION)
            if first > 0.0 and abs(last - first) > limit:
                found.append(Finding(robot, joint, 'before', last, first))
    return sorted(found, key=lambda one: (one.robot, one.joint, one.kind))


def report(summaries: Rows) -> str:
    """Returns the HTML page for the summaries of a run."""
    done = [row for row in summaries if row['status'] == OK]
    bad = [row for row in summaries if row['status'] != OK]
    hours = sum(row['duration'] for row in done) / 3600.0
    robots = len({row['robot'] for row in summaries})
    states = sum(row['messages'] for row in done)
    parts = [
        '<h1>Recordings of a fleet</h1>',
        f'<p>Bags: {len(done)}; robots: {robots}; {hours:.2f} h, {states} joint states'
        + (f'; <span class="bad">{len(bad)} bags failed</span>' if bad else '')
        + '.</p>',
        '<h2>Findings</h2>',
    ]
    unusual = findings(summaries)
    parts.append(
        '<ul>' + ''.join(f'<li>{escape(str(one))}</li>' for one in unusual) + '</ul>'
        if unusual
        else '<p>No joint differs in friction from similar robots, or from its first bags.</p>'
    )
    if bad:
        rows = [[escape(row[key]) for key in ('robot', 'bag', 'reason')] for row in bad]
        parts += ['<h2>Bags that failed</h2>', table(['robot', 'bag', 'reason'], rows)]
    marked = {one.robot for one in unusual}
    parts += ['<h2>Robots</h2>', _robots(done, marked)]
    parts += ['<h2>Friction over time</h2>', _frictions(done, marked)]
    parts.append(
        f'<p>Of model and data together, at {SPEED:g} rad/s or m/s [Nm, N]: medians of the first '
        'and of the last third of the bags.</p>'
    )
    return page('Recordings of a fleet', parts)


def _robots(done: Rows, marked: set[str]) -> str:
    rows = []
    robots: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in done:
        robots[row['robot']].append(row)
    for robot, own in sorted(robots.items()):
        name = escape(robot)
        name = f'<span class="bad">{name}</span>' if robot in marked else name
        hours = sum(row['duration'] for row in own) / 3600.0
        rate = float(np.median([row['rate'] for row in own]))
        left = float(
            np.median([percent_unexplained(x['effort_rms'], x['residual_rms']) for x in own])
        )
        sums = (str(sum(row[key] for row in own)) for key in ('gaps', 'contacts', 'false_contacts'))
        cells = f'{hours:.2f}', f'{rate:.0f}', f'{left:.1f}', *sums
        rows.append([name, escape(own[0]['model']), str(len(own)), *cells])
    header = ['robot', 'model', 'bags', 'hours', 'rate [Hz]', 'residual [%]', 'gaps']
    header += ['contacts', 'false contacts']
    return table(header, rows)


def _frictions(done: Rows, marked: set[str]) -> str:
    """Friction of each joint of each robot at first and at last; robots with findings first."""
    rows = []
    for (model, joint), robots in frictions(done).items():
        for robot, (_, friction) in robots.items():
            ends = [f'{x:.3g}' for x in _first_and_last(friction)]
            rows.append((robot not in marked, [robot, model, joint, str(len(friction)), *ends]))
    cells = [list(map(escape, row)) for _, row in sorted(rows)]
    return table(['robot', 'model', 'joint', 'bags', 'first', 'last'], cells)


def _first_and_last(friction: Array) -> tuple[float, float]:
    """Medians of the first and of the last third of values (n)."""
    third = min(max(2, len(friction) // 3), len(friction))
    return float(np.median(friction[:third])), float(np.median(friction[-third:]))
