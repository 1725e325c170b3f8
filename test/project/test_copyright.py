"""Each source file of the package says whose it is and under which licence."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADER = """\
# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""


def test_each_file_of_the_package_and_each_example_begins_with_the_statement():
    files = [path for room in ('dynamics_ros', 'examples') for path in (ROOT / room).rglob('*.py')]
    assert len(files) > 400
    lacking = [str(path.relative_to(ROOT)) for path in files if not begins(path)]
    assert lacking == []


def begins(path: Path) -> bool:
    text = path.read_text()
    return not text or text.startswith(HEADER)
