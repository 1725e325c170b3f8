# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The soak with swaps: what it counts as wrong, as unanswered and as growth."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, Q

from benchmarks.ros_meter import Measurement
from benchmarks.ros_swapper import LOAD, described, named
from benchmarks.ros_swaps import Swaps, expected
from dynamics_ros import Robot

SECOND = 10**9


def test_each_description_is_another_robot_of_the_same_joints():
    robots = [Robot.from_urdf(described(ARM, 'tool0', i), backend='python') for i in (1, 2)]
    bare = Robot.from_urdf(ARM, backend='python')
    assert [robot.name for robot in robots] == [named(1), named(2)]
    assert [robot.joint_names for robot in robots] == [bare.joint_names] * 2
    assert robots[1].total_mass == pytest.approx(bare.total_mass + 2 * LOAD)


def run(sent, answered, torques=None) -> Swaps:
    measured = Measurement(
        len(sent), len(answered), 20.0, 1.0, np.zeros(len(answered)), (100.0,) * 20,
        threads=(9,) * 20, files=(20,) * 19 + (21,), stamps=np.array(answered),
    )  # fmt: skip
    told = [{'number': 1, 'asked': 5 * SECOND, 'ready': 6 * SECOND}]
    return Swaps(measured, np.array(sent), told, torques)


def test_what_is_unanswered_counts_outside_of_swaps():
    sent = [SECOND * i for i in range(1, 11)]
    assert run(sent, sent).unanswered_outside() == 0
    assert (
        run(sent, [s for s in sent if s not in (5 * SECOND, 7 * SECOND)]).unanswered_outside() == 0
    )
    assert run(sent, sent[:7] + sent[9:]).unanswered_outside() == 2


def test_torques_of_none_of_the_robots_are_wrong():
    bare, per_load = expected(ARM, 'tool0', Q)
    right = [bare, bare + LOAD * per_load]
    wrong = [bare + 1.5 * LOAD * per_load, bare + 5 * LOAD * per_load, -bare]
    swaps = run([1], [1], np.array(right + wrong))
    assert swaps.wrong(bare, per_load) == 3
    figures = {
        record.case.split(': ')[1]: record.value for record in swaps.records('arm', bare, per_load)
    }
    assert figures['wrong'] == 3.0
    assert figures['growth of files'] == figures['growth of threads'] == 0.0
