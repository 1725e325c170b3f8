# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plans: what is computed together, what one failure means for the others, which rates are kept."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Kernel, Step, trace
from dynamics_ros.nodes.outputs import FRESH, VELOCITY, Plan, Publication, publish
from dynamics_ros.nodes.reporting import RateLimit
from dynamics_ros.wire.templates import Evaluate, Message, Template
from dynamics_ros_msgs.msg import ContactState

STAMP = b'12345678'


class Sink:
    """An output without a middleware."""

    def __init__(self, topic='~/numbers', kind=Float64MultiArray, fails=False):
        self.sent, self.skipped, self.fails, self.listened = [], 0, fails, True
        self.topic, self.kind, self.published = topic, kind, 0
        self._limit = RateLimit()

    def has_subscribers(self, now):
        return self.listened

    def passes(self, now, rate):
        passes = self._limit.passes(now, rate)
        self.skipped += not passes
        return passes

    def publish_object(self, message):
        if self.fails:
            raise KeyError('cannot be sent')
        if isinstance(message, bytes):
            message = deserialize_message(message, self.kind)
        self.sent.append(message.data if self.kind is Float64MultiArray else message)

    publish_bytes = publish_object


class Component:
    """Declares its publications."""

    def __init__(self, *publications, write_inputs=lambda: None):
        self.unavailable_reason, self._publications = '', publications
        self.write_inputs = write_inputs

    def publications(self):
        return self._publications

    def failed(self, error):
        self.unavailable_reason = str(error)


def doubled():
    return Kernel(trace(lambda a: [2.0 * x for x in a], {'a': 2}, 'doubled', 'b'))


def numbers(sink, source, needs=FRESH, rate=0.0):
    """A message of two numbers: those of ``source``, doubled."""
    fields = {'data': Evaluate(doubled(), (source,))}
    return publish(sink, zeros, fields, needs, rate)


def zeros():
    return Float64MultiArray(data=[0.0, 0.0])


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
    filled = Template(zeros(), ('data',))
    component = Component(
        numbers(sink, source),
        Publication(sink, lambda: filled, FRESH),
        Publication(sink, lambda: Float64MultiArray(data=[7.0, 8.0]), FRESH),
        Publication(sink, lambda: None, FRESH),
    )
    batches = Plan([component]).compute(state(), 0.0)
    assert sink.sent == []
    for batch in batches:
        batch.publish(STAMP)
    np.testing.assert_array_equal(sink.sent, [[2.0, 4.0], [0.0, 0.0], [7.0, 8.0]])


def test_a_message_that_cannot_be_sent_keeps_back_no_other():
    source, good = np.array([1.0, 2.0]), Sink()
    outputs = [numbers(one, source) for one in (Sink(fails=True), good)]
    with pytest.raises(KeyError):
        answer(Plan([Component(*outputs)]))
    assert len(good.sent) == 1


def test_what_one_component_cannot_compute_keeps_back_no_other():
    sinks = Sink(), Sink(), Sink()
    bad, good = np.array([np.nan, 2.0]), np.array([1.0, 2.0])

    def broken():
        raise ZeroDivisionError('it happens')

    components = [
        Component(numbers(sinks[0], bad)),
        Component(numbers(sinks[1], good)),
        Component(Publication(sinks[2], broken, FRESH)),
    ]
    answer(Plan(components))
    assert [len(sink.sent) for sink in sinks] == [0, 1, 0]
    assert 'NaN' in components[0].unavailable_reason or 'finite' in components[0].unavailable_reason
    assert not components[1].unavailable_reason
    assert components[2].unavailable_reason == 'it happens'


