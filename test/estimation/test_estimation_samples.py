# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples that are late, lost, contradictory or not plausible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from patience import examples
from publishers import LEFT, RIGHT, START, taking_turns

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import SampleFilter
from dynamics_ros.estimation.samples.timeline import (
    ALIGNED,
    DEPTH,
    JUMP_NS,
    MAX_MISSED,
    MIN_OLD_MESSAGES,
    BaseSample,
    MovingBase,
    Timeline,
)

MS = 10**6
SIZE = 7


@dataclass
class Sample:
    """Of a moment, in order of the joints."""

    time: int
    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('xarm7'))


def make(robot, **options):
    return SampleFilter(robot, velocity_noise=1e-3, effort_noise=0.05, **options)


def stream(count, noise=0.05, step=MS):
    """A noisy arm that moves slowly."""
    rng = np.random.default_rng(0)
    for k in range(count):
        time = (k + 1) * step
        q = 0.3 * np.sin(time * 1e-9 + np.arange(SIZE))
        v = 0.3 * np.cos(time * 1e-9 + np.arange(SIZE)) + 1e-3 * rng.normal(size=SIZE)
        yield Sample(time, q, v, 10.0 * q + noise * rng.normal(size=SIZE))


def taken(filter, samples):
    """The stamps of what is taken, in ms, for each sample."""
    return [[one.time // MS for one in filter.take(sample)] for sample in samples]


def test_what_is_usual_is_taken_at_once(robot):
    assert taken(make(robot), stream(2000)) == [[k + 1] for k in range(2000)]


@pytest.mark.parametrize('quantity', ['q', 'v', 'effort'])
@pytest.mark.parametrize('size', [2.0, -5.0, 900.0])
def test_a_single_outlier_is_refused_and_named(robot, quantity, size):
    filter, samples = make(robot), list(stream(300))
    getattr(samples[200], quantity)[3] += size
    result = taken(filter, samples)
    assert result[199:203] == [[200], [], [202], [203]]
    (reason,) = filter.refused
    kind = {'q': 'position', 'v': 'velocity', 'effort': 'effort'}[quantity]
    assert reason.startswith(f'{kind} of {robot.joint_names[3]}')
    assert filter.refused[reason] == 1
    assert robot.joint_names[3] in filter.recent(samples[-1].time)
    assert filter.recent(samples[-1].time + 3 * 10**9) == ''


@pytest.mark.parametrize('quantity', ['q', 'v', 'effort'])
def test_a_step_that_lasts_is_taken_one_sample_late(robot, quantity):
    filter, samples = make(robot), list(stream(300))
    for sample in samples[200:]:
        getattr(sample, quantity)[3] += 2.0
    result = taken(filter, samples)
    assert result[199:204] == [[200], [], [201, 202], [203], [204]]
    assert not filter.refused


def test_an_outlier_on_the_way_of_a_step_delays_it_by_no_more_than_one_sample(robot):
    filter, samples = make(robot), list(stream(300))
    samples[199].effort[1] -= 4.0
    for sample in samples[200:]:
        sample.effort[3] += 5.0
    assert taken(filter, samples)[199:203] == [[], [], [201, 202], [203]]


@pytest.mark.parametrize('quantity', ['q', 'v', 'effort'])
@pytest.mark.parametrize('value', [1e308, -1e308, 1e9])
def test_what_is_beyond_all_bounds_is_never_taken_however_long_it_lasts(robot, quantity, value):
    filter, samples = make(robot), list(stream(300))
    for sample in samples[200:210]:
        getattr(sample, quantity)[5] = value
    result = []
    for k, sample in enumerate(samples):
        result.append([one.time // MS for one in filter.take(sample)])
        # A single one is passed over; of more there is something to say.
        assert bool(filter.problem) == (201 <= k < 210)
        assert not filter.problem or robot.joint_names[5] in filter.problem
    assert result[199] == [200]
    assert result[200:210] == [[]] * 10
    assert result[210:212] == [[211], [212]]
    assert sum(filter.refused.values()) == 10


@pytest.mark.parametrize('quantity', ['q', 'v'])
def test_an_angle_wrapped_at_half_a_turn_is_no_outlier(robot, quantity):
    filter, samples = make(robot), list(stream(400))
    for k, sample in enumerate(samples):
        if k > 200 and k % 3 == 0:
            getattr(sample, quantity)[0] -= 2.0 * np.pi
    result = taken(filter, samples)
    assert (result == [[k + 1] for k in range(400)]) == (quantity == 'q')


def test_a_joint_that_a_message_does_not_tell_of_decides_nothing(robot):
    """Two publishers by turns: the outlier of one stands until its next message."""
    filter, samples = make(robot), list(stream(300))
    for k in range(1, 300):
        silent = slice(0, 4) if k % 2 else slice(4, 7)
        for quantity in ('q', 'v', 'effort'):
            getattr(samples[k], quantity)[silent] = getattr(samples[k - 1], quantity)[silent]
        if k == 200:
            samples[k].effort[1] += 6.0
    for k, sample in enumerate(samples):
        found = filter.take(sample, merged=k > 0)
        if k in (200, 201):
            assert not found
    assert list(filter.refused) == [f'effort of {robot.joint_names[1]} departs from its neighbours']


def test_settings_out_of_range_are_refused(robot):
    with pytest.raises(InvalidArgumentError, match='max_gap'):
        make(robot, max_gap=0.0)


ALL = np.arange(4)
SLOPE, OFFSET = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.1, 0.2, 0.3, 0.4])


def truth(stamp: int) -> np.ndarray:
    """Quantities that are linear in time, so that interpolation is exact."""
    return OFFSET + SLOPE * (stamp - START) * 1e-9


def new_timeline(size: int = 4) -> Timeline:
    return Timeline(np.zeros(size), np.arange(size), MovingBase(lambda q, change: q + change))


def tell(timeline: Timeline, stamp: int, which: np.ndarray = ALL) -> int | None:
    """The moment that a message of true values completes; None where it completes none."""
    timeline.due = False
    timeline.add(which, truth(stamp)[which], stamp)
    return timeline.moment if timeline.due else None


# --- samples of one quantity ---------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(-5, 35))
def test_values_are_those_of_the_newest_samples_whatever_their_order(stamps, time):
    timeline, newest, kept, late = new_timeline(1), -1, [], 0
    for stamp in stamps:
        timeline.add(np.array([0]), np.array([float(stamp)]), stamp)
        late += stamp < newest
        assert timeline.dropped == late
        if stamp > newest:
            kept.append(stamp)
        newest = max(newest, stamp)
    known = kept[-DEPTH:]
    assert_allclose(timeline.at(time), np.clip(time, known[0], known[-1]), atol=1e-12)


def test_numbers_as_large_as_there_are_do_not_overflow_in_between():
    timeline = new_timeline(1)
    timeline.add(np.array([0]), np.array([-1.7e308]), 0)
    timeline.add(np.array([0]), np.array([1.7e308]), 2)
    with np.errstate(all='raise'):
        assert timeline.at(1).tolist() == [0.0]


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
    assert timeline.jumps == 0
    assert_allclose(timeline.at(timeline.moment), truth(START + newest * MS))


@pytest.mark.parametrize('forgotten', [[], [0]])
def test_one_message_of_long_ago_is_dropped_and_three_in_a_row_are_a_clock_set_back(forgotten):
    timeline = new_timeline()
    tell(timeline, START)
    old = START - 2 * JUMP_NS
    for _ in range(5):
        for k in range(MIN_OLD_MESSAGES - 1):
            assert tell(timeline, old + k) is None
        assert tell(timeline, timeline.newest + MS) is not None
    newest = timeline.newest
    # What was forgotten takes any stamp, and the others are old all the same.
    timeline.forget(np.array(forgotten, dtype=np.intp))
    answers = [tell(timeline, old + k) for k in range(MIN_OLD_MESSAGES + 1)]
    assert answers == [None, None, old + 2, old + 3]
    assert timeline.jumps == 1
    assert timeline.last_jump == (newest, old + 2)
    assert 'set back by 1.0' in timeline.describe_jumps()


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
    assert timeline.stamps[RIGHT].tolist() == [START + 99 * MS - 10 * JUMP_NS] * 2
    assert timeline.jumps == 1


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
            assert_allclose(timeline.at(moment), truth(moment), atol=1e-12)
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
    assert timeline.jumps == 0


def test_states_after_a_pause_of_one_publisher_mix_no_times():
    timeline = new_timeline()
    for k in range(80):
        if not 40 <= k < 52:
            tell(timeline, START + k * 10 * MS, LEFT)
        moment = tell(timeline, START + (10 * k + 4) * MS, RIGHT)
        if k >= 53:
            assert_allclose(timeline.at(moment), truth(moment), atol=1e-12)


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


def test_a_publisher_whose_values_are_partly_unknown_is_still_that_publisher():
    """One of four efforts is no number now and then, in ever other patterns."""
    size, rng = 12, np.random.default_rng(3)
    timeline = Timeline(np.zeros(size), np.arange(size), MovingBase(lambda q, change: q + change))
    left, right, moments = np.arange(8), np.arange(8, 12), []
    for k in range(400):
        for which, stamp in ((left, START + k * MS), (right, START + k * MS + MS // 2)):
            timeline.due = False
            known = which[rng.random(len(which)) > 0.3] if which is left else which
            known = np.union1d(known, which[:1])
            timeline.forget(np.setdiff1d(which, known))
            values = 1e-9 * (stamp - START) * np.ones(len(known))
            timeline.add(known, values, stamp, which)
            if timeline.due and k > 20:
                moments.append(timeline.moment)
                seen = timeline.at(timeline.moment)[[0, 8]]
                assert_allclose(seen, 1e-9 * (timeline.moment - START), atol=1e-12)
    assert len(moments) > 750
    assert set(np.diff(moments)) == {MS // 2}


# --- the base ------------------------------------------------------------------------------------


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


def test_a_base_is_carried_no_further_than_its_odometry_can_be_believed():
    base = MovingBase(lambda q, change: q + change)
    base.add(BaseSample(0, np.zeros(1), np.array([2.0])))
    assert_allclose(base.at(50 * ALIGNED)[0], [2e-9 * ALIGNED])


def test_a_twist_between_two_samples_is_interpolated():
    base = MovingBase(lambda q, change: q + change)
    base.add(BaseSample(0, np.zeros(1), np.array([1.0])))
    base.add(BaseSample(10 * MS, np.zeros(1), np.array([3.0])))
    assert base.at(5 * MS)[1].tolist() == [2.0]
    assert base.at(20 * MS)[1].tolist() == [3.0]
    assert base.at(-MS)[1].tolist() == [1.0]
