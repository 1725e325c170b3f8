# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run in two processes ends when one of them crashes, with the crash told and all else run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('xdist')

TESTS = Path(__file__).parents[1]

PASSING = """
import time, pytest
@pytest.mark.parametrize('n', range({tests}))
def test_passes(n):
    time.sleep({seconds})
"""

CRASHING = """
import os, signal, pytest
@pytest.mark.parametrize('n', range({tests}))
def test_may_crash(n):
    if n == {crash}:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ('tests', 'crash', 'seconds'),
    [
        pytest.param(6, 2, 0.02, id='in the middle of a file, others end before'),
        pytest.param(6, 4, 0.2, id='one test is left, others end later'),
        pytest.param(3, 2, 0.2, id='the last test'),
        pytest.param(1, 0, 0.02, id='the only test'),
    ],
)
def test_a_crash_ends_no_more_than_its_test(tmp_path, tests, crash, seconds):
    (tmp_path / 'test_crashing.py').write_text(CRASHING.format(tests=tests, crash=crash))
    for name in 'abc':
        (tmp_path / f'test_{name}.py').write_text(PASSING.format(tests=4, seconds=seconds))
    (tmp_path / 'pytest.ini').write_text('[pytest]\nmarkers =\n    slow: slow\n')
    run = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'sharing', '-p', 'no:cacheprovider', '-n', '2'],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': f'{TESTS}:{os.environ.get("PYTHONPATH", "")}'},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    assert re.search(rf'worker .* crashed while running .*test_may_crash\[{crash}\]', run.stdout)
    assert f'1 failed, {tests - 1 + 3 * 4} passed' in run.stdout
