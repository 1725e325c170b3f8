# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Adaptation of dry friction to slow drift, such as that of temperature, during free motion.

Friction that exceeds the model's by d appears as an external torque of -d in one direction of
motion and +d in the other. Errors of gravity, effort offset or inclination are the same in both
directions. With m+ and m- the mean external torques of a joint in each direction,

    d = (m- - m+) / 2,

and the common part remains in the external torque. A joint that has moved in one direction only
does not determine d. The means forget with half the time constant and the applied change follows d
with the other half, so that the total delay is the time constant.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.joint_friction import smooth_sign

Vector = NDArray[np.float64]

PERIOD = 100_000_000
"""Time between two samples, after which the observer's output is independent [ns]."""

FULL_FRICTION = 3.0
"""Multiple of ``friction_velocity`` above which dry friction has its full magnitude."""

MIN_SPEED = 0.05
"""Speed below which the friction of a joint is not learned [rad/s], times ``motion_scales`` of
sliding joints: far above the velocity noise, so that directions are certain."""

MARGIN = 1_000_000_000
"""Time without adaptation after the last suspected contact [ns]: hands touch a robot repeatedly."""

MIN_WEIGHT = 0.05
"""Minimum share of the memory for each direction of motion."""

CORRELATION_TIME = 1.0
"""Correlation time of the residuals of a model [s]."""

DEFAULT_SHARE = 0.5
"""Default bound as a share of the dry friction of the model."""

ADAPTING, AT_BOUND = 'adapting', 'at its bound'
CONTACT = 'waiting: a contact, or one a moment ago'
SLOW, ONE_WAY = 'waiting: too slow', 'waiting: has turned one way only'
UNBOUND = 'off: dry friction is unknown, and adaptation.bound is not set'
NEW = 'waiting: no motion yet'


