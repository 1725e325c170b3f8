# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`scripts/test`: what of a whole suite is run once more, and what is a failure or no answer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import quick

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow

PASSES = 'def test_it():\n    pass\n'
FAILS = 'def test_it():\n    raise AssertionError("wrong")\n'
CRASHES = 'import os\n\ndef test_it():\n    os.kill(os.getpid(), 11)\n'
LOSES_A_NODE = 'def test_it():\n    raise AssertionError("a node has died: ...")\n'
LATE = """
from pathlib import Path

def test_it():
    seen = Path(__file__).with_suffix('.seen')
    if not seen.exists():
        seen.touch()
        raise AssertionError('late')
"""


@pytest.fixture
def suite(tmp_path):
    """Runs `scripts/test` on a suite of the given files; exit code and what it prints."""

    def run(*files: str) -> tuple[int, str]:
        for folder in ('scripts', 'test'):
            (tmp_path / folder).mkdir()
        shutil.copy(ROOT / 'scripts' / 'test', tmp_path / 'scripts')
        shutil.copy(ROOT / 'test' / 'once_more.py', tmp_path / 'test')
        (tmp_path / 'pytest.ini').write_text('[pytest]\ntestpaths = test\n')
        (tmp_path / 'scripts' / 'environment').write_text(
            f'root={tmp_path}\npython={sys.executable}\n'
        )
        for number, text in enumerate(files):
            (tmp_path / 'test' / f'test_{number}.py').write_text(text)
        done = subprocess.run(
            ['bash', 'scripts/test'], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_test_that_was_late_is_run_alone_and_named(suite):
    code, printed = suite(PASSES, LATE)
    assert code == 0, printed
    assert '1 failed, 1 passed' in printed
    assert printed.endswith('to be looked at:\n  test/test_1.py\n')


def test_what_fails_again_has_failed(suite):
    code, printed = suite(PASSES, FAILS)
    assert code == 1
    assert '=== once more, alone: test/test_1.py' in printed
    assert 'passed alone' not in printed


def test_what_fails_again_does_not_keep_other_files_from_being_run_again(suite):
    code, printed = suite(FAILS, LATE)
    assert code == 1
    assert '=== once more, alone: test/test_1.py' in printed
    assert printed.endswith('failed alone as well:\n  test/test_0.py\n')


@pytest.mark.parametrize(
    ('files', 'reason'),
    [([LATE] * 4, '4 files'), ([CRASHES], 'crashed'), ([LOSES_A_NODE], 'crashed')],
    ids=['too many', 'a process', 'a node'],
)
def test_many_failures_and_crashes_are_failures_at_once(suite, files, reason):
    code, printed = suite(*files)
    assert code == 1
    assert reason in printed.splitlines()[-1]
    assert '=== once more' not in printed


def test_a_file_that_cannot_be_read_is_a_failure_at_once(suite):
    code, printed = suite(PASSES, 'import nothing_of_that_name\n')
    assert code != 0
    assert 'passed alone' not in printed


def test_a_suite_that_passes_passes(suite):
    code, printed = suite(PASSES)
    assert code == 0
    assert '1 passed' in printed
    assert '=== once more' not in printed


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
