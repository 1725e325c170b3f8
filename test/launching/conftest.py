# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Machines with and without the packages that launch files can do without."""

from __future__ import annotations

import os

import pytest

pytest.importorskip('rclpy')

from dynamics_ros.launching import processes


@pytest.fixture
def with_rviz(tmp_path, monkeypatch):
    """A machine where ROS finds rviz2, robot_state_publisher and tf2_ros."""
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    for name in ('rviz2', 'robot_state_publisher', 'tf2_ros'):
        (index / name).touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path}:{os.environ["AMENT_PREFIX_PATH"]}')


@pytest.fixture
def without_rviz(monkeypatch):
    """A machine where ROS finds our package and nothing else."""
    prefix = processes.get_package_prefix('dynamics_ros')
    monkeypatch.setenv('AMENT_PREFIX_PATH', prefix)
