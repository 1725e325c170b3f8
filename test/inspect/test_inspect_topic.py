# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``inspect --topic`` reads the description that a running robot publishes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

from ros_harness import running

pytestmark = pytest.mark.ros

DOMAIN = 223


def inspected(topic: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'dynamics_ros.inspect', '--topic', topic],
        env={**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def test_the_description_of_a_topic_is_that_of_its_publisher():
    with running('robot_simulator', DOMAIN):
        done = inspected('/robot_description')
        assert done.returncode in (0, 1), done.stderr
        assert 'seven_joint_arm' in done.stdout and 'shoulder_yaw' in done.stdout
        done = inspected('/nowhere')
    assert done.returncode == 2
    assert "topic '/nowhere': no description within 10 s" in done.stderr
