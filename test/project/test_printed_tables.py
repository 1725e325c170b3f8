# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lines and tables that tools print: folded on a terminal, plain in a pipe; nothing is cut."""

from __future__ import annotations

import re
import sys

import pytest

from dynamics_ros.command_line import show

TABLE = [
    ('link', 'joint', 'range'),
    ('  forearm_link', 'elbow_joint (revolute)', '-3.142 to 3.142 rad'),
    ('    tool0 *', 'a_name_that_fits_into_no_line_of_a_narrow_terminal', ''),
]
BLOCKS = ['  a sentence that is longer than the narrow terminal is wide [by far]', '', TABLE]


def words(text: str) -> str:
    return ''.join(re.sub(r'\x1b\[[0-9;]*m', '', text).split())


@pytest.mark.parametrize('columns', [18, 40, 200])
def test_nothing_is_cut_on_a_terminal(columns, monkeypatch, capsys):
    pytest.importorskip('rich')
    monkeypatch.setenv('COLUMNS', str(columns))
    monkeypatch.setattr(sys.stdout, 'isatty', lambda: True)
    show(BLOCKS)
    out = capsys.readouterr().out
    lines = [re.sub(r'\x1b\[[0-9;]*m', '', line).rstrip() for line in out.splitlines()]
    assert max(map(len, lines)) <= columns
    assert words(lines[0])[:9] == 'asentence' and lines[0].startswith('  ')
    kept = sorted(words(out))
    assert kept == sorted(words(''.join([BLOCKS[0], *(cell for row in TABLE for cell in row)])))


def test_a_pipe_gets_aligned_columns(capsys):
    show(BLOCKS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == BLOCKS[:2]
    assert [line.index(cell) for line, (_, cell, _) in zip(lines[2:], TABLE, strict=True)] == [
        len(TABLE[1][0]) + 2
    ] * 3
