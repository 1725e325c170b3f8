# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Round trips of commands that say which state they answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.control_node import COUNTERS, answers, with_counters
from benchmarks.robots import urdf_path
from dynamics_ros import Robot

SENT = [1000, 2000, 3000, 4000]
CYCLE = 3


def test_each_command_answers_the_state_of_its_number():
    trips, lost = answers(SENT, [(2500, 0), (2600, 1), (4400, 0), (4500, 2)], CYCLE)
    assert trips.tolist() == [1500, 600, 1500, 400]
    assert lost == 0


def test_only_the_first_command_to_a_state_is_its_answer():
    trips, _ = answers(SENT, [(1100, 0), (1500, 0), (2100, 1), (2900, 1)], CYCLE)
    assert trips[:2].tolist() == [100, 100]


def test_a_state_without_an_answer_is_lost_and_shifts_no_other():
    trips, lost = answers(SENT, [(500, 0), (1100, 0), (3100, 2), (4100, 0)], CYCLE)
    assert lost == 1
    assert np.isnan(trips[1])
    assert trips[[0, 2, 3]].tolist() == [100, 100, 100]
    assert answers(SENT, [], CYCLE)[1] == 4


def test_torques_of_the_counters_tell_the_number_of_a_state_and_the_arm_feels_nothing():
    source = pytest.importorskip('benchmarks.ros_source')
    plain = Robot.from_urdf(urdf_path('xarm7'))
    text = with_counters(urdf_path('xarm7').read_text(), plain.root_frame)
    robot = Robot.from_urdf(text)
    assert tuple(robot.joint_names[-2:]) == COUNTERS
    q = robot.neutral()
    for number in range(source.CYCLE):
        angle = 2.0 * math.pi * number / source.CYCLE
        q[-2:] = source.SWING * math.cos(angle), source.SWING * math.sin(angle)
        torques = robot.gravity(q)
        assert source.number_of(*torques[-2:]) == number
    assert torques[:-2] == pytest.approx(plain.gravity(plain.neutral()), abs=1e-9)
