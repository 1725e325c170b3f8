# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter of the direction of gravity."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import GravityFilter

G = 9.81
STEP = 10**7
"""ns: 100 Hz."""


def direction(angle):
    return np.array([np.sin(angle), 0.0, -np.cos(angle)])


def test_nothing_is_known_before_the_first_sample_and_the_first_counts_whole():
    follower = GravityFilter(G, 1.0)
    assert follower.gravity is None
    follower.add(0, 3.0 * direction(0.4))
    np.testing.assert_allclose(follower.gravity, G * direction(0.4))


@pytest.mark.parametrize('jitter', [0.0, 0.5])
def test_after_a_step_it_goes_over_with_its_time_constant_whatever_the_intervals(jitter):
    follower = GravityFilter(G, 0.5)
    rng = np.random.default_rng(0)
    follower.add(0, direction(0.0))
    stamp = 0
    while stamp < 5 * 10**8:
        stamp = min(stamp + round(STEP * (1.0 + rng.uniform(-jitter, jitter))), 5 * 10**8)
        follower.add(stamp, direction(0.1))
    # The chord of a small angle is the angle but for its cube, 1e-3 / 24.
    angle = np.arctan2(follower.gravity[0], -follower.gravity[2])
    assert angle == pytest.approx(0.1 * (1.0 - np.exp(-1.0)), abs=1e-4)


def test_an_accelerated_base_is_not_taken_for_a_tilted_one():
    follower = GravityFilter(G, 0.0)
    follower.add_specific_force(0, -G * direction(0.0))
    assert not follower.add_specific_force(STEP, [6.0, 0.0, G])
    assert follower.add_specific_force(2 * STEP, [0.5, 0.0, G])
    np.testing.assert_allclose(np.linalg.norm(follower.gravity), G)


@pytest.mark.parametrize('later', [-1, 10**11])
def test_after_a_jump_of_the_clock_or_a_long_gap_it_begins_anew(later):
    follower = GravityFilter(G, 1.0)
    follower.add(10**9, direction(0.0))
    follower.add(10**9 + later if later > 0 else 0, direction(1.0))
    np.testing.assert_allclose(follower.gravity, G * direction(1.0))


@pytest.mark.parametrize(
    ('call', 'argument'),
    [
        (lambda: GravityFilter(0.0, 1.0), 'magnitude'),
        (lambda: GravityFilter(G, -1.0), 'time_constant'),
        (lambda: GravityFilter(G, 1.0).add(0, np.zeros(3)), 'direction'),
        (lambda: GravityFilter(G, 1.0).add_specific_force(0, [np.nan, 0, 0]), 'force'),
    ],
)
def test_bad_values_are_named(call, argument):
    with pytest.raises(InvalidArgumentError, match=argument):
        call()
