# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plans: what is computed together, what one failure means for the others, which rates are kept."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Copy, Kernel, Step, trace
from dynamics_ros.nodes.output.plan import FRESH, VELOCITY, Group, KernelMessage, Plan
from dynamics_ros.nodes.reporting.rate_limits import RateLimit

STAMP = b'12345678'


class Sink:
    """An output without a middleware."""

    def __init__(self, fails=False):
        self.sent, self.skipped, self.fails, self.listened = [], 0, fails, True
        self.published = 0
        self._limit = RateLimit()

    def has_subscribers(self, now):
        return self.listened

    def passes(self, now, rate):
        passes = self._limit.passes(now, rate)
        self.skipped += not passes
        return passes

    def publish_function(self, form):
        return self.publish

    def publish(self, message):
        if self.fails:
            raise KeyError('cannot be sent')
        self.sent.append(message)


class Vector:
    """A message of some numbers."""

    def __init__(self, size=2):
        self.numbers = (np.zeros(size),)

    stamps = ()

    def packed(self):
        return self.numbers[0].copy()


class Component:
    """Publishes its groups."""

    def __init__(self, *groups):
        self.silence, self._groups = '', groups

    def groups(self):
        return self._groups

    def failed(self, error):
        self.silence = str(error)


def doubled():
    return Kernel(trace(lambda a: [2.0 * x for x in a], {'a': 2}, 'doubled', 'b'))


def kernels(source):
    form = Vector()
    return lambda: KernelMessage(form, (Step(doubled(), (source,), form.numbers),))


def state(stale=(), velocity_missing=()):
    numbers = np.zeros(2)
    return RobotState(
        10**9, numbers, numbers, numbers, velocity_missing, (), stale, np.zeros(2, dtype=bool)
    )


def answer(plan, of=None, now=0.0):
    for batch in plan.compute(of or state(), now):
        batch.publish(STAMP)


def test_messages_of_a_state_leave_together_in_their_order():
    source, sink = np.array([1.0, 2.0]), Sink()
    filled = Vector()
    component = Component(
        Group(sink, 0.0, FRESH, 'numbers', kernels(source)),
        Group(sink, 0.0, FRESH, 'more', fill=lambda: filled),
        Group(sink, 0.0, FRESH, 'nothing', fill=lambda: None),
    )
    batches = Plan([component]).compute(state(), 0.0)
    assert sink.sent == []
    for batch in batches:
        batch.publish(STAMP)
    np.testing.assert_array_equal(sink.sent, [[2.0, 4.0], [0.0, 0.0]])


def test_a_message_that_cannot_be_sent_keeps_back_no_other():
    source, good = np.array([1.0, 2.0]), Sink()
    groups = [Group(one, 0.0, FRESH, 'it', kernels(source)) for one in (Sink(fails=True), good)]
    with pytest.raises(KeyError):
        answer(Plan([Component(*groups)]))
    assert len(good.sent) == 1


def test_what_one_component_cannot_compute_keeps_back_no_other():
    sinks = Sink(), Sink(), Sink()
    bad, good = np.array([np.nan, 2.0]), np.array([1.0, 2.0])

    def broken():
        raise ZeroDivisionError('it happens')

    components = [
        Component(Group(sinks[0], 0.0, FRESH, 'it', kernels(bad))),
        Component(Group(sinks[1], 0.0, FRESH, 'it', kernels(good))),
        Component(Group(sinks[2], 0.0, FRESH, 'it', fill=broken)),
    ]
    answer(Plan(components))
    assert [len(sink.sent) for sink in sinks] == [0, 1, 0]
    assert 'NaN' in components[0].silence or 'finite' in components[0].silence
    assert not components[1].silence
    assert components[2].silence == 'it happens'


def test_a_group_whose_needs_are_not_met_says_which():
    source, placed, moving = np.ones(2), Sink(), Sink()
    component = Component(
        Group(placed, 0.0, FRESH, 'poses', kernels(source)),
        Group(moving, 0.0, FRESH | VELOCITY, 'twists', kernels(source)),
    )
    plan = Plan([component])
    answer(plan, state(velocity_missing=('elbow',)))
    assert component.silence == 'no twists: no velocity of elbow'
    assert (len(placed.sent), len(moving.sent)) == (1, 0)
    component.silence = ''
    answer(plan, state(stale=('elbow',), velocity_missing=('elbow',)))
    assert component.silence == 'no news for longer than joint_timeout of: elbow'
    assert (len(placed.sent), len(moving.sent)) == (1, 0)
    component.silence = ''
    answer(plan)
    assert (len(placed.sent), len(moving.sent)) == (2, 1)


