# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Passivity and hand guiding with MuJoCo as the plant, as `scripts/bench control` measures them."""

from __future__ import annotations

import mujoco  # noqa: F401 (without it there is nothing to test)
import numpy as np
import pytest

from benchmarks.control_plant import (
    TANK,
    Plant,
    energy_taken,
    guiding_measures,
    stiffness_measures,
)
from benchmarks.robots import SUBJECTS
from dynamics_ros.algorithms.control.torque_limits import MIN_PART, share_beside


def plant_of(name):
    return Plant(next(subject for subject in SUBJECTS if subject.name == name))


@pytest.fixture
def panda():
    return plant_of('panda')


def test_contacts_and_gains_that_change_take_out_no_more_than_the_tank_holds(panda):
    seconds = 4.0
    assert energy_taken(panda, TANK, seconds) <= TANK
    assert 'energy' in panda.acting
    assert energy_taken(panda, np.inf, seconds) > 3.0 * TANK


def test_stiffness_is_what_was_asked_for_and_a_hand_leads_the_tool_lightly(panda):
    for case, value, _, goal in [*stiffness_measures(panda), *guiding_measures(panda, 2.0)]:
        assert goal is None or value <= goal.limit, case


@pytest.mark.parametrize(
    ('first', 'second', 'share'),
    [
        ([0.0, 0.0], [0.5, -0.5], 1.0),
        ([0.0, 0.0], [4.0, -0.5], 0.25),
        ([-0.5, 0.0], [0.5, 2.0], 0.5),
        ([9.0, 0.0], [1.0, 1.0], MIN_PART),
        ([9.0, 0.0], [0.0, 1.0], 1.0),
        ([-9.0, 0.0], [8.5, 0.5], 1.0),
        ([-9.0, 0.0], [8.5, 2.0], 0.5),
    ],
)
def test_a_change_gets_the_share_that_rates_leave_beside_another(first, second, share):
    assert share_beside(first, second, [1.0, 1.0]) == pytest.approx(share)
