# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which of the joint states that wait are answered, by a simulated queue and clock."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState

from dynamics_ros.estimation.samples.backlog import MAX_ALLOWANCE, MIN_ALLOWANCE
from dynamics_ros.nodes import inputs
from dynamics_ros.nodes.inputs import JOINT_STATE_QOS, MAX_MERGED, JointStateInput

pytestmark = pytest.mark.ros

PERIOD = 0.001
USUAL = 0.15e-3
"""Seconds that an answer of all three nodes takes."""

MERGE = 5e-6
"""Seconds that it takes to merge a state without answering it."""


class Simulated:
    """A node of which joint states arrive at given times, and take so long to be answered.

    Attributes:
        answered: arrival and end of the answer of each message that was answered [s], in order.
    """

    def __init__(self, arrivals, answer, monkeypatch, merge=MERGE):
        """Prepare it.

        Args:
            arrivals: s, ascending.
            answer: seconds that an answer takes, told when it begins.
            monkeypatch: puts the clock in place.
            merge: seconds that it takes to take a message in without an answer.
        """
        self._now = 100.0
        self._to_come = deque(100.0 + np.asarray(arrivals))
        self._waiting = deque(maxlen=JOINT_STATE_QOS.depth)
        self._answer, self._merge = answer, merge
        self.answered = []
        clock = SimpleNamespace(monotonic=lambda: self._now)
        monkeypatch.setattr(inputs, 'time', clock)
        self.input = JointStateInput(self, self._handle, None)
        self.input._read = lambda message: message

    # --- what the input asks of a node and of its subscription ------------------------------------

    msg_type, raw, qos_profile = JointState, True, JOINT_STATE_QOS

    def create_subscription(self, *_, **__):
        return self

    @property
    def handle(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def take_message(self, *_):
        self._arrive()
        return (self._waiting.popleft(), {}) if self._waiting else None

    # --- time -------------------------------------------------------------------------------------

    def _arrive(self):
        while self._to_come and self._to_come[0] <= self._now:
            self._waiting.append(self._to_come.popleft())

    def _handle(self, arrival, answer):
        self._now += self._answer(self._now - 100.0) if answer else self._merge
        if answer:
            self.answered.append((arrival - 100.0, self._now - 100.0))

    def run(self, between=0.0):
        """Spin until all that has arrived has been handed over; what else is done takes time too.

        Args:
            between: s after each message.
        """
        while self._waiting or self._to_come:
            if not self._waiting:
                self._now = max(self._now, self._to_come[0])
            self._now += 5e-6  # of the executor
            self._arrive()
            self.input._on_message(self._waiting.popleft())
            self._now += between
            self._arrive()

    @property
    def lags(self):
        """Seconds from the arrival of each answered message to the end of its answer."""
        return np.array([end - arrival for arrival, end in self.answered])


def steady(seconds, period=PERIOD, begin=0.0):
    return begin + np.arange(round(seconds / period)) * period


def paused(arrivals, begin, seconds):
    """Where nothing arrives for a while, and then at once what should have."""
    return np.where((arrivals >= begin) & (arrivals < begin + seconds), begin + seconds, arrivals)


@pytest.mark.parametrize('pause', [0.1, 0.3, 0.5])
def test_all_that_a_pause_leaves_behind_is_answered(pause, monkeypatch):
    arrivals = paused(steady(3.0), 1.0, pause)
    node = Simulated(arrivals, lambda now: USUAL, monkeypatch)
    node.run()
    assert len(node.answered) == len(arrivals)
    assert node.input.superseded == 0
    # Caught up with soon: the last answers come at once again.
    late = [end for arrival, end in node.answered if end - arrival > 2 * USUAL]
    assert max(late) < 1.0 + pause + MAX_ALLOWANCE


def test_a_pause_in_the_middle_of_an_answer_is_not_taken_for_its_usual_time(monkeypatch):
    slept = []

    def answer(now):
        if now >= 1.0 and not slept:
            slept.append(now)
            return USUAL + 0.3
        return USUAL

    node = Simulated(steady(3.0), answer, monkeypatch)
    node.run()
    assert slept
    assert node.input.superseded == 0


def test_a_pause_soon_after_another_is_answered_as_well(monkeypatch):
    arrivals = paused(paused(steady(3.0), 1.0, 0.3), 1.6, 0.3)
    node = Simulated(arrivals, lambda now: USUAL, monkeypatch)
    node.run()
    assert node.input.superseded == 0


@pytest.mark.parametrize('answer', [1.3e-3, 3e-3, 12e-3])
def test_a_node_that_is_too_slow_soon_answers_only_the_newest(answer, monkeypatch):
    arrivals = steady(10.0)
    node = Simulated(arrivals, lambda now: answer, monkeypatch)
    node.run()
    assert len(node.answered) + node.input.superseded == len(arrivals)
    # It answers all the time, and is late by the allowance at first, and then by a moment.
    assert len(node.answered) * answer > 0.9 * 10.0
    assert node.lags.max() < MAX_ALLOWANCE + 2 * answer
    settled = node.lags[len(node.lags) // 4 :]
    assert settled.max() < 3 * (MIN_ALLOWANCE + answer)
    order = [arrival for arrival, _ in node.answered]
    assert order == sorted(order)
    assert order[-1] == pytest.approx(arrivals[-1])


def test_a_node_that_is_too_slow_even_to_merge_all_is_late_by_a_hundred_merges(monkeypatch):
    arrivals = steady(10.0, 0.2e-3)
    node = Simulated(arrivals, lambda now: 3e-3, monkeypatch, merge=0.4e-3)
    node.run()
    settled = node.lags[len(node.lags) // 4 :]
    # Once for the older ones of those that wait, once for the newer.
    assert settled.max() < 2 * MAX_MERGED * 0.4e-3
    assert node.answered[-1][0] == pytest.approx(arrivals[-1])


def test_a_slow_node_answers_the_newest_right_after_a_pause(monkeypatch):
    arrivals = paused(steady(3.0), 1.0, 0.5)
    node = Simulated(arrivals, lambda now: 0.8 * PERIOD, monkeypatch)
    node.run()
    # It would have been late for seconds.
    assert node.input.superseded > 400
    after = [end - arrival for arrival, end in node.answered if arrival > 1.6]
    assert max(after) < 2 * MIN_ALLOWANCE


def test_a_node_that_is_busy_but_quick_enough_answers_all(monkeypatch):
    chance = np.random.default_rng(1)
    arrivals = np.sort(steady(3.0, 0.2e-3) + chance.exponential(1e-3, 15_000))
    node = Simulated(arrivals, lambda now: chance.uniform(0.14e-3, 0.2e-3), monkeypatch)
    node.run()
    assert node.input.superseded == 0


def test_what_else_a_node_does_between_messages_does_not_hide_that_others_wait(monkeypatch):
    arrivals = steady(5.0)
    node = Simulated(arrivals, lambda now: 0.9e-3, monkeypatch)
    # As with services that are called all the time.
    node.run(between=0.8e-3)
    assert len(node.answered) + node.input.superseded == len(arrivals)
    assert node.input.superseded > 0
    assert node.lags[len(node.lags) // 4 :].max() < 0.1


def test_an_allowance_that_is_used_up_comes_back(monkeypatch):
    # Too slow for two seconds, then quick, then a pause.
    arrivals = paused(steady(5.0), 4.0, 0.3)
    node = Simulated(arrivals, lambda now: 3e-3 if now < 2.0 else USUAL, monkeypatch)
    node.run()
    assert node.input.superseded > 1000
    assert sum(arrival >= 4.0 for arrival, _ in node.answered) == np.sum(arrivals >= 4.0)


@pytest.mark.parametrize(('answer', 'most'), [(USUAL, 5), (MAX_ALLOWANCE, 2)])
def test_who_cannot_return_to_the_executor_takes_what_waits_as_others_do(answer, most, monkeypatch):
    node = Simulated(steady(0.1), lambda _: answer, monkeypatch)
    node.run()
    count, passed_over = len(node.answered), node.input.superseded
    node._waiting.extend([node._now] * 5)
    node.input.process_waiting()
    assert len(node.answered) == count + most
    assert node.input.superseded == passed_over + 5 - most
    node.input.process_waiting()
    assert len(node.answered) == count + most
