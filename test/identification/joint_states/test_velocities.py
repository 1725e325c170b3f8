# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Accelerations from positions, and from velocities where these tell more; polled stamps."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.joint_states.clock import Stretch, regular_stretches
from dynamics_ros.identification.joint_states.filters import LowPass, with_velocities

PERIOD, HIGHEST = 0.002, 10.0
STEP = 1e-3
"""rad of the encoders."""

TIME = PERIOD * np.arange(10_000)
NAMES = ('a', 'b', 'c')
WAVES = 2.0 * np.pi * np.array([[0.3, 0.5, 0.8], [0.9, 0.2, 0.4]])


def smooth(time, derivative=0):
    """Positions (n, 3) of sines, or a derivative of them."""
    phases = time[:, np.newaxis, np.newaxis] * WAVES + 0.5 * np.pi * derivative
    return (0.6 * np.sin(phases) * WAVES**derivative).sum(axis=1)


def stretch(velocity):
    position = STEP * np.round(smooth(TIME) / STEP)
    return Stretch(0.0, PERIOD, position, velocity, np.zeros_like(position))


def measured(late=0.0, noise=2e-3):
    rng = np.random.default_rng(3)
    return smooth(TIME - late, 1) + noise * rng.normal(size=(len(TIME), 3))


def error_of_acceleration(position):
    """RMS error (3) behind a filter, without the ends."""
    wide = LowPass(PERIOD, HIGHEST)
    inside = slice(500, -500)
    error = wide(position, 2) - smooth(TIME[wide.centers(len(TIME))], 2)
    return np.sqrt((error[inside] ** 2).mean(axis=0))


@pytest.mark.parametrize('late', [0.0, 0.006])
def test_measured_velocities_give_better_accelerations_late_or_not(late):
    one = stretch(measured(late))
    fused = with_velocities(one, HIGHEST)
    plain = error_of_acceleration(one.position)
    assert (error_of_acceleration(fused) < 0.4 * plain).all()
    # What is slow is that of the positions.
    assert np.abs(fused - smooth(TIME))[500:-500].max() < STEP


def test_a_joint_whose_velocities_are_wrong_keeps_its_positions_and_the_others_gain():
    velocity = measured()
    velocity[:, 1] *= -1.0
    one = stretch(velocity)
    fused = with_velocities(one, HIGHEST)
    assert np.array_equal(fused[:, 1], one.position[:, 1])
    assert (
        error_of_acceleration(fused)[[0, 2]] < 0.4 * error_of_acceleration(one.position)[[0, 2]]
    ).all()


def test_stamps_of_a_loop_whose_pace_changes_are_believed_although_encoders_are_coarse():
    rng = np.random.default_rng(4)
    paces = np.repeat(rng.choice([0.00092, 0.00098, 0.0011], 200), 100)
    time = np.cumsum(paces + rng.exponential(3e-5, len(paces)))
    position = STEP * np.round(smooth(time) / STEP)
    # An even clock, from sample to sample as smooth as the true one, has them off by 0.25 rad.
    samples = JointSamples('polled', NAMES, time, position, None, 1.0 + position)
    (found,) = regular_stretches(samples)
    true = smooth(found.start + found.period * np.arange(len(found)))
    assert np.abs(found.position - true).max() < 2.0 * STEP
