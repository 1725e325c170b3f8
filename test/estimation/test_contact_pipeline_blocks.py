# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Consecutive states taken in together, and reasons that are counted and logged."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from arm import ROBOT

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation import ContactPipeline, ContactState
from dynamics_ros.estimation.blocks import estimates_of
from dynamics_ros.estimation.contact_settings import UnexplainedSettings
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.uncertainty import residual_watch
from dynamics_ros.estimation.uncertainty.residual_watch import ResidualWatch
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.reasons import Counts, Explanation, Figure, Names, Reason

PERIOD, COUNT = 4_000_000, 3000
"""ns, states: 12 s."""

FIRST = 10**18
"""ns"""


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('ur5'))


@pytest.fixture(scope='module')
def stream(robot):
    """States of a motion with pushes, a blow, and all that goes wrong with messages."""
    rng = np.random.default_rng(0)
    t = PERIOD * 1e-9 * np.arange(COUNT)
    w, phase = rng.uniform(0.5, 3.0, robot.nv), rng.uniform(0.0, 6.0, robot.nv)
    angle = t[:, np.newaxis] * w + phase
    q, v, a = 0.5 * np.sin(angle), 0.5 * w * np.cos(angle), -0.5 * w * w * np.sin(angle)
    effort = robot.inverse_dynamics(q, v, a)
    effort[700:900] -= 12.0
    effort[2000:2030] -= 90.0
    effort += rng.normal(0.0, 0.02, effort.shape)
    v += rng.normal(0.0, 5e-4, v.shape)
    times = FIRST + PERIOD * np.arange(COUNT)
    effort[400, 2] += 400.0  # an outlier
    q[450, 1] += 0.4
    effort[1200] = 0.0  # efforts that stop
    effort[1210:1230] = 0.0
    effort[1300:1450, 1] = effort[1300, 1]  # and that stand still
    times[1500:] += 3 * 10**8  # a gap
    times[1600] = times[1599]  # told twice
    times[1700] -= 3 * PERIOD  # late
    times[1800:] += 5 * PERIOD  # states are missing
    times[1900:1903] = times[1903] - PERIOD // 100 * np.array([3, 2, 1])  # of arrival
    # From here on four at a time, stamped when they came.
    times[2200:] -= np.arange(COUNT - 2200) % 4 * (PERIOD - PERIOD // 50)
    times[2500:] -= 10**10  # the clock is set back
    v[100:160] = 0.0
    return RobotState(times, q, v, effort, (), (), (), np.zeros(robot.nv, dtype=bool))


def made(robot, **more):
    pipeline = ContactPipeline(robot, replace(ContactParameters(), **more), 'tool0')
    pipeline.compile(wait=True)
    return pipeline


def one_by_one(pipeline, states):
    """Estimates by their place, and how many states brought none by the reason."""
    found, silent = {}, Counter()
    for i in range(states.size):
        if pipeline.detector.report.collision_latched:
            pipeline.detector.reset()
        external = pipeline.update(states.row(i))
        if external is None:
            silent[pipeline.unavailable_reason] += 1
        else:
            found[i] = pipeline.estimated_state, external
    return found, silent


def together(pipeline, states, sizes):
    found, silent, begin = {}, Counter(), 0
    while begin < states.size:
        block = states.part(begin, begin + next(sizes))
        for count, estimates in estimates_of(pipeline, block, latches=False):
            if estimates is None:
                silent[pipeline.unavailable_reason] += count
            else:
                for k in range(count):
                    found[begin + k] = estimates.states.row(k), estimates.row(k)
            begin += count
    return found, silent


CALIBRATED = UnexplainedSettings(speed=(0.5,), load=(0.05,), reversal=(0.5,), standing=(0.5,))


@pytest.mark.parametrize('unexplained', [UnexplainedSettings(), CALIBRATED], ids=['', 'calibrated'])
def test_blocks_say_what_single_states_say(robot, stream, unexplained):
    parameters = ContactParameters()
    more = {
        'unexplained': unexplained,
        'friction': replace(parameters.friction, coulomb=(1.0,)),
    }
    one, many = made(robot, **more), made(robot, **more)
    found, silent = one_by_one(one, stream)
    rng = np.random.default_rng(1)
    blocks, silent_in_blocks = together(many, stream, iter(lambda: int(rng.integers(1, 400)), 0))
    assert silent == silent_in_blocks
    assert len(silent) > 2
    assert set(found) == set(blocks)
    states = Counter()
    for i, (judged, external) in found.items():
        other, theirs = blocks[i]
        assert judged.time == other.time
        np.testing.assert_allclose(theirs.values, external.values, rtol=1e-12, atol=1e-12)
        assert theirs.report == external.report, i
        if external.deviation is not None:
            np.testing.assert_allclose(theirs.deviation, external.deviation, rtol=1e-12)
        states[external.report.state] += 1
    assert states[ContactState.NONE] > 100
    assert states[ContactState.CONTACT] > 100
    assert one.observer.counts == many.observer.counts
    assert one.samples.refused == many.samples.refused
    assert one.effort_check.report == many.effort_check.report
    assert one.residuals.advice == many.residuals.advice
    assert one.tare.take() == many.tare.take()


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
        watch.add(rng.normal(size=ROBOT.nv) * size, np.ones(ROBOT.nv))
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
