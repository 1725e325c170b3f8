# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of samples: white, of differences of encoder steps, and behind a driver's filter."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.identification.joint_states.clock import Stretch
from dynamics_ros.identification.joint_states.noise import sample_noise

PERIOD, STEP = 2e-3, 1e-4


def swing(count=10_000):
    """Positions and velocities (n, 2) of two joints."""
    t, w = PERIOD * np.arange(count), np.array([2.0, 3.1])
    phase = w * t[:, np.newaxis]
    return np.sin(phase), w * np.cos(phase)


def noise_of(q, v, effort=None):
    effort = np.zeros_like(q) if effort is None else effort
    found = sample_noise([Stretch(0.0, PERIOD, q, v, effort)], np.ones(q.shape[1]))
    return found.effort, found.velocity, found.differenced


def test_differences_of_encoder_steps_are_told_as_such():
    q, _ = swing()
    ticks = STEP * np.round(q / STEP)
    _, velocity, share = noise_of(ticks, np.diff(ticks, axis=0, prepend=ticks[:1]) / PERIOD)
    # The error of rounding is even: its variance is a twelfth of the step's square.
    assert velocity == pytest.approx(np.full(2, STEP / np.sqrt(6.0) / PERIOD), rel=0.05)
    assert (share > 0.98).all()


def test_white_noise_of_velocities_is_none_of_differences():
    rng = np.random.default_rng(0)
    q, v = swing()
    ticks = STEP * np.round(q / STEP)
    effort, velocity, share = noise_of(
        ticks, v + 0.01 * rng.normal(size=v.shape), 0.3 * rng.normal(size=v.shape)
    )
    assert velocity == pytest.approx(np.full(2, 0.01), rel=0.05)
    assert (share < 0.05).all()
    assert effort == pytest.approx(np.full(2, 0.3), rel=0.05)


def test_both_at_once_have_their_shares():
    rng = np.random.default_rng(1)
    q, _ = swing()
    ticks = STEP * np.round(q / STEP)
    steps = np.diff(ticks, axis=0, prepend=ticks[:1]) / PERIOD
    of_steps = STEP / np.sqrt(6.0) / PERIOD
    _, velocity, share = noise_of(ticks, steps + of_steps * rng.normal(size=q.shape))
    # What filter a driver has is told less well beside other noise.
    assert velocity == pytest.approx(np.full(2, np.sqrt(2.0) * of_steps), rel=0.15)
    assert share == pytest.approx(np.full(2, 0.5), abs=0.15)


def test_a_filter_of_the_driver_does_not_hide_what_is_slow():
    q, _ = swing()
    ticks = STEP * np.round(q / STEP)
    v = np.diff(ticks, axis=0, prepend=ticks[:1]) / PERIOD
    decay = np.exp(-2.0 * np.pi * 60.0 * PERIOD)
    for k in range(1, len(v)):
        v[k] += decay * (v[k - 1] - v[k])
    _, velocity, share = noise_of(ticks, v)
    slow = STEP / np.sqrt(6.0) / PERIOD
    assert velocity * np.sqrt(share) == pytest.approx(np.full(2, slow), rel=0.15)


def filtered(cutoff):
    """Positions in steps, and their differences behind a driver's low-pass filter [Hz]."""
    q, _ = swing()
    ticks = STEP * np.round(q / STEP)
    v = np.diff(ticks, axis=0, prepend=ticks[:1]) / PERIOD
    decay = np.exp(-2.0 * np.pi * cutoff * PERIOD)
    for k in range(1, len(v)):
        v[k] += decay * (v[k - 1] - v[k])
    return ticks, v


@pytest.mark.parametrize('cutoff', [10.0, 25.0, 60.0])
def test_the_filter_of_the_driver_is_identified(cutoff):
    ticks, v = filtered(cutoff)
    found = sample_noise([Stretch(0.0, PERIOD, ticks, v, np.zeros_like(v))], np.ones(2))
    assert found.cutoff == pytest.approx(np.full(2, cutoff), rel=0.1)
    assert found.velocity == pytest.approx(np.full(2, STEP / np.sqrt(6.0) / PERIOD), rel=0.05)
    assert (found.differenced > 0.95).all()
