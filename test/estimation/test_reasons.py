# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Texts with figures are counted and logged by their cause and joints."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from arm import ROBOT

from dynamics_ros.estimation.uncertainty import residual_watch
from dynamics_ros.estimation.uncertainty.residual_watch import ResidualWatch
from dynamics_ros.reasons import Counts, Explanation, Figure, Names, Reason


def gap(seconds, *joints):
    names = Names(joints, ', '.join(joints))
    return Explanation(Reason.OTHER, 'a gap of ', Figure(seconds, '.3f'), ' s at {', names, '}')


def test_a_reason_is_its_text_and_keeps_its_cause_in_others():
    reason = Explanation(Reason.OTHER, 'silent: ', gap(0.25, 'a', 'b'))
    assert reason == 'silent: a gap of 0.250 s at {a, b}' and isinstance(reason, str)
    assert reason.keys == Explanation(Reason.OTHER, 'silent: ', gap(7.0, 'b', 'a')).keys
    assert reason.keys > Explanation(Reason.OTHER, 'silent: ', gap(7.0, 'b')).keys
    assert reason.keys != gap(0.25, 'a', 'b').keys
    assert Explanation(Reason.OTHER, 'plain').keys == {('plain', '')}
    for same in (copy.deepcopy(reason), pickle.loads(pickle.dumps(reason))):
        assert same == reason


def test_reasons_are_counted_by_cause_and_joints_with_the_ranges_of_figures():
    counts = Counts()
    for k in range(100):
        counts.add(gap(0.001 * k, 'a'), 2)
    counts.add(gap(5.0, 'b'), 1)
    counts.add('waits', 3)
    counts.add('waits', 4)
    assert dict(counts.items()) == {
        'a gap of 0.000 to 0.099 s at {a}': 200,
        'a gap of 5.000 s at {b}': 1,
        'waits': 7,
    }


def test_advice_on_residuals_has_one_cause_whatever_the_figures(monkeypatch):
    monkeypatch.setattr(residual_watch, 'CHECK_EVERY', 1)
    rng, keys = np.random.default_rng(1), set()
    watch = ResidualWatch(ROBOT)
    for k in range(400):
        size = 5.0 + k * 0.05
        watch.add(10**9 * k, rng.normal(size=ROBOT.nv) * size, np.ones(ROBOT.nv))
        watch.judge(np.zeros(ROBOT.nv), np.full(ROBOT.nv, 0.1))
        if watch.advice:
            keys |= watch.advice.keys
    assert 1 <= len(keys) <= ROBOT.nv, keys


class TestTheLogOfANode:
    @pytest.fixture
    def node(self, monkeypatch):
        """Diagnostics without a ROS graph, the lines that it logs, and a clock."""
        diagnostics = pytest.importorskip('dynamics_ros.nodes.diagnostics')
        lines, clock = [], SimpleNamespace(now=0.0)
        monkeypatch.setattr(diagnostics.time, 'monotonic', lambda: clock.now)
        log = SimpleNamespace(info=lines.append, warning=lines.append)
        one = object.__new__(diagnostics.Diagnostics)
        inputs = SimpleNamespace(state=1, doubts=SimpleNamespace(problems=()))
        changes = SimpleNamespace(refusal='', building=False)
        one._context = SimpleNamespace(inputs=inputs, changes=changes)
        one._component = SimpleNamespace(unavailable_reason='', problem='')
        one._node = SimpleNamespace(get_logger=lambda: log)
        one._logged, one._again, one._waiting_since = set(), {}, 0.0
        return one, lines, clock, diagnostics.DiagnosticStatus

    def test_has_a_warning_once_while_its_figures_change(self, node):
        one, lines, clock, status = node
        for k in range(30):
            clock.now = 3.0 * k
            joints = ('a', 'b') if k % 2 else ('a',)
            one._log((status.WARN, Explanation(Reason.OTHER, 'publishing; ', gap(k, *joints))))
            if k % 3 == 0:
                one._log((status.OK, Explanation(Reason.OK, 'publishing')))
        # Each joint is named once within a minute, and what became of it.
        assert [line for line in lines if 'gap' in line and clock.now < 90.0][:2] == [
            'publishing; a gap of 0.000 s at {a}',
            'publishing; a gap of 1.000 s at {a, b}',
        ]
        assert len(lines) <= 6, lines

    def test_has_every_end_of_the_outputs(self, node):
        one, lines, clock, status = node
        for k in range(3):
            clock.now = 3.0 * k
            one._component.unavailable_reason = 'no effort'
            one._log((status.WARN, Explanation(Reason.OTHER, 'silent: ', gap(k, 'a'))))
            one._log((status.WARN, Explanation(Reason.OTHER, 'silent: ', gap(k + 0.5, 'a'))))
            one._component.unavailable_reason = ''
            one._log((status.OK, Explanation(Reason.OK, 'publishing')))
        assert len(lines) == 6
