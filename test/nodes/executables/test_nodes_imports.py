# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the nodes import at their start: a robot that waits for them should not wait for SciPy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy')

pytestmark = pytest.mark.ros

NODES = (
    'contact_node',
    'dynamics_node',
    'impedance_controller_node',
    'kinematics_node',
    'cartesian_servo_node',
)

LARGE = ('interpolate', 'ndimage', 'optimize', 'signal', 'sparse', 'spatial', 'special', 'stats')
"""Parts that take 0.1 to 0.6 s; after ``import scipy`` each is loaded where it is first used."""


FOR_ACTIONS = ('calibration', 'identification')
"""Rooms that contact_node needs for its action calibrate alone."""


def test_no_node_loads_a_large_part_of_scipy_to_start():
    assert loaded('scipy', LARGE) == []


def test_no_node_loads_rooms_that_only_a_goal_needs_to_start():
    assert loaded('dynamics_ros', FOR_ACTIONS) == []


@pytest.mark.parametrize('missing', ['event_handler', 'topic_endpoint_info'])
def test_what_a_release_lacks_is_named_or_not_needed(missing):
    """Humble has no ``rclpy.event_handler``; newer releases may have the other one elsewhere."""
    program = f"""
import rclpy.node, sys
del sys.modules['rclpy.{missing}']
sys.meta_path.insert(0, Lacking := type('Lacking', (), {{}}))
def find_spec(name, *_):
    if name == 'rclpy.{missing}':
        raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
Lacking.find_spec = staticmethod(find_spec)
import dynamics_ros.doctor.observer
from dynamics_ros.nodes.entry import composed
sys.argv[1:] = ['--help']
composed()
"""
    environment = {**os.environ, 'ROS_DISTRO': 'humble'}
    run = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, env=environment
    )
    if missing == 'topic_endpoint_info':
        assert run.returncode == 0, run.stderr
        return
    assert run.returncode == 1
    assert 'expected ROS 2 Jazzy or newer, and ROS_DISTRO is humble' in run.stderr
    assert 'Traceback' not in run.stderr


def loaded(package: str, parts: tuple[str, ...]) -> list[str]:
    """Those parts of a package that a process has once it has imported all nodes."""
    imports = '\n'.join(f'import dynamics_ros.nodes.{name}' for name in NODES)
    found = f'[part for part in {parts} if "{package}." + part in sys.modules]'
    program = f'import sys\n{imports}\nprint(*{found})'
    run = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()
