# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages late, twice, not at all or of several publishers: which moment is answered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from patience import examples
from publishers import LEFT, RIGHT, START, taking_turns

from dynamics_ros.estimation.samples.clock_jumps import JUMP_NS, MIN_OLD_MESSAGES
from dynamics_ros.estimation.samples.history import DEPTH, History
from dynamics_ros.estimation.samples.moving_base import ALIGNED, BaseSample, MovingBase
from dynamics_ros.estimation.samples.timeline import Timeline
from dynamics_ros.estimation.samples.turns import MAX_MISSED

MS = 10**6
ALL = np.arange(4)
SLOPE, OFFSET = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.1, 0.2, 0.3, 0.4])


def truth(stamp: int) -> np.ndarray:
    """Quantities that are linear in time, so that interpolation is exact."""
    return OFFSET + SLOPE * (stamp - START) * 1e-9


def new_history(size):
    return History(np.zeros(size), np.arange(size))


def new_timeline() -> Timeline:
    return Timeline(new_history(4), MovingBase(lambda q, change: q + change))


def tell(timeline: Timeline, stamp: int, which: np.ndarray = ALL) -> int | None:
    """The moment that a message of true values completes; None where it completes none."""
    told = frozenset(which.tolist())
    timeline.due = False
    timeline.add(tuple(which), told, which, truth(stamp)[which], stamp)
    return timeline.moment if timeline.due else None


# --- samples of one quantity ---------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(-5, 35))
def test_values_are_those_of_the_newest_samples_whatever_their_order(stamps, time):
    history, newest, kept = new_history(1), -1, []
    for stamp in stamps:
        late = history.add(np.array([0]), np.array([float(stamp)]), stamp)
        assert (late is not None) == (stamp < newest)
        if stamp > newest:
            kept.append(stamp)
        newest = max(newest, stamp)
    known = kept[-DEPTH:]
    assert_allclose(history.at(time), np.clip(time, known[0], known[-1]), atol=1e-12)


def test_numbers_as_large_as_there_are_do_not_overflow_in_between():
    history = new_history(1)
    history.add(np.array([0]), np.array([-1.7e308]), 0)
    history.add(np.array([0]), np.array([1.7e308]), 2)
    with np.errstate(all='raise'):
        assert history.at(1).tolist() == [0.0]


# --- one publisher -------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 400), min_size=1, max_size=100))
def test_of_one_publisher_what_is_late_is_dropped_and_all_else_answered(offsets):
    timeline, newest, late = new_timeline(), -1, 0
    for offset in offsets:
        moment = tell(timeline, START + offset * MS)
        assert moment == (START + offset * MS if offset >= newest else None)
        late += offset < newest
        newest = max(newest, offset)
    assert timeline.dropped == late
    assert timeline.jumps.count == 0
    assert_allclose(timeline.history.at(timeline.moment), truth(START + newest * MS))


def test_one_message_of_long_ago_is_dropped_and_three_in_a_row_are_a_clock_set_back():
    timeline = new_timeline()
    tell(timeline, START)
    old = START - 2 * JUMP_NS
    for _ in range(5):
        for k in range(MIN_OLD_MESSAGES - 1):
            assert tell(timeline, old + k) is None
        assert tell(timeline, timeline.newest + MS) is not None
    newest = timeline.newest
    answers = [tell(timeline, old + k) for k in range(MIN_OLD_MESSAGES + 1)]
    assert answers == [None, None, old + 2, old + 3]
    assert timeline.jumps.count == 1
    assert timeline.jumps.last == (newest, old + 2)
    assert 'set back by 1.0' in str(timeline.jumps)


def test_a_clock_of_one_publisher_that_is_set_back_is_taken_for_that_publisher():
    """The other one goes on as it did; its answers do not go back."""
    timeline, before = new_timeline(), 0
    for k in range(100):
        back = 10 * JUMP_NS if k >= 50 else 0
        tell(timeline, START + k * MS - back, RIGHT)
        moment = tell(timeline, START + k * MS, LEFT)
        if k > 60:
            assert moment is not None and moment > before
        before = moment or before
    assert timeline.history.newest[RIGHT].tolist() == [START + 99 * MS - 10 * JUMP_NS] * 2
    assert timeline.jumps.count == 1


# --- two publishers ------------------------------------------------------------------------------


PERIODS = st.sampled_from([MS, 2 * MS, 10 * MS])


