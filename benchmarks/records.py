# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records of measured figures, with peers and goals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEYS = ('suite', 'case', 'robot', 'value', 'unit', 'peer', 'peer_value', 'ratio', 'verdict')
"""Keys of a record in the JSON file, in this order."""


@dataclass(frozen=True)
class Goal:
    """Goal of a figure.

    Attributes:
        limit: limit of the ratio to the peer, or of the value.
        stretch: stricter limit, the stretch goal.
        of: 'ratio' or 'value'.
        at_least: whether larger figures are better.
    """

    limit: float
    stretch: float | None = None
    of: str = 'ratio'
    at_least: bool = False

    def __str__(self) -> str:
        sign = '>=' if self.at_least else '<='
        stretch = '' if self.stretch is None else f' ({self.stretch:g})'
        return f'{sign} {self.limit:g}{"" if self.of == "ratio" else " abs"}{stretch}'


@dataclass(frozen=True)
class Record:
    """One figure; the fields of the peer are None if there is no peer.

    Attributes:
        suite, case, robot: measured case.
        value: our figure; NaN if it could not be measured.
        unit: unit of both figures.
        peer: name of the peer library.
        peer_value: its figure.
        goal: goal, which is printed but not written to files.
    """

    suite: str
    case: str
    robot: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        """Our figure over that of the peer."""
        if self.peer_value is None or self.peer_value == 0.0:
            return None
        return self.value / self.peer_value

    @property
    def verdict(self) -> str:
        """'stretch', 'pass' or 'FAIL'; '' without a goal, None in files."""
        if self.goal is None:
            return ''
        figure = self.ratio if self.goal.of == 'ratio' else self.value
        if figure is None or math.isnan(figure):
            return 'FAIL'
        sign = -1.0 if self.goal.at_least else 1.0
        if self.goal.stretch is not None and sign * figure <= sign * self.goal.stretch:
            return 'stretch'
        return 'pass' if sign * figure <= sign * self.goal.limit else 'FAIL'

    def as_dict(self) -> dict[str, Any]:
        """The fields of `KEYS`; numbers that are not finite are None."""
        fields = {key: getattr(self, key) for key in KEYS} | {
            'value': float(self.value),
            'verdict': self.verdict or None,
        }
        return {
            key: None if isinstance(x, float) and not math.isfinite(x) else x
            for key, x in fields.items()
        }


def write_json(path: Path, records: Iterable[Record]) -> None:
    """Write records as a JSON list, one per line."""
    lines = ',\n '.join(json.dumps(record.as_dict(), default=float) for record in records)
    path.write_text(f'[{lines}]\n')


def markdown(records: Iterable[Record]) -> str:
    """Ratios as Markdown tables, one per peer, with a row per case and a column per robot."""
    tables = []
    listed = [x for x in records if x.ratio is not None]
    for peer in dict.fromkeys(x.peer for x in listed):
        found = {(x.case, x.robot): x for x in listed if x.peer == peer}
        robots = list(dict.fromkeys(robot for _, robot in found))
        lines = [f'| ratio to {peer} | {" | ".join(robots)} |', '|---' * (len(robots) + 1) + '|']
        for case in dict.fromkeys(case for case, _ in found):
            row = [found.get((case, robot)) for robot in robots]
            cells = ['' if x is None else f'{x.ratio:.2g}' for x in row]
            lines.append(f'| {case} | {" | ".join(cells)} |')
        tables.append('\n'.join(lines) + '\n')
    return '\n'.join(tables)


def print_header() -> None:
    """Print the header of the table."""
    print(
        f'{"case":34} {"robot":15} {"ours":>10} {"unit":6} {"peer":>14} {"theirs":>10} '
        f'{"ratio":>7}  goal (stretch)'
    )


def print_record(record: Record) -> None:
    """Print one row of the table."""
    theirs = '' if record.peer_value is None else f'{record.peer_value:.4g}'
    ratio = '' if record.ratio is None else f'{record.ratio:.3f}'
    goal = '' if record.goal is None else f'{record.goal!s:18} {record.verdict}'
    print(
        f'{record.case:34} {record.robot:15} {record.value:10.4g} {record.unit:6} '
        f'{record.peer or "":>14} {theirs:>10} {ratio:>7}  {goal}'.rstrip(),
        flush=True,
    )


def print_summary(records: Iterable[Record]) -> None:
    """Print the number of met goals, and the missed ones."""
    judged = [record for record in records if record.goal is not None]
    failed = [record for record in judged if record.verdict == 'FAIL']
    if not judged:
        return
    stretched = sum(record.verdict == 'stretch' for record in judged)
    print(
        f'\n{len(judged) - len(failed)} of {len(judged)} goals are met, '
        f'{stretched} of them with the stretch'
    )
    if failed:
        print('not met:')
    for record in failed:
        print_record(record)
