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

from dynamics_ros.robot import Robot

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

SLIGHT = 0.01
"""Share of what torques vary by that is no contact, however exactly they come back."""

HELD, EXPLAINED, SURE = 5.0, 0.75, 5.0
"""s for which a force is taken to be the same; what it leaves over of torques at most, over what is
left without it; its least size, over its deviation."""

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
    index, time = _windows(found)

    def mean(values: Array) -> Array:
        return _means(values, index)

    # Where a joint turns round friction differs each time.
    moving = (mean(found.standing.astype(np.float64)) == 0.0) & (mean(found.reversal) < TURNING)
    torque = mean(found.torque)
    states = np.stack([mean(x) for x in (found.q, found.v, found.load)], axis=-1)
    off = np.zeros_like(torque)
    for j in range(torque.shape[1]):
        rows = np.flatnonzero(moving[:, j])
        if len(rows) >= LEAST_WINDOWS:
            off[rows, j] = _beside_others(time[rows], states[rows, j], torque[rows, j])
    return time, off


def _windows(found: Residuals) -> tuple[NDArray[np.int64], Array]:
    """(n) number of the window that a row is of, and (w) when windows begin [s]."""
    number = np.floor(found.time / WINDOW).astype(np.int64)
    kept, index = np.unique(number, return_inverse=True)
    return index, WINDOW * kept[:MOST_WINDOWS].astype(np.float64)


def _means(values: Array, index: NDArray[np.int64]) -> Array:
    """(w, nv) of rows (n, nv) of the same window."""
    sums = np.stack([np.bincount(index, column) for column in values.T], axis=1)
    found: Array = sums / np.bincount(index)[:, np.newaxis]
    return found[:MOST_WINDOWS]


def _beside_others(time: Array, states: Array, torque: Array) -> Array:
    """(n) torque beyond that in the most similar states (n, 3), in deviations."""
    scaled = states / np.maximum(states.std(axis=0), 1e-9)
    distance = ((scaled[:, np.newaxis] - scaled) ** 2).sum(axis=-1)
    distance[np.abs(time[:, np.newaxis] - time) < APART] = np.inf
    nearest = np.argsort(distance, axis=1)[:, :NEIGHBOURS]
    beyond = torque - np.median(torque[nearest], axis=1)
    usual = max(GAUSSIAN * np.median(np.abs(beyond)), np.quantile(np.abs(beyond), 0.9) / 1.645)
    found: Array = beyond / max(usual, SLIGHT * float(torque.std()), 1e-9)
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


def lasting_force(robot: Robot, found: Residuals, speed: float) -> Array | None:
    """A force at the last link that explains much of what is left over, other than friction.

    Torques of a force follow from the posture, those of friction and offsets do not. It may change
    every ``HELD`` seconds. Wrong masses and a payload look alike; it is for a person to judge.

    Args:
        robot: that moves.
        found: of one recording.
        speed: at which dry friction has reached 76 % [rad/s or m/s].

    Returns:
        (3) mean of the larger half, in root axes [N]; None where there is none.
    """
    index, time = _windows(found)
    q, v, torque = (_means(x, index) for x in (found.q, found.v, found.torque))
    still = _means(found.standing.astype(np.float64), index) > 0.0
    if len(time) < LEAST_WINDOWS:
        return None
    nv, count = robot.nv, int((time[-1] - time[0]) / HELD) + 1
    J = robot.jacobian(q, robot.body_names[-1])[:, :3]
    part = np.minimum(((time - time[0]) / HELD).astype(np.int64), count - 1)
    A = np.zeros((nv, len(time), 3 * count + 3 * nv))
    for k in range(3):
        A[:, np.arange(len(time)), 3 * part + k] = J[:, k].T
    for j in range(nv):
        own = slice(3 * (count + j), 3 * (count + j + 1))
        A[j, :, own] = np.column_stack([np.ones(len(v)), v[:, j], np.tanh(v[:, j] / speed)])
    weights, y = (~still).T.astype(np.float64), torque.T
    alone, _, _ = _weighted(A[..., 3 * count :], y, weights)
    left, x, deviation = _weighted(A, y, weights)
    forces, open_ = x[: 3 * count].reshape(-1, 3), deviation[: 3 * count].reshape(-1, 3)
    sizes = np.linalg.norm(forces, axis=1)
    sure = sizes > SURE * np.linalg.norm(open_, axis=1)
    if np.exp(np.mean(np.log(left / alone))) > EXPLAINED or not sure.any():
        return None
    found_force: Array = forces[sure & (sizes >= np.median(sizes[sure]))].mean(axis=0)
    return found_force


def _weighted(A: Array, y: Array, weights: Array) -> tuple[Array, Array, Array]:
    """RMS (nv) that least squares leave, weighted by joint; the unknowns and their deviations."""
    count = np.maximum(weights.sum(axis=1), 1.0)
    left = np.sqrt((weights * y**2).sum(axis=1) / count) + 1e-9
    for _ in range(4):
        scale = weights / left[:, np.newaxis]
        rows = (A * scale[..., np.newaxis]).reshape(-1, A.shape[-1])
        H = rows.T @ rows + 1e-6 * np.eye(A.shape[-1])
        x = np.linalg.solve(H, rows.T @ (y * scale).ravel())
        left = np.sqrt((weights * (y - A @ x) ** 2).sum(axis=1) / count) + 1e-9
    return left, x, np.sqrt(np.diag(np.linalg.inv(H)))
