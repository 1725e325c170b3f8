# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Command line tools: without Unicode, interrupted, on narrow terminals and in pipes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from dynamics_ros.command_line import show
from dynamics_ros.settings import MAX_GRAVITY
from dynamics_ros.tools import INTERRUPTED

ROOT = Path(__file__).parents[2]
TOOLS = sorted(re.findall(r"'(\w+)': 'tools:\1'", (ROOT / 'setup.py').read_text()))
NEED_ROS = {'analyze_recordings', 'doctor', 'estimate_bag'}
ASCII = {'LC_ALL': 'C', 'PYTHONIOENCODING': 'ascii', 'PYTHONUTF8': '0'}

ARM = (ROOT / 'urdf' / 'seven_joint_arm.urdf').read_text()

INTERRUPTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == 'numpy':
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
"""

COUNT_THREADS = """
import os, sys, types
from dynamics_ros.tools import run

def main():
    import numpy
    print(len(os.listdir('/proc/self/task')))
    return 0

sys.modules['dynamics_ros.tool.command'] = types.SimpleNamespace(main=main)
run('tool')
"""


def called(name: str, *arguments: str, before: str = '') -> subprocess.CompletedProcess[str]:
    """The tool as its executable calls it."""
    code = f'{before}\nimport sys\nfrom dynamics_ros.tools import {name}\nsys.exit({name}())'
    return subprocess.run(
        [sys.executable, '-c', code, *arguments],
        env={**os.environ, **ASCII, 'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize('name', TOOLS)
def test_the_help_is_printed_without_unicode(name):
    if name in NEED_ROS:
        pytest.importorskip('rclpy')
    done = called(name, '--help')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f'usage: {name}')


def test_an_interruption_of_the_imports_ends_silently():
    done = called('inspect', '--help', before=INTERRUPTING)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, '', '')


def test_names_beyond_the_locale_are_printed_as_escapes(tmp_path):
    robot = tmp_path / 'arm.urdf'
    robot.write_text(ARM.replace('hand_link', 'händ_link'), encoding='utf-8')
    done = called('inspect', str(robot))
    assert done.returncode in (0, 1), done.stderr
    assert 'h\\xe4nd_link' in done.stdout
    done = called('export_kernels', '--list', '--robot', str(robot))
    assert done.returncode == 0, done.stderr
    assert 'h\\xe4nd_link' in done.stdout


def test_an_export_with_absurd_gravity_is_refused(tmp_path):
    done = called(
        *('export_kernels', '--robot', str(ROOT / 'urdf' / 'seven_joint_arm.urdf')),
        *('--kernels', 'gravity', '--output', str(tmp_path), '--gravity', '0', '0', '1e300'),
    )
    assert done.returncode == 2
    assert f'--gravity: 1e300 is more than {MAX_GRAVITY:g} m/s^2' in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason='BLAS has one thread per processor')
@pytest.mark.parametrize(('chosen', 'count'), [(None, 1), ('2', 2)])
def test_blas_has_one_thread_unless_the_environment_says_otherwise(chosen, count):
    """Threads of BLAS are started when NumPy is imported."""
    env = {name: x for name, x in os.environ.items() if name != 'OPENBLAS_NUM_THREADS'}
    if chosen:
        env['OPENBLAS_NUM_THREADS'] = chosen
    done = subprocess.run(
        [sys.executable, '-c', COUNT_THREADS],
        env={**env, 'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == count


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
