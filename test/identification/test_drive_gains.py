# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a unit of effort is in Nm is found from a run with a known load and one without."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import FILE, ROBOT, Truth, recording, truth

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification import (
    KnownLoad,
    UnusableRecordingError,
    identify_drive_gains,
)

GAIN = np.array([8.0, 11.0, -9.0, 12.0, 3.0, 4.0, 2.5])
"""Nm for a unit; the third joint counts the other way round."""

LOAD = KnownLoad('tool0', 3.0, (0.03, 0.02, 0.08))
ARM = replace(truth(2), scale=1.0 / GAIN)
LOADED = Truth(
    ARM.robot.with_payload('tool0', LOAD.mass, LOAD.center, np.diag([0.003, 0.004, 0.002])),
    ARM.bodies,
    ARM.scale,
)


@pytest.fixture(scope='module')
def runs():
    """Without and with, of other motions."""
    return (
        recording(ARM, rate=100.0, noise=0.2, seed=2),
        recording(LOADED, rate=100.0, noise=0.2, seed=12),
    )


def test_gains_are_found_although_masses_are_not_as_described(runs):
    empty, loaded = runs
    found, gains = identify_drive_gains(ROBOT, [empty], [loaded], LOAD)
    assert gains.told[1:6].all()
    off = (gains.gain - GAIN)[gains.told]
    assert np.abs(off / GAIN[gains.told]).max() < 0.05
    assert (np.abs(off) < 4.0 * gains.deviation[gains.told]).all()
    assert (found.effort_model.scale == gains.gain).all()
    # At true gains the masses are those of the arm, not of its description.
    tested = found.evaluate(recording(ARM, seed=5))
    assert tested.percent_all < 2.0


def test_runs_in_the_other_order_or_without_a_load_are_told(runs):
    empty, loaded = runs
    with pytest.raises(UnusableRecordingError, match='the last recording has to be'):
        identify_drive_gains(ROBOT, [loaded], [empty], LOAD)
    again = recording(ARM, rate=100.0, noise=0.2, seed=14)
    with pytest.raises(UnusableRecordingError, match='heavier load'):
        identify_drive_gains(ROBOT, [empty], [again], LOAD)


def test_a_load_that_cannot_be_is_refused(runs):
    with pytest.raises(InvalidArgumentError, match='mass of the load'):
        KnownLoad('tool0', -1.0, (0.0, 0.0, 0.0))
    with pytest.raises(InvalidArgumentError, match='mass of the load'):
        KnownLoad('tool0', np.nan, (0.0, 0.0, 0.0))
    with pytest.raises(InvalidArgumentError, match='centre of the load'):
        KnownLoad('tool0', 1.0, (0.0, np.inf, 0.0))
    root = replace(LOAD, frame=ROBOT.frame_names[0])
    with pytest.raises(UnusableRecordingError, match='no joint moves'):
        identify_drive_gains(ROBOT, [runs[0]], [runs[1]], root)


def test_the_command_tells_gains_and_uses_them(runs, tmp_path, capsys):
    pytest.importorskip('rosbags')
    import yaml
    from test_calibrate_robot import as_csv

    from dynamics_ros.calibration.command import main

    files = [str(as_csv(run, tmp_path / f'{k}.csv')) for k, run in enumerate(runs)]
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
