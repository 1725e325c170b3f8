# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The observer feels what truly acts: at rest, moving, with late and lost samples."""

from __future__ import annotations

import numpy as np
import pytest
from rigid_body_motion import moving_arm, runge_kutta_step

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import EffortModel, MomentumObserver, ObserverEvent

MILLISECOND = 1_000_000
"""ns"""

EPOCH = 1_750_000_000 * 10**9
"""A stamp of today: here a float64 of seconds would step by 0.24 us."""

HAND = 'link_eef'
PUSH = np.array([10.0, -5.0, 8.0, 0.5, -0.3, 0.2])
"""N, Nm in the hand's frame."""


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('xarm7'))


@pytest.fixture(scope='module')
def floating():
    return Robot.from_urdf(urdf_path('xarm7'), root_joint='floating')


@pytest.fixture(scope='module')
def pushed_motion(robot):
    return moving_arm(robot, 1.5, 1e-3, {HAND: PUSH})


@pytest.mark.parametrize('includes_gravity', [False, True])
def test_a_payload_that_is_told_is_no_contact(robot, includes_gravity):
    """At rest, whether or not efforts include gravity; those that do show it at once."""
    loaded, q, v = robot.with_payload(HAND, 3.0), np.full(robot.nv, 0.4), np.zeros(robot.nv)
    model = EffortModel.ideal(robot).with_values(includes_gravity=includes_gravity)
    observer = MomentumObserver(robot, effort_model=model)
    for k in range(1, 1000):
        if k == 200:
            observer.change_robot(loaded)
        now = loaded if k > 200 else robot
        effort = now.gravity(q) if includes_gravity else v
        r = observer.update(EPOCH + k * MILLISECOND, q, v, effort)
        if not includes_gravity:
            assert np.abs(r).max() < 1e-9
    assert np.abs(r).max() < 1e-3


def filtered(times, inputs, gain):
    """The true K/(s+K) of inputs that are linear between samples: the exact solution."""
    r = np.zeros_like(inputs[0])
    outputs = [r]
    for t0, t1, u0, u1 in zip(times, times[1:], inputs, inputs[1:], strict=False):
        T = t1 - t0
        slope = (u1 - u0) / T
        # r = u - slope / K + c exp(-K t) solves dr/dt = K (u - r).
        c = r - (u0 - slope / gain)
        r = u1 - slope / gain + c * np.exp(-gain * T)
        outputs.append(r)
    return outputs


def run(observer, samples, start=EPOCH):
    return [observer.update(start + round(time * 1e9), q, v, tau) for time, q, v, tau, _ in samples]


def test_at_rest_a_constant_push_is_felt_without_bias_after_an_exact_exponential(robot):
    q = robot.random_configuration(1)
    external = robot.jacobian(q, HAND, 'local').T @ PUSH
    tau = robot.gravity(q) - external  # the arm is held in balance
    observer = MomentumObserver(robot, gain=20.0)
    for step in range(1001):
        estimate = observer.update(EPOCH + step * MILLISECOND, q, np.zeros(robot.nv), tau)
        if step == 50:
            assert estimate == pytest.approx(external * -np.expm1(-20.0 * 0.05), rel=1e-9)
    # exp(-20) remains.
    assert estimate == pytest.approx(external, rel=1e-8)


def test_in_fast_motion_the_estimate_is_the_push_through_a_first_order_lag(robot, pushed_motion):
    gain = 50.0
    estimates = run(MomentumObserver(robot, gain, effort_sampling='interval'), pushed_motion)
    times, truth = [s[0] for s in pushed_motion], [s[4] for s in pushed_motion]
    lagged = filtered(times, truth, gain)
    # As without a push; forces of 14 N at a lever of up to 0.7 m are felt to 2e-4.
    assert np.abs(np.array(estimates) - np.array(lagged)).max() < 2e-3


def test_a_sampled_torque_is_averaged_between_samples(robot):
    """Of a torque known at the stamps only, 'interval' is half a step ahead, 'instant' right."""

    def ramped(times):
        """At rest, the held torque and the push change together, linearly in time."""
        return [(t, q, np.zeros(robot.nv), gravity - rate * t, rate * t) for t in times]

    q = robot.random_configuration(2)
    gravity, rate = robot.gravity(q), np.full(robot.nv, 100.0)
    samples = ramped(np.arange(0.0, 0.2, 0.001))
    lagged = filtered([s[0] for s in samples], [s[4] for s in samples], 50.0)[-1]
    instant = run(MomentumObserver(robot, 50.0), samples)[-1]
    interval = run(MomentumObserver(robot, 50.0, effort_sampling='interval'), samples)[-1]
    assert instant == pytest.approx(lagged, abs=1e-3)
    assert interval - lagged == pytest.approx(100.0 * 0.0005 * np.ones(robot.nv), rel=0.05)


