# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each source file says whose it is and under which licence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEADER = re.compile(
    r'(#!.*\n)?'
    r'(#|//) Copyright 2026 dynamics_ros developers\n'
    r'\2 SPDX-License-Identifier: Apache-2\.0\n'
)
ROOMS = ('dynamics_ros', 'benchmarks', 'docs', 'examples', 'launch', 'scripts', 'test')
"""Folders of sources. What is built or installed lies in others."""

SUFFIXES = ('.py', '.c', '.cpp')


def sources(room: str) -> list[Path]:
    found = (ROOT / room).rglob('*')
    return sorted(path for path in found if path.suffix in SUFFIXES and path.stat().st_size)


def begins(path: Path) -> bool:
    return HEADER.match(path.read_text()) is not None


@pytest.mark.parametrize('room', ROOMS)
def test_each_source_file_begins_with_the_statement(room):
    files = sources(room)
    assert files
    assert [str(path.relative_to(ROOT)) for path in files if not begins(path)] == []


def test_each_script_begins_with_the_statement():
    scripts = [path for path in (ROOT / 'scripts').iterdir() if path.is_file()]
    assert len(scripts) > 6
    assert [path.name for path in scripts if not begins(path)] == []
