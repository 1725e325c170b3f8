# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the benchmarks show ratios, goals and what is missed, of records made up here."""

from __future__ import annotations

import math
import sys

import pytest

pytest.importorskip('matplotlib')

from benchmarks.__main__ import main
from benchmarks.plots import draw
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
