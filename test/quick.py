# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`scripts/test --quick`: an answer within two minutes, from every room that needs no ROS.

Of each file the first tests, of each test the first set of parameters, without those that are slow
or start nodes, one room after the other in turn. What has not begun after two minutes is skipped,
and the summary says how much.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

import pytest

SECONDS = 110.0
"""After which no test begins, counted from here: with the end of the last one it is two minutes."""

_BEGAN = time.monotonic()

NODES = re.compile(r'\b(ros_harness|rclpy|importorskip\(.rclpy)\b')
"""What a file names that starts nodes, or waits for the middleware."""

PER_FILE = 2
"""Tests of a file: all that are not slow need several minutes of processor time."""

SLOW_ROOMS = ('benchmarks', 'demo', 'launching', 'security')


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--quick', action='store_true', help='an answer within two minutes')


def pytest_configure(config: pytest.Config) -> None:
    """Show dots: where rooms take turns, every test would have a line of its own."""
    if config.getoption('--quick'):
        config.option.verbose = config.option.verbose or -1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over files, which take long to import, of which no test would be kept."""
    if not config.getoption('--quick') or not collection_path.match('test_*.py'):
        return None
    return _room(collection_path) in SLOW_ROOMS or _starts_nodes(collection_path) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is quick, and have the rooms take turns."""
    if not config.getoption('--quick'):
        return
    rooms: dict[str, list[pytest.Item]] = defaultdict(list)
    seen: set[str] = set()
    of_file: Counter[Path] = Counter()
    for item in items:
        test = item.nodeid.partition('[')[0]
        full = of_file[item.path] >= PER_FILE
        if test not in seen and not full and not item.get_closest_marker('slow'):
            seen.add(test)
            of_file[item.path] += 1
            rooms[_room(item.path)].append(item)
    in_turn = zip_longest(*rooms.values())
    kept = [item for item in chain.from_iterable(in_turn) if item is not None]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test when the time is over."""
    if item.config.getoption('--quick') and time.monotonic() > _BEGAN + SECONDS:
        pytest.skip('two minutes are over')


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Nothing run is no answer: a machine may be too busy to read all files in two minutes."""
    if session.config.getoption('--quick') and exitstatus == pytest.ExitCode.OK:
        reporter = session.config.pluginmanager.get_plugin('terminalreporter')
        if reporter is not None and not reporter.stats.get('passed'):
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def _room(file: Path) -> str:
    return file.relative_to(Path(__file__).parent).parts[0]


@cache
def _starts_nodes(file: Path) -> bool:
    return bool(NODES.search(file.read_text()))
