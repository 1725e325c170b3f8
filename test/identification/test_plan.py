# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot plan: a motion within limits that tells more than a random one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import yaml
from simulated_arm import FILE, ROBOT, motion

from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.excitation.clearance import Clearance
from dynamics_ros.identification.excitation.fourier import condition_number, plan_excitation
from dynamics_ros.model.collision_geometry import read_collision_geometry

pytest.importorskip('rosbags')

import sys

from dynamics_ros.calibration import plan
from dynamics_ros.calibration.command import main


@pytest.fixture(scope='module')
def planned(tmp_path_factory):
    path = tmp_path_factory.mktemp('plan') / 'motion.yaml'
    words = ['--robot', str(FILE), '--output', str(path), '--floor', '0.0']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, 'plan_excitation', partial(plan_excitation, iterations=60))
        assert main(['plan', *words]) == 0
    message = yaml.safe_load(path.read_text())
    assert message['joint_names'] == list(ROBOT.joint_names)
    points, words = message['points'], ('positions', 'velocities', 'accelerations')
    time = [x['time_from_start']['sec'] + 1e-9 * x['time_from_start']['nanosec'] for x in points]
    return np.array(time), [np.array([x[word] for x in points]) for word in words]


@pytest.mark.slow
def test_the_motion_keeps_within_limits_and_rests_at_both_ends(planned):
    time, (q, v, a) = planned
    assert time[-1] == 20.0
    assert (q > ROBOT.lower_limits).all() and (q < ROBOT.upper_limits).all()
    assert (np.abs(v) < ROBOT.velocity_limits).all()
    assert (np.abs(ROBOT.inverse_dynamics(q, v, a)) < ROBOT.effort_limits).all()
    assert np.abs(v[[0, -1]]).max() < 1e-8
    assert np.abs(np.gradient(q, time, axis=0) - v)[1:-1].max() < 1e-2
    assert np.abs(np.gradient(v, time, axis=0) - a)[1:-1].max() < 1e-1
    clearance = Clearance(ROBOT, read_collision_geometry(FILE), floor=-0.01)
    assert clearance.smallest(q[::20]) > 0.01
    clearance.check(q[::20], 0.02, 'the motion')


@pytest.mark.slow
def test_it_tells_more_than_random_motions(planned):
    _, (q, v, a) = planned
    base, time = BaseParameters.of(ROBOT), np.linspace(0.0, 20.0, 400)
    usual = [condition_number(ROBOT, base, *motion(time, seed)) for seed in range(20)]
    assert condition_number(ROBOT, base, q[::5], v[::5], a[::5]) < 0.5 * np.median(usual)


def test_without_coal_nothing_is_planned(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'coal', None)
    words = ['plan', '--robot', str(FILE), '--output', str(tmp_path / 'motion.yaml')]
    assert main(words) == 1
    assert 'pip install coal' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
