# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observers of every kind: the same push, its noise, friction, and what each is for."""

from __future__ import annotations

import numpy as np
import pytest
from rigid_body_motion import moving_arm
from scipy import signal
from test_estimation_observer import HAND, MILLISECOND, PUSH, run

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import (
    OBSERVERS,
    EffortModel,
    StaticObserver,
    ThirdOrderMomentumObserver,
)

MOVING = ('momentum', 'momentum_third_order')


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('xarm7'))


@pytest.mark.parametrize('kind', OBSERVERS)
def test_every_kind_feels_a_push_at_rest_without_bias(robot, kind):
    q = robot.random_configuration(1)
    external = robot.jacobian(q, HAND, 'local').T @ PUSH
    observer = OBSERVERS[kind](robot, 50.0)
    for step in range(801):
        tau = robot.gravity(q) - external
        estimate = observer.update(step * MILLISECOND, q, np.zeros(robot.nv), tau)
    # exp(-40) is left.
    assert estimate == pytest.approx(external, rel=1e-9)


@pytest.mark.parametrize('interval', [1, 8])
def test_the_third_order_is_a_butterworth_filter_with_the_delay_of_the_first(robot, interval):
    gain, zero, q = 50.0, np.zeros(robot.nv), robot.random_configuration(2)
    observer = ThirdOrderMomentumObserver(robot, gain, effort_sampling='interval')
    estimates = []
    for step in range(400 // interval):
        effort = robot.gravity(q) - 5.0 * (step > 0)
        estimates.append(observer.update(step * interval * MILLISECOND, q, zero, effort)[1])
    t = 1e-3 * interval * np.arange(len(estimates))
    _, response = signal.step(signal.butter(3, 2.0 * gain, analog=True), T=t)
    assert estimates == pytest.approx(5.0 * response, abs=1e-6)
    # The area above a step response is its delay.
    _, fine = signal.step(signal.butter(3, 2.0 * gain, analog=True), T=np.linspace(0.0, 1.0, 9999))
    assert (1.0 - fine).mean() == pytest.approx(1.0 / gain, rel=1e-2)


def test_static_needs_no_velocity_and_is_right_at_rest_only(robot):
    samples = moving_arm(robot, 0.8, 1e-3)
    observer = StaticObserver(robot, 50.0, effort_sampling='interval')
    with_velocity = run(observer, samples)
    observer.reset()
    without = run(observer, [(t, q, 0.0 * v, tau, ext) for t, q, v, tau, ext in samples])
    assert np.array_equal(with_velocity, without)
    assert np.abs(with_velocity).max() > 1.0  # inertia is felt as if it was a contact


@pytest.mark.parametrize('kind', MOVING)
@pytest.mark.parametrize('sampling', ['instant', 'interval'])
@pytest.mark.parametrize('gain', [25.0, 100.0, 400.0])
def test_the_stated_noise_gains_are_the_scatter_of_estimates(robot, kind, sampling, gain):
    """At rest: white noise of the efforts, then of the velocities, alone."""
    rng = np.random.default_rng(0)
    q = robot.random_configuration(2)
    gravity, M = robot.gravity(q), robot.mass_matrix(q)
    zero = np.zeros(robot.nv)
    count, settled = 6000, 1000
    gains = OBSERVERS[kind](robot, gain).noise_gains(1e-3)
    for effort_noise, velocity_noise in ((0.1, 0.0), (0.0, 1e-3)):
        observer = OBSERVERS[kind](robot, gain, effort_sampling=sampling)
        estimates = [
            observer.update(
                step * MILLISECOND,
                q,
                zero + velocity_noise * rng.normal(size=robot.nv),
                gravity + effort_noise * rng.normal(size=robot.nv),
            )
            for step in range(count)
        ]
        scatter = np.std(estimates[settled:], axis=0)
        gains = observer.noise_gains(1e-3)
        momentum = np.sqrt(np.square(M * velocity_noise).sum(axis=1))
        stated = np.hypot(gains.effort * effort_noise, gains.momentum * momentum)
        # The standard deviation of a sample one, of samples that hang together by E = exp(-K T):
        # sqrt((1 + E^2) / (1 - E^2) / (2 n)). Seven joints are looked at: four of that.
        E = np.exp(-gain * 1e-3)
        known = np.sqrt((1.0 + E**2) / (1.0 - E**2) / (2.0 * (count - settled)))
        assert scatter == pytest.approx(stated, rel=4.0 * known)


def estimates_from_differences(robot, observer, sigma, steps=8000, cutoff=None):
    """At rest, velocities as differences of positions with white noise of deviation ``sigma``.

    A driver filters them with a low-pass filter of a cutoff [Hz].
    """
    decay = 0.0 if cutoff is None else np.exp(-2.0 * np.pi * cutoff * 1e-3)
    v = 0.0
    rng = np.random.default_rng(1)
    q, nv = robot.random_configuration(2), robot.nv
    gravity, before, estimates = robot.gravity(q), sigma * rng.normal(size=nv), []
    for step in range(steps):
        now = sigma * rng.normal(size=nv)
        effort = gravity + 0.02 * rng.normal(size=nv)
        v = decay * v + (1.0 - decay) * (now - before) / 1e-3
        estimates.append(observer.update(step * MILLISECOND, q, v, effort))
        before = now
    return np.array(estimates), robot.mass_matrix(q)


@pytest.mark.parametrize('cutoff', [None, 100.0, 20.0])
@pytest.mark.parametrize('kind', MOVING)
def test_noise_of_differences_is_stated_as_it_is_let_through(robot, kind, cutoff):
    sigma = 3e-5
    velocity = np.sqrt(2.0) * sigma / 1e-3
    options = {'velocity_differenced': 1.0, 'velocity_cutoff': cutoff or 0.0}
    observer = OBSERVERS[kind](robot, 50.0, **options)
    estimates, M = estimates_from_differences(robot, observer, sigma, cutoff=cutoff)
    gains = observer.noise_gains(1e-3)
    momentum = np.sqrt(np.square(M * velocity).sum(axis=1))
    stated = np.hypot(gains.effort * 0.02, gains.momentum * momentum)
    # Some two hundred time constants were seen.
    assert estimates[2000:].std(axis=0) == pytest.approx(stated, rel=0.25)


@pytest.mark.parametrize('kind', MOVING)
def test_friction_rotors_and_missing_gravity_are_part_of_what_effort_means(robot, kind):
    """A swing whose motors also turn rotors and friction, and report without the weight."""
    inertia = np.diag(robot.mass_matrix(np.full(robot.nq, 0.4)))
    efforts = EffortModel.ideal(robot).with_values(
        scale=0.5,
        offset=0.2,
        viscous=inertia,
        coulomb=inertia,
        stribeck=0.5 * inertia,
        friction_velocity=0.2,
        load_friction=0.15,
        rotor_inertia=0.3 * inertia,
        includes_gravity=False,
    )
    q, v = np.full(robot.nq, 0.4), np.zeros(robot.nv)
    dt = 1e-3

    def acceleration(q, v, torque):
        """Of the arm with its rotors."""
        M = robot.mass_matrix(q) + np.diag(efforts.rotor_inertia)
        left = torque - efforts.friction_torque(v)
        # left = carried + 0.15 |carried| tanh(v / v_f)
        carried = left / (1.0 + 0.15 * np.tanh(v / 0.2) * np.sign(left))
        return np.linalg.solve(M, carried - robot.nonlinear_effects(q, v))

    observer = OBSERVERS[kind](robot, 50.0, effort_model=efforts)
    largest = 0.0
    for step in range(400):
        t = step * dt

        def torque(t, q):
            return robot.gravity(q) + 8.0 * inertia * np.sin(5.0 * t + np.arange(robot.nv))

        reported = (torque(t, q) - robot.gravity(q) - efforts.offset) / efforts.scale
        estimate = observer.update(round(t * 1e9), q, v, reported)
        largest = max(largest, np.abs(estimate).max())
        # Midpoint.
        q_half = q + 0.5 * dt * v
        v_half = v + 0.5 * dt * acceleration(q, v, torque(t, q))
        a_half = acceleration(q_half, v_half, torque(t + 0.5 * dt, q_half))
        q, v = q + dt * v_half, v + dt * a_half
    assert np.abs(v).max() > 0.3
    # Torques of some 50 Nm are at work; midpoint and trapezoid leave 1e-4 of that.
    assert largest < 5e-3


@pytest.mark.parametrize(
    'name', ['stribeck', 'rotor_inertia', 'stribeck_velocity', 'load_friction']
)
def test_what_cannot_be_negative_is_refused_by_name(robot, name):
    with pytest.raises(InvalidArgumentError, match=rf'^{name}'):
        EffortModel.ideal(robot).with_values(**{name: -1.0})


def test_stribeck_friction_is_largest_when_motion_begins(robot):
    efforts = EffortModel.ideal(robot).with_values(
        coulomb=1.0, stribeck=0.5, friction_velocity=1e-3, stribeck_velocity=0.1
    )
    slow, fast = (efforts.friction_torque(np.full(robot.nv, v))[0] for v in (0.01, 1.0))
    assert slow == pytest.approx(1.5, rel=0.01)
    assert fast == pytest.approx(1.0, rel=1e-6)
    # A thousand time constants away nothing overflows.
    assert efforts.friction_torque(np.full(robot.nv, -1e6))[0] == pytest.approx(-1.0)
