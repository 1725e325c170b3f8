# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A calibration takes another observer where noise of velocities would hide contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import ROBOT, motion

from dynamics_ros.estimation import EffortModel
from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.deviations import Accuracy
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.noise import sample_noise
from dynamics_ros.identification.uncertainty import ObserverChoice, learn_unexplained
from dynamics_ros.identification.uncertainty.residuals import (
    MAX_NOISE,
    chosen_observer,
)

RATE = 500.0
IDEAL = EffortModel.ideal(ROBOT)


def encoded(step):
    """Free motion of which encoders tell, and differences of what they tell."""
    t = np.arange(0.0, 20.0, 1.0 / RATE)
    q, v, a = motion(t, 3)
    ticks = step * np.round(q / step)
    velocity = np.diff(ticks, axis=0, prepend=ticks[:1]) * RATE
    effort = ROBOT.inverse_dynamics(q, v, a)
    effort += 0.05 * np.random.default_rng(0).normal(size=q.shape)
    return JointSamples('encoded', ROBOT.joint_names, t, ticks, velocity, effort)


def noise_of(samples):
    return sample_noise(regular_stretches(samples), np.ones(ROBOT.nv))


def chosen(step, left_over=0.0):
    samples = encoded(step)
    return chosen_observer(ROBOT, noise_of(samples), samples.position, 1.0 / RATE, left_over)


def test_fine_encoders_change_nothing():
    assert chosen(1e-6) == ObserverChoice()


def test_coarse_encoders_ask_for_a_filter_and_coarser_ones_for_a_slower_one():
    choices = [chosen(step) for step in (1e-4, 5e-4, 2e-3)]
    assert {one.kind for one in choices} == {'momentum_third_order'}
    gains = [one.gain for one in choices]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > gains[-1] >= 10.0


def test_what_is_learned_is_of_that_observer_and_without_the_noise():
    samples = encoded(1e-4)
    noise = noise_of(samples)
    learned = learn_unexplained(
        ROBOT,
        IDEAL,
        [samples],
        Accuracy(replace(noise, cutoff=0.0)),
    )
    assert learned.observer == chosen(1e-4)
    (told,) = [one for one in learned.findings if 'observer' in one]
    assert 'momentum_third_order' in told
    # The model is right: nothing but noise is left over, and that is told apart.
    limits = MAX_NOISE * ROBOT.effort_limits
    assert (learned.unexplained.constant < 0.5 * limits).all()
    speeds = np.abs(samples.velocity).mean(axis=0)
    assert (learned.unexplained.speed * speeds < 0.5 * limits).all()


@pytest.mark.parametrize('cutoff', [30.0, 60.0, None])
def test_noise_behind_a_filter_of_the_driver_is_stated_as_the_observer_passes_it(cutoff):
    step, rng = 1e-4, np.random.default_rng(2)
    t = np.arange(0.0, 10.0, 1.0 / RATE)
    q, _, _ = motion(t, 3)
    ticks = step * np.round(q / step)
    velocity = np.diff(ticks, axis=0, prepend=ticks[:1]) * RATE
    noise = np.diff(step * rng.uniform(-0.5, 0.5, q.shape), axis=0, prepend=0.0) * RATE
    if cutoff is not None:
        decay = np.exp(-2.0 * np.pi * cutoff / RATE)
        for k in range(1, len(t)):
            for one in (velocity, noise):
                one[k] += decay * (one[k - 1] - one[k])
    samples = JointSamples('filtered', ROBOT.joint_names, t, ticks, velocity, 0.0 * q + 1.0)
    found = sample_noise(regular_stretches(samples), np.ones(ROBOT.nv))
    choice = ObserverChoice()
    # A robot at rest, whose reported velocities contain such noise.
    rest = q[:1]
    observer = choice.made(ROBOT, IDEAL, found, 1.0)
    gravity = ROBOT.gravity(rest[0])
    torques = np.array(
        [
            observer.update(round(k * 1e9 / RATE), rest[0], one, gravity)
            for k, one in enumerate(noise)
        ]
    )
    observed = torques[100:].std(axis=0)
    stated = np.sqrt(found.of_torques(ROBOT, observer, rest, 1.0 / RATE)[0])
    assert stated == pytest.approx(observed, rel=0.2)
