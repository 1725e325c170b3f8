# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Passivity and hand guiding with MuJoCo as the plant, as `scripts/bench control` measures them."""

from __future__ import annotations

import mujoco  # noqa: F401 (without it there is nothing to test)
import numpy as np
import pytest

from benchmarks.control_plant import TANK, Plant, energy_taken, guiding_measures, stiffness_measures
from benchmarks.robots import SUBJECTS


@pytest.fixture
def panda():
    return Plant(next(subject for subject in SUBJECTS if subject.name == 'panda'))


def test_contacts_and_gains_that_change_take_out_no_more_than_the_tank_holds(panda):
    seconds = 4.0
    assert energy_taken(panda, TANK, seconds) <= TANK
    assert 'energy' in panda.acting
    assert energy_taken(panda, np.inf, seconds) > 3.0 * TANK


def test_stiffness_is_what_was_asked_for_and_a_hand_leads_the_tool_lightly(panda):
    for case, value, _, goal in [*stiffness_measures(panda), *guiding_measures(panda, 2.0)]:
        assert value <= goal.limit, case
