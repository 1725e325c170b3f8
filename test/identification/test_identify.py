# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated arm whose masses and friction are other than described is found from its motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, OFFSET, ROBOT, ROTOR, VISCOUS, recording, truth

from dynamics_ros.estimation import EffortModel
from dynamics_ros.identification import (
    NotThisRobotError,
    UnusableRecordingError,
    for_robot,
    identify,
)
from dynamics_ros.identification.bodies.base_parameters import BaseParameters, with_rotors
from dynamics_ros.identification.bodies.pseudo_inertia import described
from dynamics_ros.identification.joint_states.clock import regular_stretches

ARM = truth(1)


@pytest.fixture(scope='module')
def found():
    return identify(ROBOT, [recording(ARM)])


def test_base_parameters_give_the_torques_of_all_parameters():
    base = BaseParameters.of(ROBOT)
    rng = np.random.default_rng(3)
    q = np.array([ROBOT.random_configuration(rng) for _ in range(20)])
    v, a = rng.normal(size=(2, 20, 7))
    Y = with_rotors(ROBOT.regressor(q, v, a), a)
    phi = np.concatenate([ARM.bodies.ravel(), ROTOR])
    expected = ARM.robot.inverse_dynamics(q, v, a) + ROTOR * a
    assert np.abs(Y[..., base.chosen] @ (base.combination @ phi) - expected).max() < 1e-9
    stacked = Y[..., base.chosen].reshape(-1, len(base))
    assert np.linalg.matrix_rank(stacked) == len(base)
    assert base.expressions[0].startswith(base.names[base.chosen[0]])


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


def test_what_two_joints_alone_tell_leaves_real_bodies_near_their_description():
    poor = identify(ROBOT, [recording(ARM, joints=(1, 3))])
    assert poor.consistent
    ratio = poor.bodies[:, 0] / described(ROBOT)[:, 0]
    assert ((ratio > 1.0 / 1.5) & (ratio < 1.5)).all()
    noise = 0.1 * np.sqrt(poor.maker.filtering.narrow / 100.0)
    tested = poor.evaluate(recording(ARM, seed=7, joints=(1, 3)))
    assert (tested.rms < 1.5 * noise).all()
    (rest,) = [one for one in poor.findings if 'did not move' in one]
    assert ROBOT.joint_names[0] in rest and ROBOT.joint_names[1] not in rest
    assert 'motion of each of them both ways' in rest
    told_before = EffortModel.from_robot(ROBOT)
    for name in ('viscous', 'coulomb'):
        friction, usual = getattr(poor.effort_model, name), getattr(told_before, name)
        assert friction[~poor.moved] == pytest.approx(usual[~poor.moved], abs=1e-3)
    assert not poor.effort_model.stribeck[~poor.moved].any()
    assert np.abs(poor.effort_model.coulomb - COULOMB)[poor.moved].max() < 0.1
    by_motion = dict(sentence.split(': ') for sentence in poor.missing)
    told = {names: motion for motion, listed in by_motion.items() for names in listed.split(', ')}
    assert (
        told['rotor wrist_roll'] == 'faster motion and harder starts of wrist_roll (did not move)'
    )
    # Gravity does not know how an arm is turned about a vertical axis.
    first = f'mx {ROBOT.body_names[1]}'
    assert told[first].startswith('other postures of') and 'yaw' not in told[first]
    assert any('no motion' in motion for motion in by_motion)


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


def test_names_that_differ_are_matched_and_told_of():
    samples = recording(ARM, duration=2.0)
    same, sentence = for_robot(samples, ROBOT)
    assert same.joint_names == ROBOT.joint_names and not sentence
    prefixed = replace(samples, joint_names=tuple(f'left_{n}' for n in ROBOT.joint_names[::-1]))
    turned, sentence = for_robot(prefixed, ROBOT)
    assert (turned.position == samples.position[:, ::-1]).all()
    assert 'like names' in sentence
    numbered = replace(samples, joint_names=tuple(f'A{k}' for k in range(7)))
    assert 'in the order' in for_robot(numbered, ROBOT)[1]
    given = dict(zip(numbered.joint_names, ROBOT.joint_names[::-1], strict=True))
    assert (for_robot(numbered, ROBOT, given)[0].position == samples.position[:, ::-1]).all()
    fewer = samples.columns(range(6), [f'A{k}' for k in range(6)])
    with pytest.raises(UnusableRecordingError, match='another robot'):
        for_robot(fewer, ROBOT)


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
