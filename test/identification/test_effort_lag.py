# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts that come later than the positions that they belong to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, ROBOT, VISCOUS, motion, recording, truth

from dynamics_ros.identification import JointSamples, NotThisRobotError, identify
from dynamics_ros.identification.joint_states.clock import Stretch
from dynamics_ros.identification.uncertainty.learn import calibrated_robot


def late(samples, seconds):
    """The same with efforts that come later by so many seconds."""
    effort = [np.interp(samples.time - seconds, samples.time, e) for e in samples.effort.T]
    return replace(samples, effort=np.stack(effort, axis=1))


@pytest.fixture(scope='module')
def arm():
    return truth()


@pytest.fixture(scope='module')
def samples(arm):
    return recording(arm)


@pytest.fixture(scope='module')
def in_time(samples):
    return identify(ROBOT, [samples])


def told(found):
    return [sentence for sentence in found.findings if 'positions that they belong to' in sentence]


@pytest.mark.parametrize('seconds', [0.1, 0.03, 0.012, -0.04])
def test_it_is_found_and_taken_out(samples, in_time, seconds):
    found = identify(ROBOT, [late(samples, seconds)])
    assert found.lag.seconds == pytest.approx(seconds, abs=max(1e-3, 3.0 * found.lag.deviation))
    assert found.lag.deviation < 2e-3
    assert found.train.percent_all < 1.2 * in_time.train.percent_all
    posture = [0.3, 0.5, -0.2, 1.1, 0.1, 0.7, 0.0]
    gravity, right = (calibrated_robot(one).gravity(posture) for one in (found, in_time))
    np.testing.assert_allclose(gravity, right, atol=0.3)
    (sentence,) = told(found)
    assert f'efforts come {abs(1e3 * found.lag.seconds):.0f} ms' in sentence
    assert (' after ' if seconds > 0.0 else ' before ') in sentence
    assert 'Nm from outside at shoulder_pitch' in sentence


def test_without_one_none_is_found(in_time):
    assert in_time.lag.seconds == 0.0
    assert in_time.lag.deviation < 1e-3
    assert told(in_time) == []


def test_what_is_longer_than_that_of_any_driver_is_not_taken_out(samples):
    found = identify(ROBOT, [late(samples, 0.4)])
    assert found.lag.seconds == 0.0
    assert told(found) == []
    assert any('jitter or lag' in sentence for sentence in found.findings)


def test_efforts_of_another_time_are_not_those_of_this_robot(samples):
    with pytest.raises(NotThisRobotError, match='unexplained'):
        identify(ROBOT, [late(samples, 3.0)])


def test_friction_alone_is_no_lag(arm):
    """Two joints that carry next to nothing, so that friction is most of their effort."""
    found = identify(ROBOT, [recording(arm, joints=[0, 6])])
    assert abs(found.lag.seconds) < 2e-3
    assert told(found) == []


def test_another_recording_is_explained_with_the_same_lag(arm, samples):
    found = identify(ROBOT, [late(samples, 0.05)])
    other = recording(arm, seed=3)
    assert found.evaluate(late(other, 0.05)).percent_all < 0.5 * found.evaluate(other).percent_all


def test_pieces_between_gaps_that_are_shorter_than_the_lag_do_not_matter(samples):
    kept = np.ones(len(samples), dtype=bool)
    kept[3000:3100] = kept[3115:3200] = False  # 15 samples, 75 ms, between
    found = identify(ROBOT, [late(samples, 0.1).rows(kept)])
    assert found.lag.seconds == pytest.approx(0.1, abs=1e-3)


def stretch(count):
    t = 0.01 * np.arange(count)[:, np.newaxis]
    return Stretch(5.0, 0.01, t, t, np.sin(t))


@pytest.mark.parametrize('lag', [0.025, -0.025, 0.03, 0.0])
def test_efforts_of_a_stretch_are_moved(lag):
    moved = stretch(50).with_efforts_later(lag)
    time = moved.start - 5.0 + 0.01 * np.arange(len(moved))[:, np.newaxis]
    np.testing.assert_allclose(moved.position, time, atol=1e-12)
    assert moved.velocity is not None
    np.testing.assert_allclose(moved.velocity, time, atol=1e-12)
    np.testing.assert_allclose(moved.effort, np.sin(time - lag), atol=2e-5)
    assert len(moved) == 50 - np.ceil(abs(lag) / 0.01 - 1e-9)


def test_nothing_is_left_of_a_stretch_that_is_shorter_than_the_lag():
    assert len(stretch(10).with_efforts_later(0.5)) == 0


def turning_late(arm, distance=5e-4, seed=0):
    """A recording of an arm whose friction turns round within a distance after a reversal [rad]."""
    t = np.arange(0.0, 30.0, 0.005)
    q, v, a = motion(t, seed)
    bent = np.zeros_like(q)
    for k in range(1, len(q)):
        moved = q[k] - q[k - 1]
        bent[k] = np.sign(moved) + (bent[k - 1] - np.sign(moved)) * np.exp(-abs(moved) / distance)
    tau = arm.robot.inverse_dynamics(q, v, a) + VISCOUS * v + 2.0 * COULOMB * bent
    rng = np.random.default_rng(seed)
    tau += 0.05 * rng.normal(size=q.shape)
    return JointSamples('recording', ROBOT.joint_names, t, q, v, tau)


def test_friction_that_turns_late_at_all_joints_is_no_lag(arm):
    """Without the lag of friction as an unknown of its own, efforts would seem 23 ms late."""
    found = identify(ROBOT, [turning_late(arm)])
    assert found.lag.seconds == 0.0
    assert told(found) == []


@pytest.mark.parametrize('seconds', [0.03, -0.04])
def test_a_lag_is_found_beside_friction_that_turns_late(arm, seconds):
    found = identify(ROBOT, [late(turning_late(arm), seconds)])
    assert found.lag.seconds == pytest.approx(seconds, abs=max(1e-3, 3.0 * found.lag.deviation))
    assert found.lag.deviation < 3e-3