def test_jitter_and_lost_samples_leave_no_trace_in_a_constant_push(robot):
    q = robot.random_configuration(5)
    rng = np.random.default_rng(0)
    tau = robot.gravity(q) - 3.0
    observer = MomentumObserver(robot, gain=20.0)
    stamp, before, counted = EPOCH, EPOCH, 0
    for _ in range(1000):
        stamp += round(rng.uniform(0.7, 1.3) * MILLISECOND)
        if rng.random() > 0.1:
            estimate = observer.update(stamp, q, np.zeros(robot.nv), tau)
            # The first sample is a start; where several are missing the estimate waits.
            counted += (stamp - before) * (observer.event is ObserverEvent.UPDATED)
            before = stamp
            expected = -3.0 * np.expm1(-20.0 * counted * 1e-9)
            # Exact but for rounding of torques of some ten Nm.
            assert estimate == pytest.approx(np.full(robot.nv, expected), rel=1e-9, abs=1e-9)
    assert 0 < observer.counts[ObserverEvent.UNEVEN] < 10
    assert estimate == pytest.approx(np.full(robot.nv, 3.0), rel=1e-7)


class TestStamps:
    @pytest.fixture
    def felt(self, robot):
        """An observer that has settled on a push, with the sample it sees."""
        q = robot.random_configuration(7)
        sample = (q, np.zeros(robot.nv), robot.gravity(q) - 2.0)
        observer = MomentumObserver(robot, gain=50.0, max_gap=0.1)
        for step in range(201):
            observer.update(EPOCH + step * MILLISECOND, *sample)
        return observer, sample, EPOCH + 200 * MILLISECOND

    def test_it_is_settled_after_three_time_constants(self, robot):
        q = robot.neutral()
        observer = MomentumObserver(robot, gain=100.0)
        settled = []
        for step in range(41):
            observer.update(step * MILLISECOND, q, np.zeros(robot.nv), np.zeros(robot.nv))
            settled.append(observer.settled)
        assert settled.index(True) == 30

    @pytest.mark.parametrize(
        ('jump', 'event'),
        [(-501, ObserverEvent.CLOCK_JUMP), (101, ObserverEvent.GAP), (2000, ObserverEvent.GAP)],
    )
    def test_a_jump_of_the_clock_starts_anew_and_says_why(self, felt, jump, event):
        observer, sample, now = felt
        assert observer.settled
        assert not observer.update(now + jump * MILLISECOND, *sample).any()
        assert observer.event is event
        assert observer.counts[event] == 1
        assert observer.restart == f'{event.value} ({jump * 1e-3:+.3f} s)'
        assert not observer.settled
        for step in range(1, 201):
            observer.update(now + (jump + step) * MILLISECOND, *sample)
        assert observer.settled
        # After ten time constants exp(-10) of it is missing.
        assert observer.external_torque == pytest.approx(2.0 * np.ones(len(sample[1])), rel=1e-3)

    def test_samples_that_have_waited_and_arrive_at_once_leave_the_estimate(self, robot, felt):
        observer, (q, v, tau), now = felt
        before = observer.external_torque
        for k in range(10):
            # Stamps of arrival: 10 ms late, 10 us apart, of a joint that speeds up meanwhile.
            stamp = now + 10 * MILLISECOND + k * MILLISECOND // 100
            after = observer.update(stamp, q, v + 0.01 * (k + 1), tau)
            assert np.array_equal(after, before)
        observer.update(now + 11 * MILLISECOND, q, v + 0.1, tau)
        assert observer.event is ObserverEvent.UPDATED

    @pytest.mark.parametrize('argument', ['q', 'v', 'effort'])
    def test_a_sample_with_nan_is_refused_and_leaves_no_trace(self, felt, argument):
        observer, sample, now = felt
        before = observer.external_torque
        bad = [x.copy() for x in sample]
        bad[['q', 'v', 'effort'].index(argument)][2] = np.nan
        with pytest.raises(InvalidArgumentError, match=rf'^{argument}'):
            observer.update(now + MILLISECOND, *bad)
        assert np.array_equal(observer.external_torque, before)
        observer.update(now + 2 * MILLISECOND, *sample)
        assert observer.event is ObserverEvent.UPDATED


