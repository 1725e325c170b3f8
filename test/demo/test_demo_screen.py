# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The screen of scripts/demo: a table in a terminal, lines elsewhere, nothing beyond 80 columns."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from dynamics_ros.demo import screen as screens
from dynamics_ros.demo.screen import BAR, HISTORY, Cell, Screen, View, bar, listed, over_time

VIEW = View(
    'arm',
    ('joint', 'position', 'gravity', 'external'),
    [(f'a_joint_with_a_long_name_{k}', (Cell(-1.5), Cell(-45.0, 60.0), Cell(9.0, 3.0)))
     for k in range(10)],
    {'push': 20.0, 'estimated': 19.0},
    'tool 1.000 2.000 3.000 m',
)  # fmt: skip


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(screens.time, 'monotonic', lambda: now[0])
    return now


def test_lines_keep_a_steady_rate_and_catch_nothing_up(clock, capsys):
    screen = Screen(lambda: VIEW)

    def lines_until(end):
        while clock[0] < end - 1e-9:
            screen.update()
            clock[0] += 0.02
        return capsys.readouterr().out.splitlines()

    assert len(lines_until(105.0)) == 5
    clock[0] = 109.0  # nothing could be shown for four seconds
    assert len(lines_until(112.0)) == 3
    screen.event('pushed')
    assert capsys.readouterr().out == '  12.0 s  pushed\n'


def test_long_events_are_wrapped_and_not_cut(clock, capsys):
    screen = Screen(lambda: VIEW)
    screen.event('word ' * 40)
    printed = capsys.readouterr().out
    assert printed.count('word') == 40 and max(map(len, printed.splitlines())) <= 80


def test_the_table_has_bars_and_lines_over_time_within_80_columns(clock):
    console = pytest.importorskip('rich.console')
    screen = Screen(lambda: VIEW)
    screen._history = {'push': [0.0, 10.0, 20.0]}
    stream = io.StringIO()
    console.Console(file=stream, width=80).print(screen._block(VIEW))
    text = stream.getvalue()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert text.count('-45.000') == 8 and 'and 2 more' in text
    assert '▄█' in text and '20.00 N' in text


def test_bars_end_at_the_limit():
    assert bar(Cell(30.0, 60.0)) == '█' * (BAR // 2) + '▌'
    assert bar(Cell(-90.0, 60.0)) == '█' * BAR
    assert bar(Cell(1.0)) == bar(Cell(math.nan, 1.0)) == ''
    assert over_time([0.0, 20.0], 20.0) == (' █').rjust(HISTORY)


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ([13.123, -0.0004, 4.0], '13.12 0.00 4.00'),
        ([1239.06, -1.06], '1239.06 -1.06'),
        ([0.0321, -1e-17], '0.0321 0.0000'),
        (np.arange(11.0), '0.00 1.00 2.00 3.00 4.00 5.00 6.00 7.00 and 3 more'),
        ([], ''),
    ],
)
def test_numbers_are_listed_as_a_person_reads_them(values, text):
    assert listed(np.array(values)) == text
