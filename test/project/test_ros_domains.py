# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Test files that run at one time, in processes of their own, talk in domains of their own."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[1]
LARGEST = 232
"""Of all domains, whose ports are numbers of 16 bits."""


def domains(text: str) -> set[int]:
    """Which a test file uses: those with a name, and the ones that are counted from there."""
    named: dict[str, str] = {}
    for names, numbers in re.findall(r'^([\w, ]*DOMAIN\b[\w, ]*) = ([\d, ]+)$', text, re.MULTILINE):
        named.update(zip(names.split(', '), numbers.split(', '), strict=True))
    found = {int(number) for number in named.values()}
    for name, offset in re.findall(r'(\w*DOMAIN) \+ (\d+)', text):
        found.add(int(named[name]) + int(offset))
    return found


def test_no_two_files_use_one_domain():
    users = defaultdict(list)
    for file in sorted(TESTS.rglob('test_*.py')):
        for domain in domains(file.read_text()):
            assert domain <= LARGEST, file
            users[domain].append(str(file.relative_to(TESTS)))
    assert len(users) > 50
    assert {domain: files for domain, files in users.items() if len(files) > 1} == {}
