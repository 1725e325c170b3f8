# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each source file says whose it is and under which licence."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADER = re.compile(
    r'(#!.*\n)?'
    r'(#|//) Copyright 2026 dynamics_ros developers\n'
    r'\2 SPDX-License-Identifier: Apache-2\.0\n'
)
ROOMS = ('dynamics_ros', 'benchmarks', 'docs', 'examples', 'launch', 'scripts', 'test')
"""Folders of sources. What is built or installed lies in others."""

SUFFIXES = ('.py', '.c', '.cpp')


def test_each_source_file_and_script_begins_with_the_statement():
    found = [path for room in ROOMS for path in (ROOT / room).rglob('*')]
    files = [path for path in found if path.suffix in SUFFIXES and path.stat().st_size]
    files += [path for path in (ROOT / 'scripts').iterdir() if path.is_file()]
    assert len(files) > 100
    assert [str(path) for path in files if not HEADER.match(path.read_text())] == []
