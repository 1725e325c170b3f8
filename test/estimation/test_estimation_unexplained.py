# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a model leaves unexplained in motion, and the thresholds and covariances that follow it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.contact.unexplained import FADING, SLOW, STANDS_AFTER
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import ContactDetector, ContactPipeline, ContactState
from dynamics_ros.estimation.contact_settings import ThresholdSettings, UnexplainedSettings
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.uncertainty.thresholds import Unexplained, sigmas_for_rate
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.settings import declared

PERIOD = 2_000_000
"""ns"""
NV = 6
HAND = 'tool0'
KNOWN = UnexplainedSettings(speed=(0.2,), load=(0.05,), reversal=(2.0,), standing=(1.5,))


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('ur5'))


@pytest.fixture
def model(robot):
    def filled(value):
        return np.full(NV, value)

    rows = {'speed': 0.2, 'load': 0.05, 'reversal': 2.0, 'standing': 1.5, 'tail': 1.0}
    residuals = Unexplained(filled(0.0), **{name: filled(value) for name, value in rows.items()})
    found = ContactDetector(robot, 1.0, 5.0, residuals=residuals, velocity_noise=1e-3)
    found.change_noise(filled(0.1), filled(5.0))
    return found


def run(model, velocities, load=0.0, start=0):
    """The states of a motion of the first joint, which the others stand still beside."""
    for k, speed in enumerate(velocities):
        v = np.zeros(NV)
        v[0] = speed
        stamp, load_row = start + k * PERIOD, np.full(NV, load)
        model.take(stamp, model.compare(stamp, np.zeros(NV), v=v, load=load_row))


def increase(model):
    return (model.thresholds - model.constants)[0]


