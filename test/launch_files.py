# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files as data: what they start with which files, by stand-ins of launch's actions."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ('launch', 'launch.actions', 'launch_ros', 'launch_ros.actions')


@pytest.fixture
def stand_ins(monkeypatch):
    """The stand-ins in place of launch and launch_ros, and the module that uses them."""
    monkeypatch.syspath_prepend(str(ROOT / 'test' / 'stand_ins'))
    for name in (*NAMES, 'dynamics_ros.launching'):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module('dynamics_ros.launching')
    for name in (*NAMES, 'dynamics_ros.launching'):
        sys.modules.pop(name, None)


@pytest.fixture
def launched(stand_ins):
    """A function from a launch file and values of its arguments to the actions that it starts."""

    def loaded(name):
        spec = importlib.util.spec_from_file_location('launch_file', ROOT / 'launch' / name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.generate_launch_description().entities

    def started(name, **values):
        *declared, function = loaded(name)
        given = {item.name: item.default_value for item in declared} | values
        return function.function(SimpleNamespace(launch_configurations=given))

    started.arguments = lambda name: loaded(name)[:-1]
    return started


@pytest.fixture
def with_rviz(tmp_path, monkeypatch):
    """A machine where ROS finds rviz2."""
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'rviz2').touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path}:{os.environ["AMENT_PREFIX_PATH"]}')


@pytest.fixture
def without_rviz(monkeypatch):
    """A machine where ROS finds our package and nothing else."""
    from ament_index_python.packages import get_package_prefix

    monkeypatch.setenv('AMENT_PREFIX_PATH', get_package_prefix('dynamics_ros'))
