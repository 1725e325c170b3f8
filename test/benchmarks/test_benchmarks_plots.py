# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the benchmarks show ratios, goals and what is missed, of records made up here."""

from __future__ import annotations

import math
import sys

import pytest

pytest.importorskip('matplotlib')

from benchmarks.__main__ import main
from benchmarks.plots import OF_GOALS, Mark, draw, panels, picture_of
from benchmarks.records import Goal, Record

NONE = Goal(0.0, of='value')
RECORDS = [
    Record('s', 'RNEA', 'ur5', 1.0, 'us', 'pin', 4.0, Goal(0.4, 0.2)),
    Record('s', 'RNEA', 'panda', 2.0, 'us', 'pin', 4.0, Goal(0.4, 0.2)),
    Record('s', 'RNEA', 'ur5', 1.0, 'us', 'mujoco', 0.5),
    Record('s', 'rate', 'ur5', 6000.0, '1/s', 'echo', 12000.0, Goal(5000.0, 6500.0, 'value', True)),
    Record('s', 'start', 'ur5', math.nan, 's', goal=Goal(2.0, of='value')),
    Record('s', 'poses lost', 'ur5', 0.0, '', goal=NONE),
    Record('s', 'poses lost', 'panda', 3.0, '', goal=NONE),
    Record('s', 'error', 'ur5', 0.0, 'mm', goal=Goal(0.1, of='value')),
    Record('s', 'memory', 'ur5', 80.0, 'MB'),
]


def test_each_peer_has_a_panel_and_goals_of_values_have_one():
    found = panels(RECORDS)
    assert list(found) == ['ours / pin', 'ours / mujoco', 'ours / echo', OF_GOALS]
    assert found['ours / pin'] == [
        Mark('RNEA', 'ur5', 0.25, (0.4, 0.2)),
        Mark('RNEA', 'panda', 0.5, (0.4, 0.2), missed=True),
    ]
    assert found['ours / mujoco'] == [Mark('RNEA', 'ur5', 2.0)]
    # Its goal is of the value, so the ratio has none.
    assert found['ours / echo'] == [Mark('rate', 'ur5', 0.5)]


def test_figures_are_told_in_units_of_their_goals():
    rate, start, met, missed, error = panels(RECORDS)[OF_GOALS]
    assert rate == Mark('rate', 'ur5', 1.2, (1.0, 1.3), at_least=True)
    assert math.isnan(start.share)
    assert start.missed
    assert (met.share, met.limits, met.missed) == (1.0, (1.0,), False)
    assert (missed.share, missed.missed) == (math.inf, True)
    assert (error.share, error.missed) == (0.0, False)
    (unknown,) = panels([Record('s', 'lost', 'ur5', math.nan, '', goal=NONE)])[OF_GOALS]
    assert math.isnan(unknown.share)


def test_a_picture_has_a_row_a_case_and_a_tick_a_goal():
    picture = picture_of('s', panels(RECORDS))
    pin, _, _, goals = picture.axes
    assert [label.get_text() for label in pin.get_yticklabels()] == ['RNEA']
    assert [label.get_text() for label in goals.get_yticklabels()] == [
        *('rate (more is better)', 'start', 'poses lost', 'error')
    ]
    marks = {line.get_marker(): line.get_xdata()[0] for line in pin.lines}
    assert (marks['o'], marks['x']) == (0.25, 0.5)
    ticks = {line.get_xdata()[0] for line in pin.lines if line.get_color() == 'k'}
    assert ticks == {0.4, 0.2}
    shapes = [line.get_marker() for line in goals.lines if len(line.get_xdata()) == 1]
    assert shapes == ['o', '$?$', 'o', 'x', '<']
    least, most = goals.get_xlim()
    for line in goals.lines:
        assert all(least <= x <= most for x in line.get_xdata())


def test_a_picture_is_written_where_there_is_something_to_show(tmp_path, capsys):
    file = draw('s', RECORDS, tmp_path / 'plots')
    assert file == tmp_path / 'plots' / 's.png'
    assert file.read_bytes().startswith(b'\x89PNG')
    assert draw('t', RECORDS[-1:], tmp_path) is None
    assert 'no plot of t: no figure has a peer or a goal' in capsys.readouterr().out


def test_a_run_draws_its_suite(tmp_path):
    words = ['accuracy', '--quick', '--robot', 'double_pendulum_simple']
    assert main([*words, '--plots', str(tmp_path)]) == 0
    assert (tmp_path / 'accuracy.png').read_bytes().startswith(b'\x89PNG')


def test_what_cannot_be_drawn_is_refused_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    file = tmp_path / 'file'
    file.touch()
    with pytest.raises(SystemExit, match='2'):
        main(['accuracy', '--plots', str(file)])
    assert f'--plots {file}: File exists' in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    with pytest.raises(SystemExit, match='2'):
        main(['accuracy', '--plots', str(tmp_path)])
    assert '--plots needs matplotlib: pip install matplotlib' in capsys.readouterr().err