class FrictionAdaptation:
    """Learns slow changes of the dry friction of each joint from free motion.

    Attributes:
        bound: (nv) largest change; 0 disables the adaptation of a joint [Nm or N].
        change: (nv) applied change, never modified in place [Nm or N].
        deviation: (nv) standard deviation of the change from the scatter of the residuals; 0 for a
            joint without learned change. It does not include a constant error of the torque that
            always opposed the motion [Nm or N].
        reasons: per joint, whether it adapts, or why not.
        next: stamp from which on a sample is used [ns].
    """

    def __init__(
        self,
        coulomb: Vector,
        stribeck: Vector,
        friction_velocity: ArrayLike,
        bound: Vector | None = None,
        *,
        time_constant: float = 60.0,
        speed: ArrayLike = MIN_SPEED,
        apply: Callable[[Vector], None] | None = None,
    ) -> None:
        """Creates an adaptation with zero change.

        Args:
            coulomb, stribeck, friction_velocity: (nv), parameters of the friction model; the last
                one may be a number.
            bound: (nv) largest change [Nm or N]; None is half of ``coulomb``.
            time_constant: time of motion of a joint after which 59 % of a friction step are adapted
                [s].
            speed: slower joints are not used, number or (nv) [rad/s or m/s].
            apply: receives the dry friction (nv) whenever it changes.
        """
        nv, self._apply = len(coulomb), apply
        self._coulomb = coulomb
        self._friction_velocity = np.broadcast_to(friction_velocity, nv)
        self.bound = DEFAULT_SHARE * coulomb if bound is None else bound
        self.change, self.deviation = np.zeros(nv), np.zeros(nv)
        # Neither dry friction nor breakaway friction may become negative.
        least = np.minimum(coulomb, coulomb + stribeck)
        self._lowest = -np.minimum(self.bound, np.maximum(least, 0.0))
        # Memory of the means, and delay of the change, in periods.
        self._decay = float(np.exp(-PERIOD * 1e-9 / (0.5 * time_constant)))
        self._independent = max(0.5 * time_constant / CORRELATION_TIME, 1.0)
        self._speed = np.maximum(speed, FULL_FRICTION * self._friction_velocity)
        self.reasons = [NEW] * nv
        self.restart()

    @property
    def coulomb(self) -> Vector:
        """(nv) dry friction including the applied changes [Nm or N]."""
        return self._coulomb + self.change

    def restart(self) -> None:
        """Clears the stored residuals; the applied changes stay."""
        nv = len(self.change)
        # Per direction, backward and forward: weights, sums and sums of squares of the residuals.
        self._memory = np.zeros((3, 2, nv))
        self._direction = np.zeros(nv)
        self._suspected: int | None = None
        self._last = self.next = 0

    def undo(self) -> None:
        """Sets the changes to zero and clears the stored residuals."""
        self._set_change(0.0 * self.change)
        self.deviation = 0.0 * self.deviation
        self.restart()

    def inherit(self, other: FrictionAdaptation) -> None:
        """Takes over the changes of another adaptation of the same friction, within the bounds.

        The stored residuals are cleared, because they may belong to another payload.
        """
        if np.array_equal(self._coulomb, other._coulomb):
            self._set_change(other.change)
            self.deviation = other.deviation
            self.restart()

    def uncertainty(self, v: Vector) -> Vector:
        """Returns the torque deviation (nv) due to the changes at a velocity (nv) [Nm or N]."""
        return self.deviation * np.abs(self._signs(v))

    def batch_size(self, stamps: NDArray[np.int64]) -> int:
        """Returns how many of consecutive samples are processed before friction may change."""
        if stamps[0] < self._last:
            return 1
        return min(int(stamps.searchsorted(self.next)) + 1, len(stamps))

    def add(
        self, stamp: int, v: Vector, external: Vector, suspected: bool, usable: bool = True
    ) -> None:
        """Processes a sample.

        Args:
            stamp: ns.
            v: (nv) velocity.
            external: (nv) external torque before taring, with the applied changes [Nm or N]. A
                value that is not finite is not used for its joint.
            suspected: whether a contact is possible. A torque that a change of friction within the
                bound can cause is used all the same: a constant push cancels out.
            usable: whether the external torques are valid.
        """
        adapts = self.bound > 0.0
        bounded = adapts & np.isfinite(external)
        if suspected:
            # What friction within the bound can cause would else never be learned.
            beyond = np.abs(external) > np.where(bounded, self.bound, np.inf)
            suspected = bool(beyond.any() or not adapts.any())
        if suspected or self._suspected is None or stamp < self._last:
            self._suspected = stamp
        if not usable or self._last <= stamp < self.next:
            return
        forward = np.where(np.abs(v) >= self._speed, np.sign(v), 0.0)
        # After a reversal the observer's filter still contains the other direction.
        continuing = (forward == self._direction) & (forward != 0.0) & bounded
        self._last, self.next, self._direction = stamp, stamp + PERIOD, forward
        if stamp - self._suspected < MARGIN:
            self.reasons = np.where(adapts, CONTACT, UNBOUND).tolist()
            return
        keep = np.where(continuing, self._decay, 1.0)
        residual = np.where(continuing, external - self.change * self._signs(v), 0.0)
        powers = np.stack([np.ones_like(residual), residual, residual**2])[:, np.newaxis]
        added = (1.0 - keep) * np.stack([forward < 0.0, forward > 0.0])
        self._memory = keep * self._memory + added * powers
        weights, sums, squares = self._memory
        both = weights.min(axis=0) >= MIN_WEIGHT
        moving = continuing & both
        if moving.any():
            floored = np.maximum(weights, MIN_WEIGHT)
            means = sums / floored
            target = 0.5 * (means[0] - means[1])
            share = np.where(moving, 1.0 - self._decay, 0.0)
            self._set_change(self.change + share * (target - self.change))
            scatter = np.maximum(squares / floored - means**2, 0.0)
            count = np.maximum(floored * self._independent, 1.0)
            deviation = 0.5 * np.sqrt((scatter / count).sum(axis=0))
            self.deviation = np.where(moving, deviation, self.deviation)
        at_bound = (self.change >= self.bound) | (self.change <= self._lowest)
        self.reasons = np.select(
            [~adapts, ~continuing, ~both, at_bound], [UNBOUND, SLOW, ONE_WAY, AT_BOUND], ADAPTING
        ).tolist()

    def _set_change(self, change: Vector) -> None:
        self.change = np.clip(change, self._lowest, self.bound)
        if self._apply is not None:
            self._apply(self.coulomb)

    def _signs(self, v: Vector) -> Vector:
        pairs = zip(v.tolist(), self._friction_velocity.tolist(), strict=True)
        return np.array([smooth_sign(x, speed) for x, speed in pairs])
