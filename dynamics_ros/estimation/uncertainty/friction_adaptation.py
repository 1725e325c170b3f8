# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Adaptation of dry friction to slow drift, such as that of temperature, during free motion.

Friction that exceeds the model's by d appears as an external torque of -d in one direction of
motion and +d in the other; ``ResidualWatch`` finds d. The applied change follows d slowly, within a
bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

MARGIN = 1_000_000_000
"""Time without adaptation after the last suspected contact [ns]: hands touch a robot repeatedly."""

INTERVAL = 1.0
"""Time in motion between two updates [s]."""

DEFAULT_SHARE = 0.5
"""Default bound as a share of the dry friction of the model."""

NEAR = 0.99
"""Share of the bound from which a change is called at its bound, which it approaches slowly."""

ADAPTING, AT_BOUND = 'adapting', 'at its bound'
CONTACT = 'waiting: a contact, or one a moment ago'
WAITING = 'waiting: has not moved fast enough in both directions'
UNBOUND = 'off: dry friction is unknown, and adaptation.bound is not set'


class FrictionAdaptation:
    """Follows slow changes of the dry friction of each joint.

    Attributes:
        bound: (nv) largest change; 0 disables the adaptation of a joint [Nm or N].
        change: (nv) applied change, never modified in place [Nm or N].
        reasons: per joint, whether it adapts, or why not.
    """

    def __init__(
        self,
        coulomb: Vector,
        stribeck: Vector,
        bound: Vector | None = None,
        *,
        time_constant: float = 60.0,
    ) -> None:
        """Creates an adaptation with zero change.

        Args:
            coulomb, stribeck: (nv) parameters of the friction model [Nm or N].
            bound: (nv) largest change [Nm or N]; None is half of ``coulomb``.
            time_constant: that with which the change follows the observed friction, in time in
                motion [s].
        """
        self._coulomb = coulomb
        self.bound = DEFAULT_SHARE * coulomb if bound is None else bound
        self.change = np.zeros(len(coulomb))
        # Neither dry friction nor breakaway friction may become negative.
        least = np.minimum(coulomb, coulomb + stribeck)
        self._lowest = -np.minimum(self.bound, np.maximum(least, 0.0))
        self._share = -np.expm1(-INTERVAL / time_constant)
        self.reasons = [WAITING] * len(coulomb)
        self._suspected: int | None = None

    @property
    def coulomb(self) -> Vector:
        """(nv) dry friction including the applied changes [Nm or N]."""
        return self._coulomb + self.change

    def inherit(self, other: FrictionAdaptation) -> None:
        """Takes over the changes of another adaptation of the same friction, within the bounds."""
        if np.array_equal(self._coulomb, other._coulomb):
            self.change = np.clip(other.change, self._lowest, self.bound)
            self._suspected = other._suspected

    def suspect(self, stamp: int, external: Vector) -> None:
        """Pauses because of a possible contact, unless a change within the bound may cause it.

        Args:
            stamp: ns.
            external: (nv) external torque before taring [Nm or N].
        """
        adapts = self.bound > 0.0
        if not adapts.any() or (np.abs(external) > np.where(adapts, self.bound, np.inf)).any():
            self._suspected = stamp

    def suspected(self, stamp: int) -> bool:
        """Whether a contact is possible at a stamp [ns], or was less than ``MARGIN`` before it."""
        return self._suspected is not None and 0 <= stamp - self._suspected < MARGIN

    def update(self, stamp: int, excess: Vector) -> None:
        """Follows the observed friction, to be called after each ``INTERVAL`` in motion.

        Args:
            stamp: ns.
            excess: (nv) observed friction beyond that without changes; NaN if unknown [Nm or N].
        """
        adapts = self.bound > 0.0
        suspected = self.suspected(stamp)
        known = adapts & np.isfinite(excess)
        if not suspected:
            target = np.clip(np.where(known, excess, self.change), self._lowest, self.bound)
            self.change = self.change + self._share * (target - self.change)
        at_bound = (self.change >= NEAR * self.bound) | (self.change <= NEAR * self._lowest)
        self.reasons = np.select(
            [~adapts, np.full(len(known), suspected), ~known, at_bound],
            [UNBOUND, CONTACT, WAITING, AT_BOUND],
            ADAPTING,
        ).tolist()
