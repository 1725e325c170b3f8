# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Order of samples with late stamps, clock jumps or merged recordings.

A sample with an earlier stamp than its predecessor was late, and is sorted in. If stamps go back
and stay back, a new piece begins: a bag that was played in a loop, a second recording in the same
file, or a clock that was set. Sorting by time would interleave such pieces, so they are placed one
after another. Stamps that many samples share are coarse, or arrival times of bursts; their samples
are spread evenly in time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_EARLIER_SAMPLES = 5
"""Number of consecutive earlier samples from which a new piece begins."""

PAUSE = 2.0
"""Time between pieces that would overlap, longer than any interpolated gap [s]."""

COARSE_SHARE = 0.05
"""Share of samples with a repeated stamp and other values from which stamps count as coarse."""

MAX_STEP_RATIO = 1.5
"""Largest step between samples of one stamp, over the usual step."""

MIXED_RATIO, LAGS = 3.0, 4
"""Ratio of the distance to the next sample to the distance to the nearest of the following ones,
from which two motions are interleaved; number of samples that are compared."""


MIN_RANGE = 0.01
"""Least range of a joint for this comparison [rad or m]."""


def in_order(time: Array, values: Array) -> tuple[NDArray[np.int64], Array, str]:
    """Order of samples, without repeated ones, and their corrected times.

    Args:
        time: (n) stamps in the order of the file, finite [s].
        values: (n, ...) sampled values, which distinguish repeated samples from coarse stamps.

    Returns:
        Indices (k), strictly increasing times (k), and a finding for the user, or ''.
    """
    if len(time) < 2 or (np.diff(time) > 0.0).all():
        return np.arange(len(time)), time, ''
    pieces = _pieces(time)
    texts = []
    if len(pieces) > 1:
        time, pieces, repeated = _one_after_another(time, values, pieces)
        read = [f'{len(pieces)} pieces are read one after the other'] if len(pieces) > 1 else []
        if repeated:
            read.append(f'{repeated} samples that repeat earlier ones are left out')
        texts.append(
            'stamps go back in the middle, as those of a bag that was looped or merged, or of a '
            f'clock that was set: {", and ".join(read)}'
        )
    order = np.concatenate([piece[np.argsort(time[piece], kind='stable')] for piece in pieces])
    order = order[np.argsort(time[order], kind='stable')]
    order, time, shared = _spread_shared_stamps(order, time[order], values)
    if shared:
        texts.append(
            f'{100.0 * shared:.0f} % of the samples have the stamp of the one before: stamps are '
            'coarse, and samples are taken to be evenly apart'
        )
    return order, time, '; '.join(texts)


def mixed(values: Array) -> bool:
    """Whether positions (n, joints) alternate between two motions."""
    if len(values) < 10 * LAGS:
        return False
    span = np.ptp(values, axis=0)
    moving = values[:, span > MIN_RANGE] / span[span > MIN_RANGE]
    count = len(moving) - LAGS
    apart = [
        np.abs(moving[lag : lag + count] - moving[:count]).sum(axis=1) for lag in range(1, LAGS + 1)
    ]
    return bool(np.median(apart[0]) > MIXED_RATIO * np.median(np.min(apart[1:], axis=0)))


def _pieces(time: Array) -> list[NDArray[np.int64]]:
    """Row indices of each piece with continuing stamps."""
    rows = np.arange(len(time))
    if np.median(np.diff(time)) < 0.0:
        # A table that begins with the newest sample.
        return [rows]
    later = np.full(len(time), -np.inf)
    for ahead in range(MIN_EARLIER_SAMPLES):
        later[1:] = np.maximum(later[1:], time[np.minimum(rows[1:] + ahead, len(time) - 1)])
    begins = 1 + np.flatnonzero(later[1:] < time[:-1])
    return [piece for piece in np.split(rows, begins) if len(piece)]


def _one_after_another(
    time: Array, values: Array, pieces: list[NDArray[np.int64]]
) -> tuple[Array, list[NDArray[np.int64]], int]:
    """Times of pieces one after another, pieces without repeated samples, number of these."""
    whole = np.column_stack([time, values.reshape(len(time), -1)])
    _, first = np.unique(whole, axis=0, return_index=True)
    fresh = np.zeros(len(time), dtype=bool)
    fresh[first] = True
    repeated = int((~fresh).sum())
    pieces = [piece[fresh[piece]] for piece in pieces]
    pieces = sorted((piece for piece in pieces if len(piece)), key=lambda piece: time[piece].min())
    time, end = time.copy(), -np.inf
    for piece in pieces:
        begin = time[piece].min()
        if begin <= end:
            time[piece] += end + PAUSE - begin
        end = time[piece].max()
    return time, pieces, repeated


def _spread_shared_stamps(
    order: NDArray[np.int64], time: Array, values: Array
) -> tuple[NDArray[np.int64], Array, float]:
    """Order and times with samples of shared stamps spread evenly, and the share of these."""
    same = np.diff(time, prepend=-np.inf) == 0.0
    if not same.any():
        return order, time, 0.0
    flat = values.reshape(len(values), -1)[order]
    again = same & (flat == np.roll(flat, 1, axis=0)).all(axis=1)
    order, time = order[~again], time[~again]
    same = np.diff(time, prepend=-np.inf) == 0.0
    if same.mean() <= COARSE_SHARE or not np.ptp(time):
        return order[~same], time[~same], 0.0
    begins = np.flatnonzero(~same)
    sizes = np.diff(np.append(begins, len(time)))
    steps = np.diff(time[begins]) / sizes[:-1]
    usual = float(np.median(np.repeat(steps, sizes[:-1])))
    steps = np.minimum(np.append(steps, usual), MAX_STEP_RATIO * usual)
    within = np.arange(len(time)) - np.repeat(begins, sizes)
    return order, time + within * np.repeat(steps, sizes), float(same.mean())