def test_a_silent_component_publishes_nothing_and_others_do():
    source, one, other = np.ones(2), Sink(), Sink()
    silent, loud = (Component(Group(s, 0.0, FRESH, 'it', kernels(source))) for s in (one, other))
    silent.silence = 'not yet'
    answer(Plan([silent, loud]))
    assert (len(one.sent), len(other.sent)) == (0, 1)


def test_a_rate_is_kept_beside_what_has_none_and_what_is_left_out_is_counted():
    source, always, seldom = np.ones(2), Sink(), Sink()
    plan = Plan(
        [
            Component(
                Group(always, 0.0, FRESH, 'it', kernels(source)),
                Group(seldom, 10.0, FRESH, 'it', kernels(source)),
            )
        ]
    )
    for i in range(200):
        answer(plan, now=0.01 * i)
    assert len(always.sent) == 200
    assert len(seldom.sent) == pytest.approx(20, abs=1)
    assert seldom.skipped == 200 - len(seldom.sent)


def test_who_listens_is_looked_at_now_and_then():
    sink = Sink()
    plan = Plan([Component(Group(sink, 0.0, FRESH, 'it', kernels(np.ones(2))))])
    sink.listened = False
    answer(plan, now=0.0)
    sink.listened = True
    answer(plan, now=0.01)
    assert len(sink.sent) == 0
    answer(plan, now=0.1)
    assert len(sink.sent) == 1


def test_what_is_said_beside_numbers_is_of_the_state_whose_numbers_are_sent():
    source, numbers, sink = np.ones(2), np.zeros(2), Sink()
    made = []

    def filled():
        made.append(numbers[0] > 5.0)
        form = Vector()
        form.numbers[0][:] = -1.0  # what nothing writes to
        return KernelMessage(form, (step, Copy(numbers, form.numbers[0])))

    step = Step(doubled(), (source,), (numbers,))
    group = Group(sink, 0.0, FRESH, 'it', filled, variant=lambda: numbers[0] > 5.0)
    plan = Plan([Component(group)])
    for value in (1.0, 2.0, 3.0, 4.0, 1.0):
        source[:] = value
        answer(plan)
    np.testing.assert_array_equal(sink.sent, 2.0 * np.outer([1.0, 2.0, 3.0, 4.0, 1.0], [1, 1]))
    # Made anew when it says something else, and only then.
    assert made == [False, True, False]


def test_a_message_that_makes_its_kernel_has_the_flags_of_the_first_state():
    """Its variant changes when the kernel is made, after a state, and when it has run."""
    source, numbers, sink = np.full(2, 4.0), np.zeros(2), Sink()
    asked, made, flags = [], [], []

    def filled():
        asked.append(True)
        if len(asked) == 1:
            return None  # the kernel is still being compiled
        if not made:
            made.append(Step(doubled(), (source,), (numbers,)))
        flag = numbers[0] > 5.0
        form = Vector(1)
        form.packed = lambda: flags.append(flag)
        return KernelMessage(form, (made[0],))

    group = Group(sink, 0.0, FRESH, 'it', filled, variant=lambda: (bool(made), numbers[0] > 5.0))
    plan = Plan([Component(group)])
    answer(plan)
    assert not flags
    answer(plan)
    assert flags == [True]


def test_what_kernels_read_is_written_before_they_run_once_for_all_groups():
    source, sinks, written = np.zeros(2), (Sink(), Sink()), []

    def write():
        written.append(True)
        source[:] = len(written)

    groups = [Group(s, 0.0, FRESH, 'it', kernels(source), before=(write,)) for s in sinks]
    plan = Plan([Component(*groups)])
    answer(plan)
    answer(plan)
    assert len(written) == 2
    for sink in sinks:
        np.testing.assert_array_equal(sink.sent, [[2.0, 2.0], [4.0, 4.0]])


def test_what_cannot_be_written_silences_its_component_alone():
    sinks = Sink(), Sink()

    def broken():
        raise ZeroDivisionError('it happens')

    components = [
        Component(Group(sinks[0], 0.0, FRESH, 'it', kernels(np.ones(2)), before=(broken,))),
        Component(Group(sinks[1], 0.0, FRESH, 'it', kernels(np.ones(2)))),
    ]
    answer(Plan(components))
    assert [len(sink.sent) for sink in sinks] == [0, 1]
    assert [one.silence for one in components] == ['it happens', '']


def test_a_message_whose_kernel_is_not_ready_is_asked_for_again():
    source, sink, ready, asked = np.ones(2), Sink(), [], []

    def filled():
        asked.append(True)
        return kernels(source)() if ready else None

    plan = Plan([Component(Group(sink, 0.0, FRESH, 'it', filled))])
    answer(plan, now=0.0)
    answer(plan, now=0.001)
    assert not sink.sent
    assert len(asked) > 1  # who waits says so for each state
    ready.append(True)
    answer(plan, now=0.1)
    assert len(sink.sent) == 1
