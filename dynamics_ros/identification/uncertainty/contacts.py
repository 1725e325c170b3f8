# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts in what is taken for free motion: torques that do not come back with the state.

What a model of friction and masses leaves over of free motion depends on the state: where a joint
comes by at the same position, velocity and load again, it is about the same again. What a push
gives does not come back, and several joints feel it at one time, while their friction knows nothing
of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .residuals import Residuals

Array = NDArray[np.float64]

WINDOW = 0.2
"""s of which torques are averaged."""

APART = 1.0
"""s between two times at least whose states are compared."""

NEIGHBOURS = 7
"""Other times at which a joint was in the most similar states."""

LEAST_WINDOWS = 25
"""Windows in motion that a joint takes part with."""

MOST_WINDOWS = 1500
"""That are compared with each other; of longer recordings the first ones."""

TURNING = 0.2
"""Mean share of a reversal from which on a window says nothing."""

MOST_OFF = 12.0
"""Deviations that a joint counts at most: one joint alone makes no contact."""

FAR = 6.0
"""RMS over joints, in deviations, from which on a window is no free motion."""

SAME, NAMED = 0.5, 3
"""s between windows of one contact; contacts that are told."""

GAUSSIAN = 1.4826
"""Standard deviation over the median of absolute values."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A time that is none of free motion.

    Attributes:
        begin, end: since the first stamp [s].
        joints: (nv) which feel it.
    """

    begin: float
    end: float
    joints: NDArray[np.bool_]


def contact_windows(found: Residuals) -> tuple[Array, Array]:
    """How far torques are off those at other times in similar states.

    Args:
        found: of one recording.

    Returns:
        (w) when windows begin [s]; (w, nv) deviations, zero where nothing can be said.
    """
    number = np.floor(found.time / WINDOW).astype(np.int64)
    kept, index = np.unique(number, return_inverse=True)
    count = np.bincount(index)[:, np.newaxis]

    def mean(values: Array) -> Array:
        columns = [np.bincount(index, column) for column in values.T]
        averaged: Array = np.stack(columns, axis=1) / count
        return averaged[:MOST_WINDOWS]

    # Where a joint turns round friction differs each time.
    moving = (mean(found.standing.astype(np.float64)) == 0.0) & (mean(found.reversal) < TURNING)
    torque = mean(found.torque)
    time: Array = WINDOW * kept[:MOST_WINDOWS].astype(np.float64)
    states = np.stack([mean(x) for x in (found.q, found.v, found.load)], axis=-1)
    off = np.zeros_like(torque)
    for j in range(torque.shape[1]):
        rows = np.flatnonzero(moving[:, j])
        if len(rows) >= LEAST_WINDOWS:
            off[rows, j] = _beside_others(time[rows], states[rows, j], torque[rows, j])
    return time, off


def _beside_others(time: Array, states: Array, torque: Array) -> Array:
    """(n) torque beyond that in the most similar states (n, 3), in deviations."""
    scaled = states / np.maximum(states.std(axis=0), 1e-9)
    distance = ((scaled[:, np.newaxis] - scaled) ** 2).sum(axis=-1)
    distance[np.abs(time[:, np.newaxis] - time) < APART] = np.inf
    nearest = np.argsort(distance, axis=1)[:, :NEIGHBOURS]
    beyond = torque - np.median(torque[nearest], axis=1)
    usual = max(GAUSSIAN * np.median(np.abs(beyond)), np.quantile(np.abs(beyond), 0.9) / 1.645)
    found: Array = beyond / max(usual, 1e-9)
    return found


def contacts_in(found: Residuals) -> tuple[Contact, ...]:
    """Contacts in what should be free motion."""
    time, off = contact_windows(found)
    size = np.sqrt((np.minimum(np.abs(off), MOST_OFF) ** 2).mean(axis=1))
    far = np.flatnonzero(size > FAR)
    parts = np.split(far, np.flatnonzero(np.diff(time[far]) > SAME) + 1) if len(far) else []
    return tuple(
        Contact(
            float(time[part[0]]),
            float(time[part[-1]]) + WINDOW,
            np.asarray((np.abs(off[part]) > FAR).any(axis=0)),
        )
        for part in parts
    )


def rows_of(contacts: Sequence[Contact], found: Residuals) -> NDArray[np.bool_]:
    """(n) which rows are of contacts, or of the time right before and after."""
    rows = np.zeros(len(found.time), dtype=bool)
    for one in contacts:
        rows |= (found.time > one.begin - WINDOW) & (found.time < one.end + WINDOW)
    return rows


def named(contacts: Sequence[Contact], joint_names: Sequence[str]) -> str:
    """When contacts begin, and which joints feel them."""
    told = []
    for one in contacts[:NAMED]:
        joints = ', '.join(n for n, feels in zip(joint_names, one.joints, strict=True) if feels)
        told.append(f'{one.begin:.1f} s ({joints})')
    more = f' and {len(contacts) - NAMED} more' if len(contacts) > NAMED else ''
    return ', '.join(told) + more
