# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm whose masses and friction are other than described is found from its motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, OFFSET, ROBOT, ROTOR, VISCOUS, recording, truth

from dynamics_ros.identification import (
    NotThisRobotError,
    UnusableRecordingError,
    for_robot,
    identify,
)
from dynamics_ros.identification.joint_states.clock import regular_stretches

ARM = truth(1)


@pytest.fixture(scope='module')
def found():
    return identify(ROBOT, [recording(ARM)])


def test_friction_rotors_and_offsets_are_found(found):
    model = found.effort_model
    assert model.viscous == pytest.approx(VISCOUS, abs=0.05)
    assert model.coulomb == pytest.approx(COULOMB, abs=0.05)
    assert model.offset == pytest.approx(-OFFSET, abs=0.05)
    assert model.rotor_inertia == pytest.approx(ROTOR, abs=0.02)
    assert not found.maker.stribeck
    assert found.noise.effort == pytest.approx(np.full(7, 0.1), rel=0.2)


def test_another_motion_is_explained_down_to_the_noise(found):
    # 0.1 Nm of noise at 200 Hz, of which the filter lets pass what lies below its cutoff.
    noise = 0.1 * np.sqrt(found.maker.filtering.narrow / 100.0)
    tested = found.evaluate(recording(ARM, seed=5))
    assert (tested.rms < 1.3 * noise).all()
    assert tested.percent_all < 0.5
    assert found.consistent


def test_deviations_are_honest(found):
    base = found.maker.base
    true = base.combination @ np.concatenate([ARM.bodies.ravel(), ROTOR])
    told = [p for p in found.parameters if p.kind == 'base']
    off = np.array([(p.value - t) / p.deviation for p, t in zip(told, true, strict=True)])
    assert (np.abs(off) < 2.6).mean() > 0.97
    friction = {p.name: p for p in found.parameters if p.kind == 'friction'}
    for name, values in (('viscous', VISCOUS), ('coulomb', COULOMB)):
        for joint, value in zip(ROBOT.joint_names, values, strict=True):
            one = friction[f'{name} {joint}']
            assert one.identifiable
            assert abs(one.value - value) < 4.0 * one.deviation < 0.5


def test_a_push_counts_little_and_is_told_of(found):
    pushed = recording(ARM)
    push = (pushed.time > 10.0) & (pushed.time < 11.0)
    effort = pushed.effort.copy()
    effort[push] += np.array([5.0, 20.0, 5.0, 10.0, 2.0, 2.0, 0.5])
    result = identify(ROBOT, [replace(pushed, effort=effort)])
    (sentence,) = [one for one in result.findings if 'push' in one]
    assert ' 10.' in sentence or ' 9.' in sentence
    difference = result.effort_model.coulomb - found.effort_model.coulomb
    assert np.abs(difference).max() < 0.1


def test_efforts_of_the_opposite_sign_and_in_other_units_are_told_of():
    turned = identify(ROBOT, [recording(truth(1, scale=-1.0))])
    assert (turned.effort_model.scale == -1.0).all()
    assert any('opposite sign' in one for one in turned.findings)
    assert turned.effort_model.coulomb == pytest.approx(COULOMB, abs=0.05)
    percent = identify(ROBOT, [recording(truth(1, scale=0.05))])
    assert any('other units' in one for one in percent.findings)
    assert percent.effort_model.scale * 0.05 == pytest.approx(np.ones(7), abs=0.4)


def test_what_nothing_can_be_told_from_is_refused():
    still = recording(ARM, duration=5.0, joints=())
    with pytest.raises(UnusableRecordingError, match='no joint moves'):
        identify(ROBOT, [still])
    with pytest.raises(UnusableRecordingError, match='too short'):
        identify(ROBOT, [recording(ARM, duration=0.5)])
    silent = replace(still, effort=np.zeros_like(still.effort))
    with pytest.raises(UnusableRecordingError, match='holds no efforts'):
        for_robot(silent, ROBOT)
    degrees = replace(still, position=np.degrees(still.position) + 50.0)
    with pytest.raises(UnusableRecordingError, match='degrees'):
        for_robot(degrees, ROBOT)
    other = recording(ARM)
    rng = np.random.default_rng(0)
    noise = replace(other, effort=rng.normal(size=other.effort.shape).cumsum(axis=0))
    with pytest.raises(NotThisRobotError, match='another robot'):
        identify(ROBOT, [noise])


def test_stamps_of_arrival_losses_and_gaps_are_seen_through():
    samples = recording(ARM, duration=10.0)
    rng = np.random.default_rng(2)
    kept = np.sort(rng.choice(len(samples), round(0.98 * len(samples)), replace=False))
    kept = kept[(samples.time[kept] < 4.0) | (samples.time[kept] > 5.0)]
    late = samples.rows(kept)
    late = replace(late, time=np.sort(late.time + rng.exponential(0.0005, len(late))))
    stretches = regular_stretches(late)
    assert len(stretches) == 2
    assert stretches[0].period == pytest.approx(0.005, rel=1e-3)
    q = stretches[0].position
    lag = np.arange(len(q)) * stretches[0].period
    true = np.stack([np.interp(lag, samples.time, column) for column in samples.position.T], 1)
    # The mean delay of the stamps stays, their jitter does not.
    assert np.abs(q - true)[50:-50].max() < 5e-3
    v = np.diff(q, axis=0) / stretches[0].period
    clean = np.diff(true, axis=0) / stretches[0].period
    assert np.sqrt(np.mean((v - clean)[50:-50] ** 2)) < 0.03