@examples(60)
# Of 3 ms one publisher ends three whole cycles before the other, which goes on without it then.
@given(PERIODS, st.integers(-2999, 2999), st.booleans())
def test_two_publishers_that_are_apart_make_one_state_a_cycle(period, micros, by_stamp):
    """Whether the stamps tell when they sampled, or one of the clocks is off and they do not."""
    shift, timeline, moments = micros * 1000, new_timeline(), []
    messages, _ = taking_turns(period, shift, 100, by_stamp)
    for stamp, which in messages:
        moment = tell(timeline, stamp, which)
        if moment is not None and stamp > START + 20 * period:
            assert_allclose(timeline.history.at(moment), truth(moment), atol=1e-12)
            moments.append(moment)
    steps = np.diff(moments)
    assert steps.min() > 0
    assert steps.max() <= period
    # No more than a cycle behind the newest, beside what the stamps are apart.
    assert timeline.newest - moments[-1] <= period + abs(shift)


@pytest.mark.parametrize('by_stamp', [True, False])
@pytest.mark.parametrize('shift', [0, 500, 1000, 1500, 2000, 3000])
@pytest.mark.parametrize('period', [MS, 2 * MS])
def test_of_lost_and_swapped_messages_every_whole_state_is_answered(period, shift, by_stamp):
    count, timeline, moments = 1500, new_timeline(), []
    messages, whole = taking_turns(period, 1000 * shift, count, by_stamp, chance=0.01)
    for stamp, which in messages:
        moment = tell(timeline, stamp, which)
        if moment is not None:
            moments.append(moment)
    late = sum(moment > START + 20 * period for moment in moments)
    assert np.diff([moment for moment in moments if moment > START + 20 * period]).min() > 0
    assert late >= whole - 30
    assert timeline.dropped > 0.01 * count
    assert timeline.jumps.count == 0


def test_who_becomes_silent_is_waited_for_through_a_few_messages_and_then_no_longer():
    timeline = new_timeline()
    for k in range(20):
        tell(timeline, START + k * MS, LEFT)
        last = START + k * MS
        tell(timeline, last, RIGHT)
    answers = [tell(timeline, last + k * MS, LEFT) for k in range(1, MAX_MISSED + 3)]
    assert answers == [None] * MAX_MISSED + [
        last + k * MS for k in (MAX_MISSED + 1, MAX_MISSED + 2)
    ]
    # And waited for again as soon as it speaks.
    back = last + (MAX_MISSED + 2) * MS
    tell(timeline, back, RIGHT)
    assert tell(timeline, back + MS, LEFT) is None
    assert tell(timeline, back + MS, RIGHT) == back + MS


# --- the base ------------------------------------------------------------------------------------


def moving_base(*stamps: int) -> MovingBase:
    """One that goes 2 m/s along x, without acceleration."""
    base = MovingBase(lambda q, change: q + change)
    for stamp in stamps:
        base.add(BaseSample(stamp, np.array([2e-9 * stamp]), np.array([2.0])))
    return base


@given(st.integers(0, 200))
def test_a_base_is_carried_to_the_moment_by_its_twist(millis):
    q, v = moving_base(0, 40 * MS, 100 * MS).at(millis * MS)
    assert_allclose(q, [2e-3 * millis], atol=1e-12)
    assert v.tolist() == [2.0]


def test_a_base_is_carried_no_further_than_its_odometry_can_be_believed():
    q, _ = moving_base(0).at(50 * ALIGNED)
    assert_allclose(q, [2e-9 * ALIGNED])


def test_a_twist_between_two_samples_is_interpolated():
    base = MovingBase(lambda q, change: q + change)
    base.add(BaseSample(0, np.zeros(1), np.array([1.0])))
    base.add(BaseSample(10 * MS, np.zeros(1), np.array([3.0])))
    assert base.at(5 * MS)[1].tolist() == [2.0]
    assert base.at(20 * MS)[1].tolist() == [3.0]
    assert base.at(-MS)[1].tolist() == [1.0]


def test_late_odometry_is_dropped_and_counted_until_it_goes_on_so():
    timeline = new_timeline()
    sample = BaseSample(START, np.zeros(1), np.zeros(1))
    assert timeline.add_base(sample, alone=False)
    assert not timeline.add_base(sample._replace(stamp=START - MS), alone=False)
    assert timeline.dropped == 1
    old = sample._replace(stamp=START - 2 * JUMP_NS)
    taken = [timeline.add_base(old, alone=False) for _ in range(MIN_OLD_MESSAGES)]
    assert taken == [False] * (MIN_OLD_MESSAGES - 1) + [True]
    assert timeline.base.stamp == old.stamp
