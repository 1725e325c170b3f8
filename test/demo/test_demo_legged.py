# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo --robot anymal: a standing quadruped, its foot forces, and its missing packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import mujoco  # noqa: F401 (without it there is nothing to test)
import pytest
from patience import PATIENCE
from ros_harness import occupy

import benchmarks.robots  # noqa: F401 (its packages are needed)
from dynamics_ros.demo import robots
from dynamics_ros.demo.processes import DOMAIN_VARIABLE
from dynamics_ros.errors import ModelError

DOMAIN = 151
ARGUMENTS = ('--robot', 'anymal', '--duration', '8')


@pytest.mark.ros
@pytest.mark.slow
def test_a_quadruped_stands_is_pushed_and_its_feet_are_felt():
    occupy(DOMAIN)
    done = subprocess.run(
        [sys.executable, '-m', 'dynamics_ros.demo', *ARGUMENTS],
        env={**os.environ, DOMAIN_VARIABLE: str(DOMAIN)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    estimated, true = map(float, re.search(r'estimated (\S+) N of (\S+) N', last).groups())
    assert estimated == pytest.approx(true, rel=0.05)
    assert true > 300.0 and '4 of 4 feet in contact' in last


def test_without_its_packages_the_command_that_adds_them_is_told(monkeypatch):
    monkeypatch.setattr(robots, 'find_spec', lambda name: None)
    with pytest.raises(ModelError, match='pip install mujoco example-robot-data'):
        robots.read_description('anymal')
