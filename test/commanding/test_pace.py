# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pace of joint states, by a clock of the test."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dynamics_ros.commanding import pace
from dynamics_ros.commanding.pace import LONGEST_CYCLE, LOST, NOMINAL_CYCLE, Pace

MILLISECOND = 1_000_000


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    found = SimpleNamespace(now=100.0)
    monkeypatch.setattr(pace, 'time', SimpleNamespace(monotonic=lambda: found.now))
    return found


def answer(one: Pace, clock: SimpleNamespace, stamp: int) -> float:
    """The interval of a state that comes and is answered at once."""
    interval = one.interval(stamp)
    one.answered = one.sent = clock.now
    return interval


def test_intervals_are_those_of_even_stamps(clock):
    one = Pace()
    one.start(0)
    assert answer(one, clock, 0) == pytest.approx(NOMINAL_CYCLE)
    for k in range(1, 500):
        clock.now += 0.001
        assert answer(one, clock, k * MILLISECOND) == pytest.approx(0.001)
    assert one.cycle == pytest.approx(0.001, rel=0.01)


@pytest.mark.parametrize('gap', [0, -5 * MILLISECOND, 10**9])
def test_stamps_that_jump_are_no_interval(clock, gap):
    one = Pace()
    one.start(0)
    answer(one, clock, MILLISECOND)
    clock.now += 0.004
    assert answer(one, clock, MILLISECOND + gap) == pytest.approx(0.004)
    clock.now += 1.0
    assert answer(one, clock, MILLISECOND + gap) == LONGEST_CYCLE


def test_states_are_late_once_more_are_missing_than_may_be(clock):
    one = Pace()
    one.start(0)
    for k in range(200):
        clock.now += 0.001
        answer(one, clock, k * MILLISECOND)
    clock.now += 0.001 * (LOST - 0.5)
    assert not one.late
    clock.now += 0.001
    assert one.late
    assert one.missing == pytest.approx(0.001 * (LOST + 0.5))
