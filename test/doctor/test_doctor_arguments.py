# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of `doctor` that ROS cannot read."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from dynamics_ros.doctor.command import main

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(
    'words', [['-r', '__node:=a b'], ['-p', 'rate'], ['--params-file', 'nowhere.yaml']]
)
def test_arguments_that_ros_cannot_read_are_told_in_one_line(capsys, words):
    assert main(['--ros-args', *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('doctor: Failed to parse ROS arguments')
    assert words[1] in line
