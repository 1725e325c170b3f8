# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks measure what they say and write figures in one form."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.dynamics_cases import CASES
from benchmarks.inverse_kinematics import measure
from benchmarks.records import KEYS
from benchmarks.robots import ARMS


@pytest.fixture
def figures(tmp_path):
    """A function that runs a suite quickly: values by case, and all figures, each well formed."""

    def run(*arguments):
        out = tmp_path / 'figures.json'
        assert main([*arguments, '--quick', '--json', str(out)]) == 0
        written = json.loads(out.read_text())
        for figure in written:
            assert tuple(figure) == KEYS
            assert isinstance(figure['value'], float)
            assert figure['verdict'] in ('pass', 'stretch', 'FAIL', None)
            assert all(isinstance(figure[key], str) for key in ('suite', 'case', 'robot', 'unit'))
            if figure['peer'] is None:
                assert figure['peer_value'] is figure['ratio'] is None
            else:
                assert figure['ratio'] == pytest.approx(figure['value'] / figure['peer_value'])
        return {x['case']: x['value'] for x in written}, written

    return run


def test_dynamics_puts_every_call_beside_pinocchio_and_mujoco(figures, capsys):
    parts = '--part', 'calls', '--part', 'batch'
    _, written = figures('dynamics', '--robot', 'ur5', *parts, '--peers', 'pin,mujoco')
    beside_pin = {x['case'] for x in written if x['peer'] == 'pin'}
    assert {case.name for case in CASES} <= beside_pin
    assert any(case.startswith('batch of') for case in beside_pin)
    assert any(x['peer'] == 'mujoco' for x in written)
    assert {x['suite'] for x in written} == {'dynamics'}
    assert all(0.0 < x['value'] < 1e5 for x in written)
    assert 'goals are met' in capsys.readouterr().out


@pytest.mark.ros
def test_a_cold_start_is_measured_in_a_fresh_process(figures):
    part = '--robot', 'xarm7', '--part', 'startup'
    values, _ = figures('dynamics', *part, '--peers', 'none')
    assert 0.0 < values['start to first answer'] < 30.0
    assert values['compile all kernels'] > 0.0
    assert 10.0 < values['memory with the nodes loaded'] < 4000.0


def test_accuracy_writes_an_error_for_each_quantity(figures):
    errors, _ = figures('accuracy', '--robot', 'double_pendulum_simple')
    assert errors['mass matrix'] < 1e-9
    assert len(errors) > 20


def test_our_inverse_kinematics_is_checked_on_targets_within_reach():
    answers = measure(ARMS[1], 20, {'dynamics_ros': Path(sys.executable)})['dynamics_ros']
    assert answers.success.shape == answers.micros.shape == (20,)
    assert answers.success.mean() > 0.5
    assert (answers.micros > 0.0).all()


def test_branches_and_closest_poses_are_held_against_long_searches(figures):
    on_ur5 = 'ik', '--robot', 'ur5', '--peers', 'none', '--part'
    values, _ = figures(*on_ur5, 'analytic')
    assert values['targets whose own q is lost'] == 0.0
    assert values['branches of a search that are lost'] == 0.0
    assert 1.0 < values['branches a target'] <= 8.0
    values, _ = figures(*on_ur5, 'unreachable')
    assert values['out of reach: said so'] == 100.0
    # Searches end by time: how near they come is a matter of the machine.
    assert 0.99 < values['out of reach: distance over least'] < 100.0


def test_a_solver_that_cannot_be_started_is_left_out_with_its_reason(capsys):
    assert measure(ARMS[1], 5, {'ssik': Path(sys.executable)}) == {}
    said = capsys.readouterr().out
    assert 'ssik is left out on ur5' in said


def test_an_unknown_suite_or_peer_is_refused_by_name(capsys):
    with pytest.raises(SystemExit, match='2'):
        main(['speed'])
    suites = 'dynamics, ik, estimation, control, ros, identification, recordings, accuracy'
    assert suites in capsys.readouterr().err
    with pytest.raises(SystemExit, match='2'):
        main(['dynamics', '--peers', 'kdl'])
    assert 'unknown: kdl' in capsys.readouterr().err
