# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Round trips of commands that do not say which state they answer."""

from __future__ import annotations

import numpy as np

from benchmarks.control_node import answers

SENT = [1000, 2000, 3000, 4000]


def test_each_command_answers_the_oldest_state_without_one():
    trips, lost = answers(SENT, [1100, 2200, 3300, 4400])
    assert trips.tolist() == [100, 200, 300, 400]
    assert lost == 0


def test_answers_that_lag_behind_are_not_taken_for_early_ones():
    trips, lost = answers(SENT, [2500, 3500, 4500, 5500])
    assert trips.tolist() == [1500] * 4
    assert lost == 0


def test_commands_without_a_state_are_no_answers():
    trips, lost = answers(SENT, [500, 1100, 1500, 2100, 3100, 4100])
    assert trips.tolist() == [100] * 4
    assert lost == 0


def test_a_state_without_an_answer_is_lost():
    trips, lost = answers(SENT, [1100, 3100, 4100])
    assert lost == 1
    assert np.isnan(trips[-1])
    assert answers(SENT, [])[1] == 4
