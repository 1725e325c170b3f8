# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an arm holds, and what a unit of effort is, from runs with and without a load."""

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
    as_csv,
    motion,
    recording,
    truth,
)

from dynamics_ros.calibration.results import payload_text
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification import (
    JointSamples,
    KnownLoad,
    UnusableRecordingError,
    identify_drive_gains,
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


def test_mass_and_center_are_found(runs):
    empty, loaded = runs
    _, payload = identify_with_payload(ROBOT, [empty], [loaded], 'tool0')
    assert payload.mass == pytest.approx(MASS, rel=0.02)
    assert payload.center_of_mass == pytest.approx(CENTER, abs=5e-3)
    assert abs(payload.mass - MASS) < 4.0 * payload.mass_deviation < 0.1
    with pytest.raises(UnusableRecordingError, match='last recording has to be the one with it'):
        identify_with_payload(ROBOT, [loaded], [empty], 'tool0')


@pytest.mark.parametrize('unit', [1.12, 0.85])
def test_deviations_include_the_unit_of_efforts_that_the_weight_of_the_robot_shows(runs, unit):
    """Efforts in other than Nm, by less than masses of descriptions are usually off."""
    empty, loaded = (replace(run, effort=unit * run.effort) for run in runs)
    _, payload = identify_with_payload(ROBOT, [empty], [loaded], 'tool0')
    assert payload.own_weight == pytest.approx(unit, rel=0.1)
    assert abs(payload.mass - MASS) < 2.0 * payload.mass_deviation < MASS
    assert f'weighs {payload.own_weight:.2f} times' in payload_text(payload)


def test_the_command_adds_the_payload(runs, tmp_path, capsys):
    pytest.importorskip('rosbags')
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
    """Without waves of friction errors are 1.4 times the stated deviations, and masses 4 % off."""
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


GAIN = np.array([8.0, 11.0, -9.0, 12.0, 3.0, 4.0, 2.5])
"""Nm for a unit; the third joint counts the other way round."""

LOAD = KnownLoad('tool0', 3.0, (0.03, 0.02, 0.08))
DRIVE_GAINS_ARM = replace(truth(2), scale=1.0 / GAIN)
DRIVE_GAINS_LOADED = Truth(
    DRIVE_GAINS_ARM.robot.with_payload(
        'tool0', LOAD.mass, LOAD.center, np.diag([0.003, 0.004, 0.002])
    ),
    DRIVE_GAINS_ARM.bodies,
    DRIVE_GAINS_ARM.scale,
)


@pytest.fixture(scope='module')
def runs_drive_gains():
    """Without and with, of other motions."""
    return (
        recording(DRIVE_GAINS_ARM, rate=100.0, noise=0.2, seed=2),
        recording(DRIVE_GAINS_LOADED, rate=100.0, noise=0.2, seed=12),
    )


def test_gains_are_found_although_masses_are_not_as_described(runs_drive_gains):
    empty, loaded = runs_drive_gains
    found, gains = identify_drive_gains(ROBOT, [empty], [loaded], LOAD)
    assert gains.told[1:6].all()
    off = (gains.gain - GAIN)[gains.told]
    assert np.abs(off / GAIN[gains.told]).max() < 0.05
    assert (np.abs(off) < 4.0 * gains.deviation[gains.told]).all()
    assert (found.effort_model.scale == gains.gain).all()
    # At true gains the masses are those of the arm, not of its description.
    tested = found.evaluate(recording(DRIVE_GAINS_ARM, seed=5))
    assert tested.percent_all < 2.0


def test_runs_in_the_other_order_or_without_a_load_are_told(runs_drive_gains):
    empty, loaded = runs_drive_gains
    with pytest.raises(UnusableRecordingError, match='the last recording has to be'):
        identify_drive_gains(ROBOT, [loaded], [empty], LOAD)
    again = recording(DRIVE_GAINS_ARM, rate=100.0, noise=0.2, seed=14)
    with pytest.raises(UnusableRecordingError, match='heavier load'):
        identify_drive_gains(ROBOT, [empty], [again], LOAD)


def test_a_load_that_cannot_be_is_refused(runs_drive_gains):
    with pytest.raises(InvalidArgumentError, match='mass of the load'):
        KnownLoad('tool0', -1.0, (0.0, 0.0, 0.0))
    with pytest.raises(InvalidArgumentError, match='mass of the load'):
        KnownLoad('tool0', np.nan, (0.0, 0.0, 0.0))
    with pytest.raises(InvalidArgumentError, match='centre of the load'):
        KnownLoad('tool0', 1.0, (0.0, np.inf, 0.0))
    root = replace(LOAD, frame=ROBOT.frame_names[0])
    with pytest.raises(UnusableRecordingError, match='no joint moves'):
        identify_drive_gains(ROBOT, [runs_drive_gains[0]], [runs_drive_gains[1]], root)


def test_the_command_tells_gains_and_uses_them(runs_drive_gains, tmp_path, capsys):
    pytest.importorskip('rosbags')
    import yaml

    from dynamics_ros.calibration.command import main

    files = [str(as_csv(run, tmp_path / f'{k}.csv')) for k, run in enumerate(runs_drive_gains)]
    load = ['tool0', '3.0', '0.03', '0.02', '0.08']
    words = ['--robot', str(FILE), '--drive-gains', *load]
    out = tmp_path / 'out.yaml'
    assert main([*files, *words, '--json', '--parameters', str(out)]) == 0
    shown = capsys.readouterr().out
    assert 'Nm per unit of effort' in shown
    gains = json.loads(shown.splitlines()[-1])['drive_gains']
    assert gains['joints'] == list(ROBOT.joint_names)
    told = np.array(gains['told'])
    assert np.array(gains['gain'])[told] == pytest.approx(GAIN[told], rel=0.05)
    assert all((d is None) != t for d, t in zip(gains['standard_deviation'], told, strict=True))
    node = yaml.safe_load(out.read_text())['/**/contact_node']['ros__parameters']
    assert node['effort']['scale'] == pytest.approx(gains['gain'], rel=1e-5)
    assert main([files[0], *words]) == 1
    assert 'one recording' in capsys.readouterr().err
    assert main([*files, *words[:3], 'tool0', 'heavy', '0', '0', '0']) == 1
    assert 'FRAME MASS X Y Z' in capsys.readouterr().err
    with pytest.raises(SystemExit, match='2'):
        main([*files, *words, '--load', 'tool0'])


def test_a_wrong_centre_of_the_load_is_named_where_it_turns_gains_round(runs):
    empty, loaded = runs
    beyond = replace(LOAD, center=(0.03, 0.02, -0.8))
    with pytest.raises(UnusableRecordingError, match=r'\(0.03, 0.02, -0.8 m in .tool0.\)'):
        identify_drive_gains(ROBOT, [empty], [loaded], beyond)
