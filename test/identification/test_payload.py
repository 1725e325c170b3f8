# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an arm holds is found from a run with it and one without."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import (
    COULOMB,
    FILE,
    OFFSET,
    ROBOT,
    ROTOR,
    SMOOTH,
    VISCOUS,
    Truth,
    motion,
    recording,
    truth,
)

from dynamics_ros.calibration.results import payload_text
from dynamics_ros.estimation.payload_identification import estimate_of
from dynamics_ros.identification import (
    JointSamples,
    identify_with_payload,
)

ARM = truth(2)
MASS, CENTER = 1.5, np.array([0.03, 0.02, 0.08])
LOADED = Truth(
    ARM.robot.with_payload('tool0', MASS, CENTER, np.diag([0.002, 0.003, 0.0015])),
    ARM.bodies,
    ARM.scale,
)


@pytest.fixture(scope='module')
def runs():
    """Without and with, of other motions."""
    return (
        recording(ARM, rate=100.0, noise=0.3, seed=2),
        recording(LOADED, rate=100.0, noise=0.3, seed=12),
    )


@pytest.mark.parametrize('swapped', [False, True])
def test_mass_and_center_are_found_in_either_order(runs, swapped):
    empty, loaded = runs[::-1] if swapped else runs
    _, payload = identify_with_payload(ROBOT, [empty], [loaded], 'tool0')
    assert payload.swapped == swapped
    assert payload.mass == pytest.approx(MASS, rel=0.02)
    assert payload.center_of_mass == pytest.approx(CENTER, abs=5e-3)
    assert abs(payload.mass - MASS) < 4.0 * payload.mass_deviation < 0.1


@pytest.mark.parametrize('unit', [1.12, 0.85])
def test_deviations_include_the_unit_of_efforts_that_the_weight_of_the_robot_shows(runs, unit):
    """Efforts in other than Nm, by less than masses of descriptions are usually off."""
    empty, loaded = (replace(run, effort=unit * run.effort) for run in runs)
    _, payload = identify_with_payload(ROBOT, [empty], [loaded], 'tool0')
    assert payload.own_weight == pytest.approx(unit, rel=0.1)
    assert abs(payload.mass - MASS) < 2.0 * payload.mass_deviation < MASS
    assert f'weighs {payload.own_weight:.2f} times' in payload_text(payload)
    # It does not pull the estimate to another mass that makes a possible body.
    found = payload.parameters, payload.covariance, 0.0, 1, 1
    alone, estimate = (estimate_of('tool0', *found, x) for x in (0.0, payload.unit_deviation))
    assert estimate.mass == alone.mass
    assert estimate.mass_deviation == pytest.approx(payload.mass_deviation)


def test_the_command_adds_the_payload(runs, tmp_path, capsys):
    pytest.importorskip('rosbags')
    from test_calibrate_robot import as_csv

    from dynamics_ros.calibration.command import main

    files = [
        str(as_csv(run, tmp_path / f'{name}.csv'))
        for name, run in zip(('without', 'with'), runs, strict=True)
    ]
    words = ['--robot', str(FILE), '--load', 'tool0', '--json']
    assert main([*files, *words]) == 0
    payload = json.loads(capsys.readouterr().out.splitlines()[-1])['payload']
    assert not payload['only_as_exact_as_described_masses']
    assert payload['mass'] == pytest.approx(MASS, rel=0.02)
    assert payload['center_of_mass'] == pytest.approx(CENTER, abs=5e-3)
    assert len(payload['center_of_mass_standard_deviation']) == 3
    assert main([files[0], *words]) == 1
    assert 'without the payload' in capsys.readouterr().err
    assert main([*files, *words[:3], 'nowhere']) == 1
    assert 'nowhere' in capsys.readouterr().err


def test_a_payload_of_efforts_in_another_unit_is_told_with_its_caution(runs, tmp_path, capsys):
    pytest.importorskip('rosbags')
    from test_calibrate_robot import as_csv

    from dynamics_ros.calibration.command import main

    files = [
        str(as_csv(replace(run, effort=12.0 * run.effort), tmp_path / f'{name}.csv'))
        for name, run in zip(('without', 'with'), runs, strict=True)
    ]
    assert main([*files, '--robot', str(FILE), '--load', 'tool0']) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if 'payload at tool0' in x]
    assert 'only as exact as those masses' in line
    assert '--drive-gains' in line


def messy(arm, seed, share=0.12):
    """A run of an arm whose friction has ripple and Stribeck effect, and grows with the load."""
    t = np.arange(0.0, 30.0, 0.01)
    q, v, a = motion(t, seed)
    rng = np.random.default_rng(5)
    torque = arm.robot.inverse_dynamics(q, v, a) + ROTOR * a
    teeth, phase = rng.integers(10, 40, 7), rng.uniform(0.0, 2.0 * np.pi, 7)
    dry = COULOMB * (1.0 + 0.3 * np.exp(-np.abs(v) / 0.08)) + 0.02 * np.abs(torque)
    ripple = share * COULOMB * np.sin(teeth * q + phase)
    effort = torque + dry * np.tanh(v / SMOOTH) + VISCOUS * v + ripple + OFFSET
    own = np.random.default_rng(seed)
    effort = effort + 0.3 * own.normal(size=q.shape)
    q = q + 2e-5 * own.normal(size=q.shape)
    return JointSamples('recording', ROBOT.joint_names, t, q, None, effort)


def test_deviations_hold_with_friction_that_the_model_does_not_have():
    """Without random effects errors are 2.1 times the stated deviations, and masses 4 % off."""
    over = []
    for seed in range(6):
        runs = messy(ARM, seed), messy(LOADED, seed + 50)
        _, payload = identify_with_payload(ROBOT, [runs[0]], [runs[1]], 'tool0')
        assert payload.mass == pytest.approx(MASS, rel=0.02)
        assert payload.center_of_mass == pytest.approx(CENTER, abs=5e-3)
        over.append((payload.mass - MASS) / payload.mass_deviation)
        over += list((payload.center_of_mass - CENTER) / payload.center_of_mass_deviation)
    # 24 normal numbers have an RMS above 1.4 once in a thousand times.
    assert np.sqrt(np.mean(np.square(over))) < 1.4