def test_an_output_whose_needs_are_not_met_says_which():
    source, placed, moving = np.ones(2), Sink('~/tool/pose'), Sink('~/tool/twist')
    component = Component(numbers(placed, source), numbers(moving, source, needs=FRESH | VELOCITY))
    plan = Plan([component])
    answer(plan, state(velocity_missing=('elbow',)))
    assert component.unavailable_reason == 'no twist: no velocity of elbow'
    assert (len(placed.sent), len(moving.sent)) == (1, 0)
    component.unavailable_reason = ''
    answer(plan, state(stale=('elbow',), velocity_missing=('elbow',)))
    assert component.unavailable_reason == 'no news for longer than joint_timeout of: elbow'
    assert (len(placed.sent), len(moving.sent)) == (1, 0)
    component.unavailable_reason = ''
    answer(plan)
    assert (len(placed.sent), len(moving.sent)) == (2, 1)


def test_a_silent_component_publishes_nothing_and_others_do():
    source, one, other = np.ones(2), Sink(), Sink()
    silent, loud = (Component(numbers(s, source)) for s in (one, other))
    silent.unavailable_reason = 'not yet'
    answer(Plan([silent, loud]))
    assert (len(one.sent), len(other.sent)) == (0, 1)


def test_a_rate_is_kept_beside_what_has_none_and_what_is_left_out_is_counted():
    source, always, seldom = np.ones(2), Sink(), Sink()
    plan = Plan([Component(numbers(always, source), numbers(seldom, source, rate=10.0))])
    for i in range(200):
        answer(plan, now=0.01 * i)
    assert len(always.sent) == 200
    assert len(seldom.sent) == pytest.approx(20, abs=1)
    assert seldom.skipped == 200 - len(seldom.sent)


def test_who_listens_is_looked_at_now_and_then():
    sink = Sink()
    plan = Plan([Component(numbers(sink, np.ones(2)))])
    sink.listened = False
    answer(plan, now=0.0)
    sink.listened = True
    answer(plan, now=0.01)
    assert len(sink.sent) == 0
    answer(plan, now=0.1)
    assert len(sink.sent) == 1


def test_flags_and_enums_are_written_in_place_and_a_message_is_made_anew_for_names_only():
    """Flags are of the state whose numbers are sent, also when a kernel computes them."""
    source, computed, made = np.ones(2), np.zeros(2), []
    code, names, sink = np.zeros(1), ['first'], Sink(kind=ContactState)
    step = Step(doubled(), (source,), (computed,))

    def prototype():
        made.append(names[0])
        zero = [0.0, 0.0]
        return ContactState(link=names[0], joint_names=['a', 'b'], external_torques=zero)

    fields = {
        'state': code,
        'point_known': computed[:1],
        'collision_latched': computed[1:],
        'external_torques': [computed[1:], computed[:1]],
    }
    message = Message(prototype, fields, (step,))
    component = Component(Publication(sink, message, FRESH))

    def write_inputs():
        if names[0] != made[-1]:
            message.renew()

    component.write_inputs = write_inputs
    plan = Plan([component])
    for i, flags in enumerate([(0.0, 0.5), (0.5, 0.0), (0.5, 0.5), (0.0, 0.0)]):
        source[:], code[:] = flags, i % 3
        names[0] = 'first' if i < 2 else 'second'
        answer(plan)
        told = sink.sent[-1]
        assert (told.point_known, told.collision_latched) == tuple(map(bool, flags))
        assert told.external_torques.tolist() == [2.0 * flags[1], 2.0 * flags[0]]
        assert (told.state, told.link) == (i % 3, names[0])
    assert made == ['first', 'second']


def test_inputs_are_written_before_the_kernels_run_once_for_all_outputs():
    source, sinks, written = np.zeros(2), (Sink(), Sink()), []

    def write():
        written.append(True)
        source[:] = len(written)

    plan = Plan([Component(*(numbers(s, source) for s in sinks), write_inputs=write)])
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
        Component(numbers(sinks[0], np.ones(2)), write_inputs=broken),
        Component(numbers(sinks[1], np.ones(2))),
    ]
    answer(Plan(components))
    assert [len(sink.sent) for sink in sinks] == [0, 1]
    assert [one.unavailable_reason for one in components] == ['it happens', '']
