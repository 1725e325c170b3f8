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
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

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

if 'DYNAMICS_ROS_COVERAGE' in os.environ:
    import sitecustomize  # that of test/counted

    if sitecustomize.lines is not None:
        sitecustomize.lines.of([sitecustomize.PACKAGE])

pytest_plugins = ['quick', 'sharing', 'renewal', 'launch_files']

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
    """Leave thorough tests, and most cases of tests with many similar ones, to the weekly run."""
    if patience.thorough:
        return
    left_out = [item for item in items if item.get_closest_marker('thorough')]
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker('few'):
            cases.setdefault((item.path, item.originalname), []).append(item)
    for some in cases.values():
        (count,) = some[0].get_closest_marker('few').args
        kept = {round(place) for place in np.linspace(0, len(some) - 1, count)}
        left_out += [item for number, item in enumerate(some) if number not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_report_header() -> list[str]:
    return [f'left out: {file}, needs {", ".join(need)}' for file, need in LEFT_OUT.items()]
