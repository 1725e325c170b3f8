# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo --robot anymal: feet are felt, and what it takes is told where it is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import mujoco  # noqa: F401 (without it there is nothing to test)
import pytest
from patience import PATIENCE
from ros_harness import occupy

import benchmarks.robots  # noqa: F401 (its packages are needed)
from dynamics_ros.demo import known_robots
from dynamics_ros.demo.processes import DOMAIN_VARIABLE
from dynamics_ros.errors import ModelError

DOMAIN = 151
ARGUMENTS = ('--robot', 'anymal', '--duration', '5', '--json')


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
    report = json.loads(done.stdout.splitlines()[-1])
    assert not report['failures'] and report['joints'] == 12 and len(report['feet']) == 4
    assert report['true_n'] == pytest.approx(report['weight_n'], rel=0.02)
    assert report['felt_n'] == pytest.approx(report['weight_n'], rel=0.02)
    assert report['pushed_n'] == pytest.approx(report['push_n'], rel=0.2)
    assert 'all of it worked' in done.stdout


def test_without_its_packages_the_command_that_adds_them_is_told(monkeypatch):
    monkeypatch.setattr(known_robots, 'find_spec', lambda name: None)
    with pytest.raises(ModelError, match='pip install mujoco example-robot-data'):
        known_robots.read_description('anymal')
