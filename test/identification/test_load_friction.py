# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Friction that grows with the load is found where it is, and not where it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, ROBOT, ROTOR, SMOOTH, motion, recording, truth

from dynamics_ros.identification import identify

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


def test_without_it_there_is_no_such_term():
    found = identify(ROBOT, [recording(ARM)])
    assert not found.fit.loads.any()
    assert (found.effort_model.load_friction == 0.0).all()
    assert not [p for p in found.parameters if p.name.startswith('load ')]
