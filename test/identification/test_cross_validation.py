# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The weight of the description is as large as what is left out surely allows."""

from __future__ import annotations

import numpy as np

from dynamics_ros.identification.cross_validation import WEIGHTS, heaviest


def test_a_lighter_weight_that_is_better_in_some_parts_alone_is_not_taken():
    errors = np.full((len(WEIGHTS), 5), 1.0)
    errors[0] = [1.3, 0.9, 1.2, 0.8, 1.1]
    assert heaviest(errors) == WEIGHTS[0]


def test_a_lighter_weight_that_is_better_in_all_parts_is_taken():
    errors = np.full((len(WEIGHTS), 5), 1.0)
    errors[:2] = [1.3, 1.2, 1.25, 1.3, 1.2]
    assert heaviest(errors) == WEIGHTS[2]


def test_what_is_worth_less_than_a_hundredth_is_not_taken():
    errors = np.full((len(WEIGHTS), 5), 1.0)
    errors[0] = 1.005
    assert heaviest(errors) == WEIGHTS[0]
