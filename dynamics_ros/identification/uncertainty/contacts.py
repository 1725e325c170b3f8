# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of contacts in recordings of free motion, by torques that the state does not explain.

Residuals of a friction and mass model depend on the state: at the same position, velocity and load
of a joint, they are about the same again. The torques of a push are not repeated, and they appear
in several joints at once, while the friction of different joints is independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .residuals import Residuals

Array = NDArray[np.float64]

WINDOW = 0.2
"""Duration of a window over which torques are averaged [s]."""

MIN_SEPARATION = 1.0
"""Least time between two windows whose states are compared [s]."""

NEIGHBOURS = 7
"""Number of windows with the most similar states, which are compared."""

MIN_WINDOWS = 25
"""Least number of windows in motion for a joint to be used."""

MAX_WINDOWS = 1500
"""Largest number of compared windows; the first ones of longer recordings."""

MAX_REVERSAL = 0.2
"""Mean share of a reversal from which a window is not used."""

MAX_DEVIATIONS = 12.0
"""Largest contribution of a joint, in standard deviations: one joint alone does not make a
contact."""

CONTACT_DEVIATIONS = 6.0
"""RMS over joints, in standard deviations, from which a window is a contact."""

MIN_RELATIVE_DEVIATION = 0.01
"""Least standard deviation of a residual, over the standard deviation of the torque."""

MERGE_TIME, MAX_NAMED = 0.5, 3
"""Largest time between windows of one contact [s]; number of contacts in a message."""

GAUSSIAN = 1.4826
"""Ratio of the standard deviation to the median absolute deviation of a normal distribution."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A time interval with a contact.

    Attributes:
        begin, end: times since the first stamp [s].
        joints: (nv) whether a joint has a torque of the contact.
    """

    begin: float
    end: float
    joints: NDArray[np.bool_]


def contact_windows(found: Residuals) -> tuple[Array, Array]:
    """Normalised differences of torques from those at other times in similar states.

    Args:
        found: residuals of one recording.

    Returns:
        (w) start times of windows [s]; (w, nv) differences in standard deviations, zero if unknown.
    """
    index, time = _windows(found)

    def mean(values: Array) -> Array:
        return _window_means(values, index)

    # Friction differs between reversals.
    moving = (mean(found.standing.astype(np.float64)) == 0.0) & (
        mean(found.reversal) < MAX_REVERSAL
    )
    torque = mean(found.torque)
    states = np.stack([mean(x) for x in (found.q, found.v, found.load)], axis=-1)
    off = np.zeros_like(torque)
    for j in range(torque.shape[1]):
        rows = np.flatnonzero(moving[:, j])
        if len(rows) >= MIN_WINDOWS:
            off[rows, j] = _normalised_differences(time[rows], states[rows, j], torque[rows, j])
    return time, off


def _windows(found: Residuals) -> tuple[NDArray[np.int64], Array]:
    """(n) window index of each row, and (w) start times of the windows [s]."""
    number = np.floor(found.time / WINDOW).astype(np.int64)
    kept, index = np.unique(number, return_inverse=True)
    return index, WINDOW * kept[:MAX_WINDOWS].astype(np.float64)


def _window_means(values: Array, index: NDArray[np.int64]) -> Array:
    """(w, nv) means of rows (n, nv) over windows."""
    sums = np.stack([np.bincount(index, column) for column in values.T], axis=1)
    found: Array = sums / np.bincount(index)[:, np.newaxis]
    return found[:MAX_WINDOWS]


def _normalised_differences(time: Array, states: Array, torque: Array) -> Array:
    """(n) difference from the median torque of the most similar states (n, 3), in deviations."""
    scaled = states / np.maximum(states.std(axis=0), 1e-9)
    distance = ((scaled[:, np.newaxis] - scaled) ** 2).sum(axis=-1)
    distance[np.abs(time[:, np.newaxis] - time) < MIN_SEPARATION] = np.inf
    nearest = np.argsort(distance, axis=1)[:, :NEIGHBOURS]
    beyond = torque - np.median(torque[nearest], axis=1)
    usual = max(GAUSSIAN * np.median(np.abs(beyond)), np.quantile(np.abs(beyond), 0.9) / 1.645)
    found: Array = beyond / max(usual, MIN_RELATIVE_DEVIATION * float(torque.std()), 1e-9)
    return found


def contacts_in(found: Residuals) -> tuple[Contact, ...]:
    """Contacts in a recording that should be free motion."""
    time, off = contact_windows(found)
    size = np.sqrt((np.minimum(np.abs(off), MAX_DEVIATIONS) ** 2).mean(axis=1))
    far = np.flatnonzero(size > CONTACT_DEVIATIONS)
    parts = np.split(far, np.flatnonzero(np.diff(time[far]) > MERGE_TIME) + 1) if len(far) else []
    return tuple(
        Contact(
            float(time[part[0]]),
            float(time[part[-1]]) + WINDOW,
            np.asarray((np.abs(off[part]) > CONTACT_DEVIATIONS).any(axis=0)),
        )
        for part in parts
    )


def rows_of(contacts: Sequence[Contact], found: Residuals) -> NDArray[np.bool_]:
    """(n) whether rows are within a contact, or within ``WINDOW`` of one."""
    rows = np.zeros(len(found.time), dtype=bool)
    for one in contacts:
        rows |= (found.time > one.begin - WINDOW) & (found.time < one.end + WINDOW)
    return rows


def named(contacts: Sequence[Contact], joint_names: Sequence[str]) -> str:
    """Start times and joints of contacts, as text."""
    texts = []
    for one in contacts[:MAX_NAMED]:
        joints = ', '.join(n for n, feels in zip(joint_names, one.joints, strict=True) if feels)
        texts.append(f'{one.begin:.1f} s ({joints})')
    more = f' and {len(contacts) - MAX_NAMED} more' if len(contacts) > MAX_NAMED else ''
    return ', '.join(texts) + more
