# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""cartesian_servo_node before a robot that this test plays: when it stops by itself, and why."""

from __future__ import annotations

import os

import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from servo_harness import CAMERA, ROBOT, SPEED
from servo_harness import play as play_in

pytestmark = pytest.mark.ros

DOMAIN = 99


def play(**parameters):
    return play_in(DOMAIN, **parameters)


@pytest.fixture
def watched():
    """A twist in the frame of a camera."""
    with play(transform_timeout=0.5) as one:
        one.twist, one.frame_id = [0.0, 0.0, SPEED, 0.0, 0.0, 0.0], CAMERA
        yield one


def test_it_stops_when_joint_states_fail_to_come():
    with play() as one:
        one.wait_for_velocity([0.0, SPEED, 0.0], one.both)
        status = one.wait_for_status('joint states', one.lead)
        assert status.level == DiagnosticStatus.WARN
        one.wait_for_stop(one.lead)


def test_it_stops_when_the_robot_does_not_follow():
    with play(following_tolerance=0.05) as one:
        one.twist = [0.0, 0.2, 0.0, 0.0, 0.0, 0.0]
        one.wait_for_status('from where it was sent', one.both)


def test_it_stops_when_tf_is_lost_and_goes_on_when_it_is_back(watched):
    down = [0.0, 0.0, -SPEED]
    watched.wait_for_status('following twist_command', watched.all)
    watched.wait_for_velocity(down, watched.all)
    status = watched.wait_for_status('s old', watched.both)
    watched.wait_for_stop(watched.both)
    assert status.level == DiagnosticStatus.WARN
    assert CAMERA in status.message and '0.5 s' in status.message
    watched.wait_for_status('following twist_command', watched.all)
    watched.wait_for_velocity(down, watched.all)


def test_a_static_transform_has_no_age(watched):
    def all_static():
        watched.see(Time())
        watched.both()

    watched.wait_for_status('following twist_command', all_static)
    started = len(watched.commands)
    # At 200 Hz twice the time after which another would be lost.
    watched.ros.wait_for(lambda: len(watched.commands) > started + 200, meanwhile=watched.both)
    watched.wait_for_velocity([0.0, 0.0, -SPEED], watched.both)


def test_without_daqp_it_says_who_takes_its_place_and_keeps_to_limits(tmp_path, monkeypatch):
    (tmp_path / 'daqp.py').write_text("raise ImportError('not here')")
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}{os.pathsep}{os.environ.get("PYTHONPATH", "")}')
    with play() as one:
        one.q[-1] = ROBOT.upper_limits[-1] - 0.06
        one.twist, one.frame_id = [0.0, 0.0, 0.0, 0.0, 0.0, 0.5], 'tool0'
        one.wait_for_status('at the limit of', one.both)
        assert 'daqp is not installed (pip install daqp): SciPy solves' in one.servo.printed
