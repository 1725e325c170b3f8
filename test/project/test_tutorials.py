# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tutorials run as they are written, and print what they say they print.

Blocks of a page are run one after the other in a folder that looks like the repository. One that
begins with `# terminal N` is left running in a terminal of that number, and ends what ran there
before, as Ctrl-C does; another is waited for. A block of `text` is what the block before it prints.
One that begins with `# needs ...` cannot be run here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import Block, blocks, differs
from ros_harness import occupy
from terminals import Terminals

ROOT = Path(__file__).parents[2]
PAGES = [page for page in sorted((ROOT / 'docs' / 'tutorials').glob('*.md')) if blocks(page)]
DOMAIN = 161
CANNOT_RUN = {'a UR5e', 'rclcpp', 'RViz'}
"""What `# needs ...` may name."""

MODULES = {'fleet': 'rosbags', 'look': 'viser'}
"""What a page needs beside ROS."""

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Terminals]:
    occupy(DOMAIN)
    for name in ('examples', 'config', 'urdf'):
        (tmp_path / name).symlink_to(ROOT / name)
    some = Terminals(tmp_path, DOMAIN)
    try:
        yield some
    finally:
        some.close()


def test_ctrl_c_ends_an_example_that_waits_without_a_traceback(terminals):
    for program in ('push.py 0 1 0', 'stop_on_touch.py'):
        shown = terminals.run(f"""
            set -m
            python3 examples/{program} > log 2>&1 &
            until grep -q "^waiting for" log; do sleep 0.1; done
            kill -INT $!
            wait $! || echo $?
            cat log
        """)
        assert 'Traceback' not in shown
        assert shown.startswith('130\n'), shown


def test_there_are_tutorials_and_what_they_cannot_run_is_named():
    assert len(PAGES) >= 10
    for page in PAGES:
        for block in blocks(page, 'bash', 'python'):
            for what in re.findall(r'^# needs (.+)', block.text, re.MULTILINE):
                assert what in CANNOT_RUN, f'{page.name}:{block.line}'


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_a_tutorial_prints_what_it_says(page: Path, terminals: Terminals) -> None:
    if page.stem in MODULES:
        pytest.importorskip(MODULES[page.stem])
    printed: str | None = None
    for block in blocks(page):
        where = f'{page.name}:{block.line}'
        if block.language == 'text':
            assert printed is not None, f'{where}: nothing was run'
            assert differs(block.text, printed) == '', f'{where}: {printed}'
            printed = None
        elif block.language in ('bash', 'python') and not block.text.startswith('# needs '):
            printed = run(block, terminals)


def run(block: Block, terminals: Terminals) -> str | None:
    """What a block prints; None of what is left running."""
    if block.language == 'python':
        return terminals.run(f'python3 - <<"PYTHON"\n{block.text}\nPYTHON')
    terminal = re.match(r'# terminal (\d)', block.text)
    if terminal is None:
        return terminals.run(block.text)
    terminals.start(terminal[1], block.text)
    return None