class TestDeviation:
    def test_in_steady_motion_it_follows_speed_and_load(self, model):
        run(model, np.full(2000, -1.0), load=4.0)
        sliding = 2.0 / (1.0 + (1.0 / SLOW) ** 2)
        expected = np.sqrt(0.1**2 + (0.2 * 1.0) ** 2 + (0.05 * 4.0) ** 2 + sliding**2)
        assert model.deviation[0] == pytest.approx(expected, rel=1e-6)
        assert increase(model)[0] == pytest.approx(5.0 * (expected - 0.1), rel=1e-6)
        assert model.beyond_rest()[0] == pytest.approx(np.sqrt(expected**2 - 0.01), rel=1e-6)

    def test_a_reversal_between_two_samples_is_seen_and_fades(self, model):
        run(model, np.full(1000, 0.5))
        before = model.deviation[0]
        run(model, [-0.5], start=1000 * PERIOD)
        assert before < 0.15
        assert model.deviation[0] == pytest.approx(2.0, rel=0.01)
        run(model, np.full(round(FADING * 1e9 / PERIOD), -0.5), start=1001 * PERIOD)
        assert model.deviation[0] == pytest.approx(2.0 / np.e, rel=0.02)

    def test_a_joint_that_stands_is_held_by_friction_of_any_size(self, model):
        run(model, np.full(1000, 1.0))
        # The others have stood all the time; friction is a bound for them, no deviation.
        assert increase(model)[1] == pytest.approx(1.5, abs=1e-3)
        assert model.deviation[1] ** 2 == pytest.approx(0.1**2 + 1.5**2 / 3.0, rel=1e-3)
        states = round(STANDS_AFTER * 1e9 / PERIOD)
        run(model, np.full(states // 2, 0.5 * SLOW), start=1000 * PERIOD)
        assert increase(model)[0] < 5.0 * 2.0
        run(model, np.full(states, 0.5 * SLOW), start=(1000 + states // 2) * PERIOD)
        assert increase(model)[0] > 5.0 * (np.sqrt(0.01 + (2.0 * np.exp(-0.25)) ** 2) - 0.1) + 1.49

    @pytest.mark.parametrize('noise', [0.0, 1.0])
    def test_a_reversal_fades_at_lasting_rest_and_a_start_counts_in_full(self, model, noise):
        """With noise of the stated deviation, whose sign changes all the time."""
        rng = np.random.default_rng(0)
        at_rest = noise * 1e-3 * rng.normal(size=1000)
        run(model, [*np.linspace(0.5, 0.0, 100), *at_rest])
        assert increase(model)[0] < 1.5 + 0.1
        run(model, [2.0 * SLOW], start=1100 * PERIOD)
        assert model.deviation[0] == pytest.approx(2.0, rel=0.01)


class TestPipeline:
    def pipeline(self, robot, unexplained=KNOWN, **thresholds):
        values = ContactParameters(
            frames=(HAND,),
            unexplained=unexplained,
            thresholds=replace(ThresholdSettings(), **thresholds),
        )
        made = ContactPipeline(robot, values, HAND)
        made.compile(wait=True)
        return made

    def feed(self, pipeline, robot, v, push=0.0, count=300):
        """States of a motion at this velocity with a torque on the second joint."""
        q = np.array([0.3, -1.2, 1.4, -0.5, 0.8, 0.2])
        external = np.zeros(NV)
        external[1] = push
        for k in range(count):
            effort = robot.inverse_dynamics(q, v, np.zeros(NV)) - external
            state = RobotState(
                *(10**18 + k * PERIOD, q.copy(), v, effort, (), (), ()), np.zeros(NV, dtype=bool)
            )
            found = pipeline.update(state)
            q = q + v * PERIOD * 1e-9
        return state, found

    def test_what_friction_may_hold_is_no_contact_at_rest_but_one_in_motion(self, robot):
        known = replace(KNOWN, reversal=(0.0,), load=(0.0,))
        still, moving = np.zeros(NV), np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
        noise = self.pipeline(robot).torque_deviations[1]
        push = 5.0 * np.hypot(noise, 0.1) + 1.0
        _, at_rest = self.feed(self.pipeline(robot, known), robot, still, push)
        _, in_motion = self.feed(self.pipeline(robot, known), robot, moving, push)
        assert at_rest.report.state is ContactState.NONE
        assert in_motion.report.state is ContactState.CONTACT

    def test_the_covariance_of_wrenches_grows_with_what_is_not_known(self, robot):
        spreads = []
        for unexplained in (UnexplainedSettings(), KNOWN):
            pipeline = self.pipeline(robot, unexplained)
            state, found = self.feed(pipeline, robot, np.zeros(NV))
            (estimate,) = pipeline.wrenches(state, found.values)
            spreads.append(np.sqrt(np.trace(estimate.covariance[:3, :3])))
        assert found.deviation is not None
        assert spreads[1] > 3.0 * spreads[0]

    def test_without_a_calibration_all_is_as_it_was(self, robot):
        pipeline = self.pipeline(robot, UnexplainedSettings())
        _, found = self.feed(pipeline, robot, np.full(NV, 0.5))
        assert found.deviation is None
        rise = pipeline.detector.thresholds[0] - pipeline.detector.constants[0]
        assert rise == pytest.approx(0.01 * robot.effort_limits * 0.5)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('unexplained.speed', (-1.0,)),
        ('unexplained.load', (11.0,)),
        ('unexplained.reversal', (np.nan,)),
        ('unexplained.standing', ('much',)),
        ('unexplained.tail', (0.5,)),
        ('thresholds.false_alarms_per_hour', -1.0),
        ('thresholds.false_alarms_per_hour', np.inf),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name, value):
    (item,) = [one for one in declared(ContactParameters) if one.name == name]
    with pytest.raises(InvalidArgumentError, match=name):
        item.checked(value)


def test_noise_exceeds_thresholds_as_often_as_was_chosen():
    gain, period, joints, hours = 75.0, 2e-3, 6, 0.5
    wanted = 2000.0
    decay = np.exp(-gain * period)
    rng = np.random.default_rng(0)
    count = round(hours * 3600.0 / period)
    threshold = sigmas_for_rate(wanted, np.full(joints, gain))
    from scipy.signal import lfilter

    alarms = 0
    for _ in range(joints):
        noise = lfilter([np.sqrt(1.0 - decay**2)], [1.0, -decay], rng.normal(size=count))
        above = np.abs(noise) > threshold
        twice = above[1:] & above[:-1]  # one sample is no contact
        alarms += np.count_nonzero(np.diff(twice.astype(int)) > 0)
    assert 0.3 * wanted < alarms / hours < 1.2 * wanted
