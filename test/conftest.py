# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves out, and names, the files whose peers are not installed.

`scripts/test` installs all of them. A robot's machine, where `colcon test` runs, may lack the PyPI
packages that results are compared with.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import signal
import tempfile
from collections import Counter
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import patience
import pytest

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # the files that need it are left out
    pass
else:
    # A busy machine may take any time for one example. Delicate places are drawn on purpose, and a
    # law that does not hold there leaves many of them out.
    usual = settings(
        deadline=None,
        max_examples=10,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        # The same examples at every run: a change is judged by what it changed.
        derandomize=True,
    )
    settings.register_profile('usual', usual)
    settings.register_profile('thorough', usual, derandomize=False, max_examples=200)
    settings.load_profile('usual')

HERE = Path(__file__).parent

pytest_plugins = ['renewal', 'launch_files']

# What is tested is what is compiled now, not what an earlier run has left behind. All processes of
# one run share what they compile, as on a robot.
if 'DYNAMICS_ROS_CACHE' not in os.environ:
    folder = os.environ['DYNAMICS_ROS_CACHE'] = tempfile.mkdtemp(prefix='dynamics_ros_cache_')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

# A script that starts the suite in the background has it, and its processes, ignore these.
for ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(
            ignored, signal.default_int_handler if ignored is signal.SIGINT else signal.SIG_DFL
        )

PEERS = {
    'pinocchio': ('pinocchio',),
    'mujoco': ('mujoco',),
    'mpmath': ('mpmath',),
    'hypothesis': ('hypothesis',),
    'selenium': ('selenium', 'viser'),
    'browser': ('selenium', 'viser'),
    'benchmarks': ('pinocchio', 'mujoco', 'example-robot-data'),
    'keystore': ('cryptography',),
}
"""Imported name to the modules or distributions that have to be installed for it."""


def lacking(file: Path) -> list[str]:
    """What a test file needs and this machine does not have."""
    imported = re.findall(r'^(?:from|import) (\w+)', file.read_text(), re.MULTILINE)
    needed = {need for name in imported for need in PEERS.get(name, ())}
    return sorted(need for need in needed if not installed(need))


def installed(need: str) -> bool:
    if importlib.util.find_spec(need.replace('-', '_')) is not None:
        return True
    try:
        return bool(distribution(need))  # data alone cannot be imported
    except PackageNotFoundError:
        return False


NODES = re.compile(r'\b(ros_harness|rclpy|benchmarks\.timing)\b')
"""What a file names that waits for processes of its own, or measures them."""

MOVING = re.compile(
    r"\b(impedance_harness|servo_harness|dynamics_ros\.demo|running\(\s*'robot_simulator)\b"
)
"""What a file names beside that in which robots move by commands, in real time."""


@cache
def turn_of(file: Path) -> int:
    """When a file has its turn: 0: robots move, 1: no nodes, 2: other nodes."""
    text = file.read_text()
    return 1 if not NODES.search(text) else 0 if MOVING.search(text) else 2


LEFT_OUT = {
    str(file.relative_to(HERE)): need
    for file in sorted(HERE.rglob('test_*.py'))
    if (need := lacking(file))
}

collect_ignore = list(LEFT_OUT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        '--thorough',
        action='store_true',
        help='run also the tests marked as thorough; mutate many more messages and descriptions; '
        'new and many more examples for properties',
    )


def pytest_configure(config: pytest.Config) -> None:
    patience.thorough = config.getoption('--thorough')
    if patience.thorough and installed('hypothesis'):
        settings.load_profile('thorough')


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave thorough tests, and most cases of tests with many similar ones, to the weekly run.

    Files with moving robots come first, and the longest first, by what their tests are marked as.
    """
    left_out: set[pytest.Item] = set()
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    seconds: Counter[Path] = Counter()
    for item in items:
        seconds[item.path] += 6.0 if item.get_closest_marker('slow') else 0.2
        if item.get_closest_marker('thorough'):
            left_out.add(item)
        elif item.get_closest_marker('few'):
            cases.setdefault((item.path, item.originalname), []).append(item)
    for some in cases.values():
        (count,) = some[0].get_closest_marker('few').args
        kept = {round(place) for place in np.linspace(0, len(some) - 1, count)}
        left_out |= {item for number, item in enumerate(some) if number not in kept}
    if left_out and not patience.thorough:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: (turn_of(item.path), -seconds[item.path]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep each file in one process of a run with ``-n``, and all in which robots move in the same.

    Two robots that move would take each other's time on a machine of two cores.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split('::')[0]
            return file if turn_of(config.rootpath / file) else 'moving'

    config.option.loadscopereorder = False  # not by the number of tests
    return ByFile(config, log)


def pytest_report_header() -> list[str]:
    return [f'left out: {file}, needs {", ".join(need)}' for file, need in LEFT_OUT.items()]
