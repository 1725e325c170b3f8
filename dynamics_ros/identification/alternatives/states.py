# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Averaged states of recordings, and the sums over states from which misfits follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification.joint_states.clock import Stretch

Array = NDArray[np.float64]

WINDOW, ROWS = 0.2, 120
"""Duration over which states are averaged [s]; approximate number of states."""

COULOMB_SPEED = 0.02
"""Speed at which Coulomb friction reaches 76 % [rad/s or m/s]."""

MIN_EFFORT_SPREAD = 0.01
"""Least standard deviation of the efforts of a joint, over the largest one; smaller is noise."""

ROTOR, VISCOUS, OFFSET, COULOMB, EFFORT = range(5)
"""Columns of a joint in ``Sums``: acceleration, velocity, 1, smoothed sign of velocity, effort."""


@dataclass(frozen=True, eq=False)
class States:
    """Averaged motion and efforts of some states (n, nv each), or of k readings (k, n, nv each)."""

    q: Array
    v: Array
    a: Array
    effort: Array

    @classmethod
    def of(cls, stretches: Sequence[Stretch]) -> States:
        """Select and average states of recordings."""
        parts = []
        total = sum(len(one) for one in stretches)
        for one in stretches:
            half = max(1, round(0.5 * WINDOW / one.period))
            if len(one) < 8 * half:
                continue
            q, effort = (_moving_mean(values, half) for values in (one.position, one.effort))
            v = _moving_mean(
                np.pad(np.gradient(q, one.period, axis=0), ((half, half), (0, 0))), half
            )
            a = np.gradient(v, one.period, axis=0)
            inside = slice(2 * half, len(q) - 2 * half, max(1, total // ROWS))
            parts.append([values[inside] for values in (q, v, a, effort)])
        if not parts:
            return cls(*np.zeros((4, 0, stretches[0].position.shape[1])))
        return cls(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    @classmethod
    def stacked(cls, readings: Sequence[States]) -> States:
        """(k, n, nv) states of k readings."""
        arrays = ([getattr(one, name) for one in readings] for name in ('q', 'v', 'a', 'effort'))
        return cls(*(np.stack(values) for values in arrays))

    def __len__(self) -> int:
        return len(self.q)

    def permuted(self, order: NDArray[np.int64]) -> States:
        """States with joints in another order."""
        return States(*(one[:, order] for one in (self.q, self.v, self.a, self.effort)))

    def turned(self, signs: Array) -> States:
        """States with positions and their derivatives multiplied by signs or scales (nv)."""
        return replace(self, q=self.q * signs, v=self.v * signs, a=self.a * signs)

    def faster(self, factor: float) -> States:
        """States of a motion that is faster by a factor."""
        return replace(self, v=self.v * factor, a=self.a * factor**2)


def _moving_mean(values: Array, half: int) -> Array:
    """(n - 2 half, joints) means of values (n, joints) over windows of 2 half + 1 samples."""
    # Relative to the mean, so that running sums of large positions lose no digits.
    mean = values.mean(axis=0)
    sums = np.cumsum(np.vstack([np.zeros_like(mean), values - mean]), axis=0)
    size = 2 * half + 1
    found: Array = mean + (sums[size:] - sums[:-size]) / size
    return found


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over states of k readings of a recording.

    Rows of a joint are divided by the standard deviation of its efforts and by the square root of
    the number of all rows.

    Attributes:
        bodies: (k, c, c) Gram matrices of the regressor, over all joints.
        cross: (k, nv, c, 5) products of the regressor with the columns of each joint.
        own: (k, nv, 5, 5) Gram matrices of the columns of each joint.
        spread: (k, nv) standard deviation of the efforts, with a lower bound.
        described: (k, nv, m, m) products of the torques of the described robot, for each of m
            parts of the regressor.
        sizes: (k, nv) Euclidean norms of the efforts.
        count: number of states.
    """

    bodies: Array
    cross: Array
    own: Array
    spread: Array
    described: Array
    sizes: Array
    count: int

    @classmethod
    def of(cls, Y: Array, states: States, columns: Sequence[slice], bodies: Array) -> Sums:
        """Sums of k readings.

        Args:
            Y: (k, n, nv, c) regressors, or (1, n, nv, c) for one regressor of all readings.
            states: (k, n, nv) states.
            columns: (nv) columns of the regressor that are not zero for a joint.
            bodies: (c / m) parameters of the described bodies; column m i + p is that of parameter
                i in part p of the regressor.
        """
        k, n, nv = states.effort.shape
        spread = states.effort.std(axis=1)
        spread = np.maximum(spread, MIN_EFFORT_SPREAD * spread.max(axis=1, keepdims=True)) + 1e-300
        weight = 1.0 / spread / np.sqrt(n * nv)
        drives = np.empty((k, nv, n, 5))
        for kind, values in (
            (ROTOR, states.a),
            (VISCOUS, states.v),
            (OFFSET, np.ones_like(states.v)),
            (COULOMB, np.tanh(states.v / COULOMB_SPEED)),
            (EFFORT, states.effort),
        ):
            drives[..., kind] = (values * weight[:, np.newaxis]).transpose(0, 2, 1)
        c = Y.shape[-1]
        grams, cross = np.zeros((k, c, c)), np.zeros((k, nv, c, 5))
        for joint, part in enumerate(columns):
            rows = Y[:, :, joint, part]
            gram = rows.transpose(0, 2, 1) @ rows
            own_weight = weight[:, joint, np.newaxis, np.newaxis]
            grams[:, part, part] += own_weight**2 * gram
            cross[:, joint, part] = own_weight * (rows.transpose(0, 2, 1) @ drives[:, joint])
        torques = np.einsum('knjim,i->kjnm', Y.reshape(*Y.shape[:3], len(bodies), -1), bodies)
        described = torques.transpose(0, 1, 3, 2) @ torques
        return cls(
            grams,
            cross,
            drives.transpose(0, 1, 3, 2) @ drives,
            spread,
            weight[..., np.newaxis, np.newaxis] ** 2 * described,
            np.linalg.norm(states.effort, axis=1),
            n,
        )

    def of_readings(self, chosen: NDArray[np.int64]) -> Sums:
        """Sums of some of the readings."""
        arrays = {one.name: getattr(self, one.name) for one in fields(self) if one.name != 'count'}
        return replace(self, **{name: values[chosen] for name, values in arrays.items()})

    def along(self, factors: Array, bodies: Array | None = None) -> Sums:
        """Sums of r readings whose regressor is a weighted sum of the m parts of this one.

        Args:
            factors: (r, m) factors of the parts.
            bodies: (r, c / m) bodies whose torques of each part but the first are m - 1 additional
                columns; None: no additional columns.
        """
        r, m = factors.shape
        c, nv = self.bodies.shape[1] // m, self.spread.shape[1]
        mixed = (factors @ self.bodies.reshape(m * c * c, m).T).reshape(r, c, m, c)
        grams = np.einsum('ramb,rm->rab', mixed, factors)
        parts = self.cross.reshape(nv, c, m, 5)
        cross = np.einsum('jamf,rm->rjaf', parts, factors)
        if bodies is not None:
            half = bodies @ self.bodies.reshape(c, -1)
            own = np.einsum('rmbn,rb->rmn', half.reshape(r, m, c, m), bodies)[:, 1:, 1:]
            side = np.einsum('ramb,ra->rmb', mixed[:, :, 1:], bodies)
            grams = np.block([[grams, side.transpose(0, 2, 1)], [side, own]])
            further = np.einsum('jamf,ra->rjmf', parts[:, :, 1:], bodies)
            cross = np.concatenate([cross, further], axis=2)
        described = np.einsum('jmn,rm,rn->rj', self.described[0], factors, factors)
        return Sums(
            grams,
            cross,
            np.repeat(self.own, r, axis=0),
            np.repeat(self.spread, r, axis=0),
            described[..., np.newaxis, np.newaxis],
            np.repeat(self.sizes, r, axis=0),
            self.count,
        )
