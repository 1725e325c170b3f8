# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Friction that grows with the load is found where it is, and not where it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, ROBOT, ROTOR, SMOOTH, motion, recording, truth

from dynamics_ros.calibration.outputs import parameter_values
from dynamics_ros.estimation import EffortModel
from dynamics_ros.identification import identify
from dynamics_ros.identification.payload import drift_of_friction
from dynamics_ros.identification.uncertainty.learn import learn_unexplained

ARM = truth(1)
GROWS = np.array([0.1, 0.08, 0.0, 0.12, 0.0, 0.1, 0.0])


def carried(q, v, a):
    return ARM.robot.inverse_dynamics(q, v, a) + ROTOR * a


def loaded(seed=0):
    """A recording of an arm with such friction in four joints, written down here."""
    plain = recording(ARM, seed=seed)
    q, v, a = motion(plain.time, seed)
    more = GROWS * np.abs(carried(q, v, a)) * np.tanh(v / SMOOTH)
    return replace(plain, effort=plain.effort + more)


@pytest.fixture(scope='module')
def found():
    return identify(ROBOT, [loaded()])


def test_it_is_found_within_its_deviations(found):
    told = {p.name: p for p in found.parameters}
    for joint, true in zip(ROBOT.joint_names, GROWS, strict=True):
        if true:
            one = told[f'load {joint}']
            assert one.identifiable
            assert abs(one.value - true) < 4.0 * one.deviation
            assert one.deviation < 0.02
        else:
            assert f'load {joint}' not in told
    assert (found.effort_model.load_friction[GROWS == 0.0] == 0.0).all()
    assert found.effort_model.coulomb == pytest.approx(COULOMB, abs=0.05)
    assert found.consistent


def test_another_motion_is_explained(found):
    assert not found.maker.stribeck
    assert found.evaluate(loaded(seed=5)).percent_all < 0.5


def test_without_it_there_is_no_such_term():
    found = identify(ROBOT, [recording(ARM)])
    assert not found.fit.loads.any()
    assert (found.effort_model.load_friction == 0.0).all()
    assert not [p for p in found.parameters if p.name.startswith('load ')]


def test_torques_behind_friction_are_those_of_the_bodies(found):
    test = loaded(seed=5)
    q, v, a = motion(test.time, 5)
    taken = slice(100, None, 500)
    model = found.effort_model
    behind = [model.joint_torque(u, one) for u, one in zip(test.effort[taken], v[taken])]
    # 0.1 Nm of noise, and what the fit of friction is off.
    off = np.array(behind) - carried(q, v, a)[taken]
    assert np.sqrt((off**2).mean(axis=0)).max() < 0.2


def test_friction_takes_what_is_left_of_the_motor():
    model = EffortModel.ideal(ROBOT).with_values(coulomb=1.0, load_friction=GROWS)
    rng = np.random.default_rng(4)
    v, torque = rng.normal(size=(2, 50, 7))
    for one, motor in zip(v, 20.0 * torque, strict=True):
        behind = model.joint_torque(motor, one)
        assert behind + model.friction_torque(one, behind) == pytest.approx(motor)


def test_parameters_and_standing_friction_have_it(found):
    learned = learn_unexplained(ROBOT, found.effort_model, [loaded()])
    values = parameter_values(found, learned)
    assert values['friction.load'] == pytest.approx(found.effort_model.load_friction, rel=1e-3)
    assert drift_of_friction(found).shape == (7, 5)
