# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states as drivers record them: noise, order of samples, velocities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynamics_ros.identification import JointSamples, UnusableRecordingError
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.filters import LowPass, with_velocities
from dynamics_ros.identification.joint_states.noise import sample_noise

PERIOD, STEP = 2e-3, 1e-4


def swing(count=10_000):
    """Positions and velocities (n, 2) of two joints."""
    t, w = PERIOD * np.arange(count), np.array([2.0, 3.1])
    phase = w * t[:, np.newaxis]
    return np.sin(phase), w * np.cos(phase)


def sampled(period, *values):
    time = period * np.arange(len(values[0]))
    return JointSamples('sampled', tuple('abc')[: values[0].shape[1]], time, *values)


OF_STEPS = STEP / np.sqrt(6.0) / PERIOD
"""rad/s: the error of rounding is even, its variance a twelfth of the square of the step."""


@pytest.mark.parametrize(
    ('differences', 'white', 'velocity'),
    [
        (True, 0.0, OF_STEPS),
        (False, 0.01, 0.01),
        (True, OF_STEPS, np.sqrt(2.0) * OF_STEPS),
    ],
)
def test_noise_of_velocities_is_that_of_differences_and_white_noise(differences, white, velocity):
    rng = np.random.default_rng(0)
    q, v = swing()
    ticks = STEP * np.round(q / STEP)
    if differences:
        v = np.diff(ticks, axis=0, prepend=ticks[:1]) / PERIOD
    v, effort = v + white * rng.normal(size=q.shape), 0.3 * rng.normal(size=q.shape)
    found = sample_noise([sampled(PERIOD, ticks, v, effort)], np.ones(2))
    assert found.velocity == pytest.approx(np.full(2, velocity), rel=0.05)
    assert found.effort == pytest.approx(np.full(2, 0.3), rel=0.05)


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
def test_noise_of_filtered_velocities_is_that_after_the_filter_of_the_driver(cutoff):
    ticks, v = filtered(cutoff)
    found = sample_noise([sampled(PERIOD, ticks, v, 0.0 * v)], np.ones(2))
    share = 1.0 - np.exp(-2.0 * np.pi * cutoff * PERIOD)
    # The variance of filtered differences of white noise.
    after = OF_STEPS * share / np.sqrt(2.0 - share)
    assert found.velocity == pytest.approx(np.full(2, after), rel=0.2)


NAMES = ('shoulder', 'elbow')
RATE = 100.0


def moved(seed=0, duration=10.0, begin=0.0):
    rng = np.random.default_rng(seed)
    t = begin + np.arange(0.0, duration, 1.0 / RATE)
    phases = rng.uniform(0.0, 6.0, 2)
    q = np.sin(1.3 * t[:, np.newaxis] + phases) + 1e-6 * rng.normal(size=(len(t), 2))
    return JointSamples('motion', NAMES, t, q, None, 5.0 + q + 0.1 * rng.normal(size=q.shape))


def joined(*parts):
    return replace(
        parts[0],
        time=np.concatenate([part.time for part in parts]),
        position=np.concatenate([part.position for part in parts]),
        effort=np.concatenate([part.effort for part in parts]),
    )


def roughness(samples):
    """Of all pieces: third differences of the positions."""
    return max(np.abs(np.diff(one.position, 3, axis=0)).max() for one in regular_stretches(samples))


def test_a_second_motion_in_the_same_file_is_another_piece():
    whole = joined(moved(0), moved(1, begin=0.003)).cleaned()
    assert len(whole) == 2000
    assert (np.diff(whole.time) > 0.0).all()
    assert len(regular_stretches(whole)) == 2
    assert roughness(whole) < 1e-4
    (note,) = whole.notes
    assert 'go back' in note and '2 pieces' in note


def test_late_and_reversed_samples_are_put_where_they_belong():
    one = moved()
    order = np.arange(len(one))
    order[50::97], order[51::97] = order[51::97].copy(), order[50::97].copy()
    for rows in (order, order[::-1]):
        put = one.rows(rows).cleaned()
        assert put.time == pytest.approx(one.time)
        assert put.position == pytest.approx(one.position)
        assert not put.notes


@pytest.mark.parametrize('other_stamps', [0.0, 0.003])
def test_two_motions_at_once_are_refused(other_stamps):
    whole = joined(moved(0), moved(1, begin=0.0))
    time = whole.time + np.repeat([0.0, other_stamps], 1000)
    order = np.argsort(time, kind='stable')
    with pytest.raises(UnusableRecordingError, match='to and fro'):
        replace(whole, time=time).rows(order).cleaned()


@pytest.mark.parametrize('step', [0.1, 1.0])
def test_coarse_stamps_are_spread(step):
    one = moved()
    whole = replace(one, time=step * np.floor((one.time + 1e-9) / step)).cleaned()
    assert len(whole) == len(one)
    assert whole.time == pytest.approx(one.time, abs=1e-6)
    assert 'coarse' in whole.notes[0]


def test_one_stamp_for_all_is_told():
    one = moved(begin=1.7e9)
    with pytest.raises(UnusableRecordingError, match='same stamp'):
        replace(one, time=one.time.astype(np.float32).astype(np.float64)).cleaned()


VELOCITIES_PERIOD, HIGHEST = 0.002, 10.0
VELOCITIES_STEP = 1e-3
"""rad of the encoders."""

TIME = VELOCITIES_PERIOD * np.arange(10_000)
VELOCITIES_NAMES = ('a', 'b', 'c')
WAVES = 2.0 * np.pi * np.array([[0.3, 0.5, 0.8], [0.9, 0.2, 0.4]])


def smooth(time, derivative=0):
    """Positions (n, 3) of sines, or a derivative of them."""
    phases = time[:, np.newaxis, np.newaxis] * WAVES + 0.5 * np.pi * derivative
    return (0.6 * np.sin(phases) * WAVES**derivative).sum(axis=1)


def stretch(velocity):
    position = VELOCITIES_STEP * np.round(smooth(TIME) / VELOCITIES_STEP)
    return sampled(VELOCITIES_PERIOD, position, velocity, 0.0 * position)


def measured(late=0.0, noise=2e-3):
    rng = np.random.default_rng(3)
    return smooth(TIME - late, 1) + noise * rng.normal(size=(len(TIME), 3))


def error_of_acceleration(position):
    """RMS error (3) behind a filter, without the ends."""
    wide = LowPass(VELOCITIES_PERIOD, HIGHEST)
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
    assert np.abs(fused - smooth(TIME))[500:-500].max() < VELOCITIES_STEP


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
    position = VELOCITIES_STEP * np.round(smooth(time) / VELOCITIES_STEP)
    # An even clock, from sample to sample as smooth as the true one, has them off by 0.25 rad.
    samples = JointSamples('polled', VELOCITIES_NAMES, time, position, None, 1.0 + position)
    (found,) = regular_stretches(samples)
    true = smooth(found.time)
    assert np.abs(found.position - true).max() < 2.0 * VELOCITIES_STEP


def test_repeated_samples_are_dropped_without_a_word():
    one = moved()
    twice = one.rows(np.repeat(np.arange(len(one)), 2)).cleaned()
    assert twice.time == pytest.approx(one.time)
    assert not twice.notes
