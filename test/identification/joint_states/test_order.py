# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples whose stamps go back, repeat or are coarse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynamics_ros.identification import JointSamples, UnusableRecordingError
from dynamics_ros.identification.joint_states.clock import regular_stretches

NAMES = ('shoulder', 'elbow')
RATE = 100.0


def moved(seed=0, duration=10.0, begin=0.0):
    rng = np.random.default_rng(seed)
    t = begin + np.arange(0.0, duration, 1.0 / RATE)
    phases = rng.uniform(0.0, 6.0, 2)
    q = np.sin(1.3 * t[:, np.newaxis] + phases) + 1e-6 * rng.normal(size=(len(t), 2))
    return JointSamples('motion', NAMES, t, q, None, 5.0 + q + 0.1 * rng.normal(size=q.shape))


def joined(*parts):
    return replace(
        parts[0],
        time=np.concatenate([part.time for part in parts]),
        position=np.concatenate([part.position for part in parts]),
        effort=np.concatenate([part.effort for part in parts]),
    )


def roughness(samples):
    """Of all pieces: third differences of the positions."""
    return max(np.abs(np.diff(one.position, 3, axis=0)).max() for one in regular_stretches(samples))


def test_a_second_motion_in_the_same_file_is_another_piece():
    whole = joined(moved(0), moved(1, begin=0.003)).cleaned()
    assert len(whole) == 2000
    assert (np.diff(whole.time) > 0.0).all()
    assert len(regular_stretches(whole)) == 2
    assert roughness(whole) < 1e-4
    (note,) = whole.notes
    assert 'go back' in note and '2 pieces' in note


def test_late_and_reversed_samples_are_put_where_they_belong():
    one = moved()
    order = np.arange(len(one))
    order[50::97], order[51::97] = order[51::97].copy(), order[50::97].copy()
    for rows in (order, order[::-1]):
        put = one.rows(rows).cleaned()
        assert put.time == pytest.approx(one.time)
        assert put.position == pytest.approx(one.position)
        assert not put.notes


@pytest.mark.parametrize('other_stamps', [0.0, 0.003])
def test_two_motions_at_once_are_refused(other_stamps):
    whole = joined(moved(0), moved(1, begin=0.0))
    time = whole.time + np.repeat([0.0, other_stamps], 1000)
    order = np.argsort(time, kind='stable')
    with pytest.raises(UnusableRecordingError, match='to and fro'):
        replace(whole, time=time).rows(order).cleaned()


@pytest.mark.parametrize('step', [0.1, 1.0])
def test_coarse_stamps_are_spread(step):
    one = moved()
    whole = replace(one, time=step * np.floor((one.time + 1e-9) / step)).cleaned()
    assert len(whole) == len(one)
    assert whole.time == pytest.approx(one.time, abs=1e-6)
    assert 'coarse' in whole.notes[0]


def test_one_stamp_for_all_is_told():
    one = moved(begin=1.7e9)
    with pytest.raises(UnusableRecordingError, match='same stamp'):
        replace(one, time=one.time.astype(np.float32).astype(np.float64)).cleaned()
