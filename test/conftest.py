# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Leaves out, and names, the files whose peers are not installed, and shares files among processes.

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
        max_examples=60,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        # The same examples at every run: a change is judged by what it changed.
        derandomize=True,
    )
    settings.register_profile('usual', usual)
    settings.register_profile('fuzz', usual, derandomize=False, max_examples=600)
    settings.load_profile('usual')

HERE = Path(__file__).parent

pytest_plugins = ['quick']

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
    'nodes_and_library': ('pinocchio', 'mujoco', 'example-robot-data'),
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


LEFT_OUT = {
    str(file.relative_to(HERE)): need
    for file in sorted(HERE.rglob('test_*.py'))
    if (need := lacking(file))
}

collect_ignore = list(LEFT_OUT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        '--fuzz',
        action='store_true',
        help='mutate many more messages and descriptions; new examples for properties',
    )


NODES = re.compile(r'\b(ros_harness|rclpy|benchmarks\.timing)\b')
"""What a file names that waits for processes of its own, or measures them."""

MOVING = re.compile(r'\b(impedance_harness|servo_harness|robot_simulator|dynamics_ros\.demo)\b')
"""What a file names beside that in which robots move by commands, in real time."""


@cache
def _turn(file: Path) -> int:
    """When a file has its turn: 0: robots move, 1: without nodes, 2: other nodes."""
    text = file.read_text()
    return 1 if not NODES.search(text) else 0 if MOVING.search(text) else 2


class Turns:
    """Orders the files of a run that several processes share."""

    @staticmethod
    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        """Put files by their turns, and the longest first, by what their tests are marked as."""
        seconds: Counter[Path] = Counter()
        for item in items:
            seconds[item.path] += 6.0 if item.get_closest_marker('slow') else 0.2
        items.sort(key=lambda item: (_turn(item.path), -seconds[item.path]))


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption('--fuzz') and installed('hypothesis'):
        settings.load_profile('fuzz')
    if hasattr(config, 'workerinput'):
        config.pluginmanager.register(Turns())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep each file in one process, and those in which robots move in the same one.

    With ``-n 2`` one process begins with these, file after file, and the other with those that need
    no nodes: two robots that move would take each other's time on a machine of two cores. Whoever
    has ended its file begins the next one.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split('::')[0]
            return file if _turn(config.rootpath / file) else 'moving'

    config.option.loadscopereorder = False  # not by the number of tests
    return ByFile(config, log)


def pytest_report_header() -> list[str]:
    return [f'left out: {file}, needs {", ".join(need)}' for file, need in LEFT_OUT.items()]
