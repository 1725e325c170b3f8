# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples that are not plausible are refused, one at a time, and what lasts is believed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import SampleFilter

MILLISECOND = 10**6
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


def stream(count, noise=0.05, step=MILLISECOND):
    """A noisy arm that moves slowly."""
    rng = np.random.default_rng(0)
    for k in range(count):
        time = (k + 1) * step
        q = 0.3 * np.sin(time * 1e-9 + np.arange(SIZE))
        v = 0.3 * np.cos(time * 1e-9 + np.arange(SIZE)) + 1e-3 * rng.normal(size=SIZE)
        yield Sample(time, q, v, 10.0 * q + noise * rng.normal(size=SIZE))


def taken(filter, samples):
    """The stamps of what is taken, in ms, for each sample."""
    return [[one.time // MILLISECOND for one in filter.take(sample)] for sample in samples]


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
        result.append([one.time // MILLISECOND for one in filter.take(sample)])
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


def test_an_effort_that_the_motion_shows_is_believed(robot):
    filter = make(robot, consistent=lambda first, second: True)
    samples = list(stream(300))
    samples[200].effort[3] += 5.0
    assert taken(filter, samples)[200:204] == [[], [201], [202, 203], [204]]
    assert not filter.refused


def test_settings_out_of_range_are_refused(robot):
    with pytest.raises(InvalidArgumentError, match='max_gap'):
        make(robot, max_gap=0.0)