def test_a_floating_base_feels_what_pushes_it_and_its_joints(floating):
    """A free-floating arm, pushed at the hand: J^T w appears in base and joint rows alike."""
    q = floating.neutral()
    v = np.zeros(floating.nv)
    v[6:] = 0.3
    tau = np.zeros(floating.nv)
    observer = MomentumObserver(floating, gain=100.0, effort_sampling='interval')
    dt, wrench = 5e-4, 0.1 * PUSH
    truth = []
    for step in range(401):
        truth.append(floating.jacobian(q, HAND, 'local').T @ wrench)
        estimate = observer.update(round(step * dt * 1e9), q, v, tau)
        q, v = runge_kutta_step(floating, q, v, tau, dt, {HAND: wrench})
    lagged = filtered(dt * np.arange(401), truth, 100.0)[-1]
    assert estimate == pytest.approx(lagged, abs=2e-3)
    assert np.abs(estimate[:6]).max() > 0.5


@pytest.mark.parametrize(
    ('argument', 'settings'),
    [
        ('gain', {'gain': 0.0}),
        ('gain', {'gain': [1.0, 2.0]}),
        ('gain', {'gain': np.nan}),
        ('max_gap', {'max_gap': 0.0}),
        ('effort_sampling', {'effort_sampling': 'never'}),
    ],
)
def test_a_bad_setting_is_named(robot, argument, settings):
    with pytest.raises(InvalidArgumentError, match=rf'^{argument}'):
        MomentumObserver(robot, **settings)


def test_velocities_of_zero_leave_gravity_alone(robot):
    samples = moving_arm(robot, 0.8, 1e-3)
    observer = MomentumObserver(robot, 50.0, effort_sampling='interval')
    without = run(observer, [(t, q, 0.0 * v, tau, ext) for t, q, v, tau, ext in samples])
    torques = np.array([robot.gravity(q) - tau for _, q, _, tau, _ in samples])
    assert np.abs(without).max() > 1.0  # inertia is felt as if it was a contact
    assert np.abs(without).max() <= np.abs(torques).max()


@pytest.mark.parametrize('sampling', ['instant', 'interval'])
@pytest.mark.parametrize('gain', [25.0, 100.0, 400.0])
def test_the_stated_noise_gains_are_the_scatter_of_estimates(robot, sampling, gain):
    """At rest: white noise of the efforts, then of the velocities, alone."""
    rng = np.random.default_rng(0)
    q = robot.random_configuration(2)
    gravity, M = robot.gravity(q), robot.mass_matrix(q)
    zero = np.zeros(robot.nv)
    count, settled = 6000, 1000
    for effort_noise, velocity_noise in ((0.1, 0.0), (0.0, 1e-3)):
        observer = MomentumObserver(robot, gain, effort_sampling=sampling)
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
def test_noise_of_differences_is_stated_as_it_is_let_through(robot, cutoff):
    sigma = 3e-5
    velocity = np.sqrt(2.0) * sigma / 1e-3
    share = 1.0 if cutoff is None else 1.0 - np.exp(-2.0 * np.pi * cutoff * 1e-3)
    velocity *= share / np.sqrt(2.0 - share)  # the driver's filter
    observer = MomentumObserver(robot, 50.0)
    estimates, M = estimates_from_differences(robot, observer, sigma, cutoff=cutoff)
    gains = observer.noise_gains(1e-3)
    momentum = np.sqrt(np.square(M * velocity).sum(axis=1))
    stated = np.hypot(gains.effort * 0.02, gains.momentum * momentum)
    # Some two hundred time constants were seen.
    assert estimates[2000:].std(axis=0) == pytest.approx(stated, rel=0.25)


def test_friction_rotors_and_missing_gravity_are_part_of_what_effort_means(robot):
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

    observer = MomentumObserver(robot, 50.0, effort_model=efforts)
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


def test_stribeck_friction_is_largest_when_motion_begins(robot):
    efforts = EffortModel.ideal(robot).with_values(
        coulomb=1.0, stribeck=0.5, friction_velocity=1e-3, stribeck_velocity=0.1
    )
    slow, fast = (efforts.friction_torque(np.full(robot.nv, v))[0] for v in (0.01, 1.0))
    assert slow == pytest.approx(1.5, rel=0.01)
    assert fast == pytest.approx(1.0, rel=1e-6)
    # A thousand time constants away nothing overflows.
    assert efforts.friction_torque(np.full(robot.nv, -1e6))[0] == pytest.approx(-1.0)
