# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The order of samples: late ones, clocks that were set back, recordings that follow each other.

A sample that is stamped before the one in front of it was late: it goes where it belongs. Where
stamps go back and stay back, something begins anew: a bag that was played in a loop, a second
recording in the same file, a clock that was set. Sorted by time, such pieces would be mixed sample
by sample; they are kept apart instead. Stamps that many samples share are coarse, or times of
arrival of bursts, and samples are taken to lie evenly between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

IN_A_ROW = 5
"""Samples that are all earlier than the one before them, from which on a piece begins anew."""

PAUSE = 2.0
"""s that are put between pieces whose times overlap, more than any gap that is interpolated."""

COARSE = 0.05
"""Share of samples that repeat a stamp with other values, from which on stamps are coarse."""

LONGER = 1.5
"""Steps between samples of one stamp, over the usual ones, at most."""

FAR, LAGS = 3.0, 4
"""Samples are of two motions where the next one is so many times farther away than the nearest of
the few behind it."""


LEAST = 0.01
"""rad or m that a joint moves at least, to be seen to jump."""


def in_order(time: Array, values: Array) -> tuple[NDArray[np.int64], Array, str]:
    """Which samples to take, in which order, and at which times.

    Args:
        time: (n) stamps in the order of the file, finite [s].
        values: (n, ...) what was sampled, to tell repeated samples from those with coarse stamps.

    Returns:
        Indices (k), times (k) that increase strictly, and what a user should know of it, or ''.
    """
    if len(time) < 2 or (np.diff(time) > 0.0).all():
        return np.arange(len(time)), time, ''
    pieces = _pieces(time)
    told = []
    if len(pieces) > 1:
        time, pieces, repeated = _apart(time, values, pieces)
        read = [f'{len(pieces)} pieces are read one after the other'] if len(pieces) > 1 else []
        if repeated:
            read.append(f'{repeated} samples that repeat earlier ones are left out')
        told.append(
            'stamps go back in the middle, as those of a bag that was looped or merged, or of a '
            f'clock that was set: {", and ".join(read)}'
        )
    order = np.concatenate([piece[np.argsort(time[piece], kind='stable')] for piece in pieces])
    order = order[np.argsort(time[order], kind='stable')]
    order, time, shared = _spread(order, time[order], values)
    if shared:
        told.append(
            f'{100.0 * shared:.0f} % of the samples have the stamp of the one before: stamps are '
            'coarse, and samples are taken to be evenly apart'
        )
    return order, time, '; '.join(told)


def mixed(values: Array) -> bool:
    """Whether positions (n, joints) jump to and fro between motions from sample to sample."""
    if len(values) < 10 * LAGS:
        return False
    span = np.ptp(values, axis=0)
    moving = values[:, span > LEAST] / span[span > LEAST]
    count = len(moving) - LAGS
    apart = [
        np.abs(moving[lag : lag + count] - moving[:count]).sum(axis=1) for lag in range(1, LAGS + 1)
    ]
    return bool(np.median(apart[0]) > FAR * np.median(np.min(apart[1:], axis=0)))


def _pieces(time: Array) -> list[NDArray[np.int64]]:
    """Rows of each piece whose stamps go on."""
    rows = np.arange(len(time))
    if np.median(np.diff(time)) < 0.0:
        # A table that begins with what is newest.
        return [rows]
    later = np.full(len(time), -np.inf)
    for ahead in range(IN_A_ROW):
        later[1:] = np.maximum(later[1:], time[np.minimum(rows[1:] + ahead, len(time) - 1)])
    begins = 1 + np.flatnonzero(later[1:] < time[:-1])
    return [piece for piece in np.split(rows, begins) if len(piece)]


def _apart(
    time: Array, values: Array, pieces: list[NDArray[np.int64]]
) -> tuple[Array, list[NDArray[np.int64]], int]:
    """Times of pieces one after the other, without samples that were there before, and how many."""
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


def _spread(
    order: NDArray[np.int64], time: Array, values: Array
) -> tuple[NDArray[np.int64], Array, float]:
    """Samples of shared stamps evenly apart, and their share; without those that repeat others."""
    same = np.diff(time, prepend=-np.inf) == 0.0
    if not same.any():
        return order, time, 0.0
    flat = values.reshape(len(values), -1)[order]
    again = same & (flat == np.roll(flat, 1, axis=0)).all(axis=1)
    order, time = order[~again], time[~again]
    same = np.diff(time, prepend=-np.inf) == 0.0
    if same.mean() <= COARSE or not np.ptp(time):
        return order[~same], time[~same], 0.0
    begins = np.flatnonzero(~same)
    sizes = np.diff(np.append(begins, len(time)))
    steps = np.diff(time[begins]) / sizes[:-1]
    usual = float(np.median(np.repeat(steps, sizes[:-1])))
    steps = np.minimum(np.append(steps, usual), LONGER * usual)
    within = np.arange(len(time)) - np.repeat(begins, sizes)
    return order, time + within * np.repeat(steps, sizes), float(same.mean())
