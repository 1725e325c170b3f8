# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`scripts/test --coverage` counts the lines that were run, by all processes of a run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

pytest.importorskip('slipcover')

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

ROOT = Path(__file__).parents[2]
COUNTED = ROOT / 'test' / 'counted'

IMPORTED = 'from dynamics_ros.parameters import robot'
"""A room with ROS, which every process counts, and a file of it that can be imported alone."""


def run(program: str, folder: Path, **more: str) -> None:
    path = f'{COUNTED}:{ROOT}:{os.environ.get("PYTHONPATH", "")}'
    environment = {**os.environ, 'PYTHONPATH': path, 'DYNAMICS_ROS_COVERAGE': str(folder), **more}
    subprocess.run([sys.executable, '-c', program], env=environment, check=True, timeout=PATIENCE)


def report(folder: Path) -> dict[str, tuple[int, int]]:
    """Room to statements that were run, and that there are."""
    command = [sys.executable, COUNTED / 'report.py', folder]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r'^  (\S+) +[\d.]+ % +(\d+) of (\d+)$', printed, re.MULTILINE)
    return {room: (int(some), int(every)) for room, some, every in rows}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'lines').mkdir()
    return tmp_path / 'lines'


def test_nothing_counted_is_no_figure(folder):
    done = subprocess.run([sys.executable, COUNTED / 'report.py', folder], capture_output=True)
    assert done.returncode == 1


def test_lines_that_were_run_are_counted_and_no_others(folder):
    run(IMPORTED, folder)
    imported = report(folder)
    some, every = imported['parameters']
    assert 0 < some < every
    assert imported['identification'][0] == 0
    assert imported['identification'][1] > 1000
    run(f'{IMPORTED}\nimport dynamics_ros.viewer.forces', folder)
    assert report(folder)['parameters'] == (some, every)
    assert report(folder)['viewer'][0] > imported['viewer'][0]


def test_too_small_a_share_is_told_and_fails(folder):
    run(IMPORTED, folder)
    command = [sys.executable, COUNTED / 'report.py', folder]
    done = subprocess.run([*command, '99'], capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r'[\d.]+ % of all statements were run; expected at least 99 %', done.stderr)
    assert subprocess.run([*command, '0.01'], capture_output=True).returncode == 0


def test_a_process_that_ends_at_once_is_counted_and_a_fork_of_one_is_not(folder):
    run(f'import os\n{IMPORTED}\nos.fork() or os._exit(0)\nos.wait()\nos._exit(0)', folder)
    assert len(list(folder.iterdir())) == 1
    assert report(folder)['parameters'][0] > 0


def test_a_test_counts_every_room(folder, tmp_path):
    test = tmp_path / 'test_one.py'
    test.write_text('def test_one():\n    import dynamics_ros.spatial')
    options = ['-q', '-p', 'no:cacheprovider', '-p', 'conftest', f'--rootdir={tmp_path}']
    arguments = [*options, '-c', str(tmp_path / 'pytest.ini'), str(test)]
    program = f'import pytest; exit(pytest.main({arguments!r}))'
    (tmp_path / 'pytest.ini').write_text('[pytest]\n')
    run(program, folder, PYTHONPATH=f'{COUNTED}:{ROOT}:{ROOT / "test"}:{os.environ["PYTHONPATH"]}')
    assert report(folder)['spatial'][0] > 100
