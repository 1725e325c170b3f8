"""`scripts/test --quick`: an answer within two minutes, from every room that needs no ROS.

Of each test the first set of parameters, without those that are slow or start nodes, one room after
the other in turn. What has not begun after two minutes is skipped, and the summary says how much.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

import pytest

SECONDS = 110.0
"""After which no test begins, counted from here: with the end of the last one it is two minutes."""

_BEGAN = time.monotonic()

NODES = re.compile(r'\b(ros_harness|rclpy|importorskip\(.rclpy)\b')
"""What a file names that starts nodes, or waits for the middleware."""

SLOW_ROOMS = ('benchmarks', 'demo', 'launching', 'security')


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--quick', action='store_true', help='an answer within two minutes')


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is quick, and have the rooms take turns."""
    if not config.getoption('--quick'):
        return
    rooms: dict[str, list[pytest.Item]] = defaultdict(list)
    seen: set[str] = set()
    for item in items:
        room = item.path.relative_to(Path(__file__).parent).parts[0]
        test = item.nodeid.partition('[')[0]
        if test in seen or room in SLOW_ROOMS or item.get_closest_marker('slow'):
            continue
        if not _starts_nodes(item.path):
            seen.add(test)
            rooms[room].append(item)
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


@cache
def _starts_nodes(file: Path) -> bool:
    return bool(NODES.search(file.read_text()))
