# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`scripts/test --quick`: what is an answer and what is none, and what it leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import quick

ROOT = Path(__file__).parents[2]

PASSES = 'def test_it():\n    pass\n'


@pytest.mark.parametrize(('seconds', 'code'), [('110.0', 0), ('-1.0', 5)])
def test_quick_without_a_test_that_ran_is_no_answer(tmp_path, seconds, code):
    room = tmp_path / 'test' / 'room'
    room.mkdir(parents=True)
    text = (ROOT / 'test' / 'quick.py').read_text()
    changed = text.replace('SECONDS = 110.0', f'SECONDS = {seconds}')
    assert (changed == text) == (code == 0)
    (tmp_path / 'test' / 'quick.py').write_text(changed)
    (tmp_path / 'test' / 'conftest.py').write_text("pytest_plugins = ['quick']\n")
    (tmp_path / 'pytest.ini').write_text('[pytest]\n')
    (room / 'test_it.py').write_text(PASSES)
    command = [sys.executable, '-m', 'pytest', '--quick', 'test']
    plain = {name: value for name, value in os.environ.items() if name != 'PYTEST_ADDOPTS'}
    done = subprocess.run(
        command, cwd=tmp_path, env=plain, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert 'test_it.py' not in done.stdout.partition('short test summary')[0]  # dots are enough


def test_what_is_too_costly_for_a_quick_answer_is_there():
    for file, names in quick.COSTLY.items():
        text = (ROOT / 'test' / file).read_text()
        assert [name for name in names if f'def {name}(' not in text] == [], file
