# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The first changes of docs/contributing.md, made in a copy of the package, pass their tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from documents import FENCE
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs' / 'contributing.md').read_text()
CHANGES = dict(re.findall(r'^### (.*?)\n(.*?)(?=^### |\Z)', PAGE, re.MULTILINE | re.DOTALL))


def patched(text: str, hunk: str) -> str:
    """The text with the lines of a hunk changed, which are at one place of it."""
    lines = hunk.splitlines(keepends=True)
    before = ''.join(line[1:] for line in lines if line[0] in ' -')
    assert text.count(before) == 1, f'{text.count(before)} places have:\n{before}'
    return text.replace(before, ''.join(line[1:] for line in lines if line[0] in ' +'))


@pytest.fixture
def copy(tmp_path):
    """A folder that looks like the repository, with files of the package and pages to change."""
    for name in ('dynamics_ros', 'docs'):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / 'test').mkdir()
    for path in (*(ROOT / 'test').glob('*.py'), ROOT / 'urdf', ROOT / 'pyproject.toml'):
        (tmp_path / path.relative_to(ROOT)).symlink_to(path)
    return tmp_path


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.parametrize('title', CHANGES)
def test_a_first_change_passes_its_test(title, copy):
    paths = os.pathsep.join([str(copy), str(copy / 'test'), os.environ.get('PYTHONPATH', '')])
    environment = {**os.environ, 'PYTHONPATH': paths}

    def run(*command):
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stdout + done.stderr

    tests = []
    for language, text in FENCE.findall(CHANGES[title]):
        if language == 'bash':
            run('bash', '-ec', f'PATH={Path(sys.executable).parent}:$PATH\n{text}')
            continue
        head, _, code = text.partition('\n')
        path = copy / head.removeprefix('# ')
        if language == 'diff':
            for hunk in code.split('@@\n'):
                path.write_text(patched(path.read_text(), hunk))
        else:
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code)
            tests += [path] if path.name.startswith('test_') else []
    assert len(tests) == 1
    run(sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(tests[0]))
