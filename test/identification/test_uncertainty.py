# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an identified robot leaves unexplained, learned from free motion."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_arm import COULOMB, ROBOT, motion, recording, truth

from benchmarks.estimation_standstill import standstill
from benchmarks.unmodelled_arms import STICKING
from dynamics_ros import Robot
from dynamics_ros.estimation import EffortModel
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.deviations import Accuracy
from dynamics_ros.identification.uncertainty import calibrated_robot, learn, learn_unexplained
from dynamics_ros.identification.uncertainty.learn import STICTION

IDEAL = EffortModel.ideal(ROBOT)
RATE = 250.0


def free_motion(off, duration=40.0, joints=range(7), seed=3):
    """Of the arm as described, without friction; ``off(v, load)`` is what its model leaves over."""
    t = np.arange(0.0, duration, 1.0 / RATE)
    q, v, a = motion(t, seed, joints)
    torque = ROBOT.inverse_dynamics(q, v, a)
    names = ROBOT.joint_names
    return JointSamples('free', names, t, q, v, torque + off(v, torque))


def slow_noise(shape, seed=0):
    """Of deviation 1 over time constants of 50 ms, which an observer lets through."""
    rng = np.random.default_rng(seed)
    noise = np.zeros(shape)
    decay = np.exp(-1.0 / (0.05 * RATE))
    for k in range(1, len(noise)):
        step = np.sqrt(1.0 - decay**2) * rng.normal(size=shape[1])
        noise[k] = decay * noise[k - 1] + step
    return noise


def test_a_deviation_that_grows_with_the_speed_is_found():
    def off(v, _):
        return slow_noise(v.shape) * np.hypot(0.1, 0.8 * v)

    samples = free_motion(off)
    found = learn_unexplained(ROBOT, IDEAL, [samples]).unexplained
    # The observer lets nine tenths of it through, of which some hundred time constants are seen.
    assert found.speed == pytest.approx(np.full(7, 0.72), rel=0.25)
    assert (found.load * np.sqrt((samples.effort**2).mean(axis=0)) < 0.2).all()


def test_a_deviation_that_grows_with_the_load_is_found():
    def off(v, torque):
        return slow_noise(v.shape) * 0.05 * torque

    found = learn_unexplained(ROBOT, IDEAL, [free_motion(off)]).unexplained
    loaded = ROBOT.gravity(np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]))
    heavy = np.abs(loaded) > 0.3 * np.abs(loaded).max()
    assert found.load[heavy] == pytest.approx(np.full(heavy.sum(), 0.05), rel=0.4)


def test_friction_that_the_model_does_not_know_shows_at_reversals():
    def off(v, _):
        return np.sign(v)

    model = IDEAL.with_values(coulomb=1.0, friction_velocity=0.2)
    found = learn_unexplained(ROBOT, model, [free_motion(off)]).unexplained
    assert (found.reversal > 3.0 * found.constant).all()


def test_thresholds_reckon_with_the_posture_where_the_fit_says_least():
    samples = free_motion(lambda v, _: 0.3 * slow_noise(v.shape))
    usual, largest = np.full(7, 0.2), np.linspace(0.2, 2.0, 7)
    found, wide = (
        learn_unexplained(ROBOT, IDEAL, [samples], Accuracy(None, usual, one)).unexplained
        for one in (usual, largest)
    )
    # Covariances are those of the usual posture.
    assert wide.constant == pytest.approx(found.constant)
    residual = np.square(found.constant) - np.square(usual)
    assert (np.square(wide.tail * wide.constant) > 0.99 * (residual + np.square(largest))).all()
    assert wide.tail[0] == pytest.approx(found.tail[0])
    assert wide.tail[-1] > 3.0 * found.tail[-1]


def test_a_push_is_left_out_and_told():
    def off(v, _):
        disturbed = 0.1 * slow_noise(v.shape)
        disturbed[5000:5250, 2] += 15.0
        return disturbed

    free = learn_unexplained(ROBOT, IDEAL, [free_motion(lambda v, _: 0.1 * slow_noise(v.shape))])
    pushed = learn_unexplained(ROBOT, IDEAL, [free_motion(off)])
    assert not free.findings
    assert any(ROBOT.joint_names[2] in sentence for sentence in pushed.findings)
    assert pushed.unexplained.constant[2] < 2.0 * free.unexplained.constant[2] + 0.05


def test_a_calibration_explains_what_other_motion_leaves_over():
    arm = truth()
    identified = identify(ROBOT, [recording(arm, 30.0)])
    learned = learn(identified, [recording(arm, 30.0)])
    found = learned.unexplained
    assert not learned.findings
    again = learn(identified, [recording(arm, 20.0, seed=5)]).unexplained
    # What is learned anew is not far above what was stated and the noise.
    assert (again.constant < 2.5 * np.hypot(found.constant, 0.1)).all()
    assert (found.standing <= STICTION * COULOMB + 0.2).all()
    assert (found.tail >= 1.0).all()


def test_the_deviation_of_the_fit_is_that_of_torques_in_other_postures():
    arm = truth(off=0.3)
    rng = np.random.default_rng(4)
    shares = []
    for joints in (range(7), (1, 3)):
        identified = identify(ROBOT, [recording(arm, 30.0, joints=joints)])
        q = np.array([ROBOT.random_configuration(rng) for _ in range(200)])
        off = calibrated_robot(identified).gravity(q) - arm.robot.gravity(q)
        shares.append(np.sqrt((off**2).mean(axis=0)) / (identified.torque_deviation + 0.05))
    for share in shares:
        assert (share < 4.0).all()
        # The first axis is vertical: its torque at rest is the offset alone, in any posture.
        largest, usual = identified.largest_torque_deviation, identified.torque_deviation
        assert largest[0] == pytest.approx(usual[0])
        assert (largest[1:] > usual[1:]).all()
    assert isinstance(calibrated_robot(identified), Robot)


@pytest.mark.slow
@pytest.mark.parametrize('training', ['without stops', 'with stops'])
def test_pushes_at_standstill_are_found_and_starts_are_no_contacts(training):
    alarms, found, pushes = standstill('ur3', training, STICKING, 40.0)
    assert alarms == 0
    assert found == pushes >= 4
