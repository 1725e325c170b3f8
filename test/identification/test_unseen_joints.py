# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that did not move while a robot was recorded: nothing is known of their friction.

From the recording to the parameters of contact_node, its thresholds and deviations.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from simulated_arm import COULOMB, FILE, ROBOT, TEXT, VISCOUS, recording, truth

from dynamics_ros.calibration.command import main
from dynamics_ros.calibration.outputs import node_parameters, parameter_values
from dynamics_ros.calibration.report import report
from dynamics_ros.calibration.tables import write_table
from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.fleet.analysis import matched
from dynamics_ros.identification import identify
from dynamics_ros.identification.uncertainty import calibrated_robot, learn
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.recordings.settings import read_settings, settings_of
from dynamics_ros.settings import replaced

ARM = truth(1, off=0.0)
MOVED = (1, 3)
STILL = [k for k in range(7) if k not in MOVED]
EPOCH = 1_750_000_000 * 10**9


@pytest.fixture(scope='module')
def poor():
    return recording(ARM, joints=MOVED)


@pytest.fixture(scope='module')
def found(poor):
    return identify(ROBOT, [poor])


@pytest.fixture(scope='module')
def learned(found, poor):
    return learn(found, [poor])


def test_their_friction_is_not_told_and_its_deviation_reaches_to_what_it_may_be(found):
    told = {one.name: one for one in found.parameters}
    for joint, true in zip(ROBOT.joint_names, zip(VISCOUS, COULOMB, strict=True), strict=True):
        moved = ROBOT.joint_names.index(joint) in MOVED
        for kind, value in zip(('viscous', 'coulomb'), true, strict=True):
            one = told[f'{kind} {joint}']
            assert one.identifiable is moved
            assert abs(one.value - value) < 3.0 * one.deviation + 0.05


def test_free_motion_of_them_is_no_contact_and_deviations_hold(found, learned):
    given = yaml.safe_load(yaml.safe_dump(parameter_values(found, learned)))
    values = replaced(settings_of(ContactParameters, given), ('frames',), ('tool0',))
    pipeline = ContactPipeline(calibrated_robot(found), values, 'tool0')
    pipeline.compile(wait=True)
    samples = recording(ARM, duration=20.0, seed=8, speed=0.5)
    nothing = np.zeros(7, dtype=bool)
    contacts, ratios = 0, []
    for k, time in enumerate(samples.time):
        rows = samples.position[k], samples.velocity[k], samples.effort[k]
        state = RobotState(EPOCH + round(time * 1e9), *rows, (), (), (), nothing)
        external = pipeline.update(state)
        if external is None or time < 1.0:
            continue
        contacts += external.report.state is not ContactState.NONE
        ratios.append(external.values / external.deviation)
    assert contacts == 0
    rms = np.sqrt(np.mean(np.square(ratios), axis=0))
    assert (rms < 2.0).all()


def test_a_person_is_told_in_every_output(found, learned, poor, tmp_path, capsys):
    text = node_parameters(found, learned)
    (comment,) = [line for line in text.splitlines() if 'did not move' in line]
    page = report(found, None, [])
    for k, name in enumerate(ROBOT.joint_names):
        assert (name in comment) == (k in STILL)
    assert page.count('>unknown</td>') == 4 * len(STILL)
    assert list(yaml.safe_load(text)) == ['/**/contact_node']
    path = tmp_path / 'poor.csv'
    write_table(path, poor)
    assert main([str(path), '--robot', str(FILE), '--json']) == 0
    said = capsys.readouterr().out
    rows = {line.split()[0]: line for line in said.splitlines() if line and ' Nm ' in line}
    for k, name in enumerate(ROBOT.joint_names):
        assert ('unknown' in rows[name]) == (k in STILL)
    result = json.loads(said.splitlines()[-1])
    assert any('thresholds are raised' in finding for finding in result['findings'])


def test_parameters_are_for_all_joints_though_one_was_not_recorded(poor, tmp_path):
    absent = ROBOT.joint_names[2]
    names = [name for name in ROBOT.joint_names if name != absent]
    columns = [ROBOT.joint_names.index(name) for name in names]
    arrays = {x: getattr(poor, x)[:, columns] for x in ('position', 'velocity', 'effort')}
    recorded, written = tmp_path / 'six.csv', tmp_path / 'six.yaml'
    write_table(recorded, replace(poor, joint_names=tuple(names), **arrays))
    assert main([str(recorded), '--robot', str(FILE), '--parameters', str(written)]) == 0
    text = written.read_text()
    assert [absent in line for line in text.splitlines() if 'not recorded' in line] == [True]
    settings = read_settings(written)
    pipeline = ContactPipeline(ROBOT, settings.contact, 'tool0')
    assert pipeline.values.effort.noise[2] == np.inf
    assert np.isfinite(np.delete(pipeline.values.effort.noise, 2)).all()
    # A recording without the joint is analysed with the parameters of the others.
    factory, _, (sentence,) = matched(TEXT, settings, names)
    assert absent in sentence
    assert factory.make(settings.carried).pipeline.values.effort.scale == (1.0,) * 6
