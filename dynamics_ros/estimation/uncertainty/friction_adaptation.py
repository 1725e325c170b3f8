# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dry friction that follows a slow drift, such as that of temperature, while the robot is free.

Friction that is larger by d than the model's is felt as an external torque of -d in one direction
of motion and of +d in the other, while what gravity, an offset of efforts or a lean leave over is
the same in both. So with m+ and m- the means of what a joint feels as it turns each way,

    d = (m- - m+) / 2,

and what is the same both ways is left to be felt. A joint that turns one way only tells nothing of
the two. Means forget within half the time constant, and the change in force follows d with the
other half: together as late as the time constant says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.joint_friction import smooth_sign

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

PERIOD = 100_000_000
"""ns between two samples: what an observer says is new by then."""

LONGEST = 2.0
"""Periods that a sample stands for at most, after a pause."""

DRY = 3.0
"""Times ``friction_velocity``, from where on dry friction has its full size."""

EACH_WAY = 0.05
"""Least share of the memory that is of motion one way; the rest is of the other."""

TOGETHER = 1.0
"""s within which what a model leaves over hangs together."""

AS_SHARE = 0.5
"""Default bound, over the dry friction of the model."""

ADAPTING, AT_BOUND = 'adapting', 'at its bound'
CONTACT = 'waiting: a contact, or one a moment ago'
SLOW, ONE_WAY = 'waiting: too slow', 'waiting: has turned one way only'
UNBOUND = 'off: no dry friction is known, and no adaptation.bound is given'
NEW = 'waiting: no motion yet'


class FrictionAdaptation:
    """Changes of the dry friction of each joint, learned slowly from free motion.

    Attributes:
        bound: (nv) largest change; 0 for a joint whose friction stays [Nm or N].
        change: (nv) in force, read-only [Nm or N].
        deviation: (nv) of the change, by the scatter of what was felt; 0 for one that never was
            learned. It knows nothing of a lean that always was against the motion [Nm or N].
        reasons: of each joint, whether it is adapting, or why not.
        next: stamp from which on a sample is of use [ns].
    """

    def __init__(
        self,
        coulomb: Vector,
        stribeck: Vector,
        friction_velocity: float,
        bound: Vector | None = None,
        *,
        time_constant: float = 60.0,
        speed: float = 0.05,
        margin: float = 1.0,
        apply: Callable[[Vector], None] | None = None,
    ) -> None:
        """Begin without a change.

        Args:
            coulomb, stribeck, friction_velocity: (nv), (nv) and number, of the model of friction.
            bound: (nv) largest change [Nm or N]; None: half of ``coulomb``.
            time_constant: of motion of a joint, after which a step of its friction has been taken
                up by 59 % [s].
            speed: a slower joint tells nothing [rad/s or m/s].
            margin: time since the last state at which a contact was suspected [s].
            apply: is told (nv) dry friction whenever it changes.
        """
        nv, self._apply = len(coulomb), apply
        self._coulomb, self._friction_velocity = coulomb, friction_velocity
        self.bound = AS_SHARE * coulomb if bound is None else bound
        self.change, self.deviation = _unchanging(np.zeros(nv)), np.zeros(nv)
        # Dry friction is not negative, neither in motion nor at its beginning.
        least = np.minimum(coulomb, coulomb + stribeck)
        self._lowest = -np.minimum(self.bound, np.maximum(least, 0.0))
        self._half = 0.5 * time_constant
        self._speed = max(speed, DRY * friction_velocity)
        self._margin = round(margin * 1e9)
        self.reasons = [NEW] * nv
        self.restart()

    @property
    def coulomb(self) -> Vector:
        """(nv) dry friction with the changes in force [Nm or N]."""
        return self._coulomb + self.change

    def restart(self) -> None:
        """Forget what was felt; the changes in force stay."""
        nv = len(self.change)
        # Of motion backward and forward: weights, sums and sums of squares of what was felt.
        self._memory = np.zeros((3, 2, nv))
        self._direction = np.zeros(nv)
        self._suspected: int | None = None
        self._last = self.next = 0

    def undo(self) -> None:
        """No change any more, and nothing remembered that would bring it back."""
        self._put_in_force(0.0 * self.change)
        self.deviation = 0.0 * self.deviation
        self.restart()

    def inherit(self, other: FrictionAdaptation) -> None:
        """Go on with the changes of another to the same friction, as far as bounds allow.

        What was felt is forgotten: it may have been with another payload.
        """
        if not np.array_equal(self._coulomb, other._coulomb):
            return
        self._put_in_force(other.change)
        self.deviation = other.deviation
        self.restart()

    def alike(self, stamps: Stamps) -> int:
        """Of how many consecutive samples only the last may bring another change."""
        if int(stamps[0]) < self._last:
            return 1
        return min(int(stamps.searchsorted(self.next)) + 1, len(stamps))

    def uncertainty(self, v: Vector) -> Vector:
        """(nv) deviation that the changes give external torques at a velocity (nv) [Nm or N]."""
        return self.deviation * np.abs(self._signs(v))

    def add(
        self,
        stamps: int | Stamps,
        v: Vector,
        external: Vector,
        suspected: NDArray[np.bool_],
        usable: bool = True,
    ) -> None:
        """Take a sample in, or as many as ``alike`` says.

        Args:
            stamps: ns; or (n).
            v: (nv) velocity; or (n, nv).
            external: (nv) external torque before taring, with the changes in force [Nm or N]; or
                (n, nv). One that is not finite tells nothing of its joint.
            suspected: (n) whether there may be a contact.
            usable: whether external torques are of this moment.
        """
        stamps = np.atleast_1d(stamps)
        stamp = int(stamps[-1])
        if self._suspected is None or stamp < self._last:
            self._suspected = stamp
        if suspected.any():
            self._suspected = int(stamps[suspected][-1])
        if not usable or self._last <= stamp < self.next:
            return
        v, external = np.atleast_2d(v)[-1], np.atleast_2d(external)[-1]
        weight = min((stamp - self._last) / PERIOD, LONGEST) if stamp > self._last else 1.0
        forward = np.where(np.abs(v) >= self._speed, np.sign(v), 0.0)
        # A joint that has just turned round is felt as before for as long as a filter lasts.
        going = (forward == self._direction) & (forward != 0.0) & (self.bound > 0.0)
        going &= np.isfinite(external)
        self._last, self.next, self._direction = stamp, stamp + PERIOD, forward
        if stamp - self._suspected < self._margin:
            self.reasons = [CONTACT if bound > 0.0 else UNBOUND for bound in self.bound]
            return
        if going.any():
            felt = np.where(going, external - self.change * self._signs(v), 0.0)
            self._learn(going, forward, felt, weight)
        self._follow(going, weight)

    def _learn(
        self, going: NDArray[np.bool_], forward: Vector, felt: Vector, weight: float
    ) -> None:
        """Take in what joints that go on would feel (nv) without the changes in force."""
        keep = np.where(going, np.exp(-weight * PERIOD * 1e-9 / self._half), 1.0)
        self._memory *= keep
        news = (1.0 - keep) * np.stack([forward < 0.0, forward > 0.0])
        self._memory += news * np.stack([np.ones_like(felt), felt, felt**2])[:, np.newaxis]

    def _follow(self, going: NDArray[np.bool_], weight: float) -> None:
        """Let the changes of joints that go on follow what is remembered."""
        weights, sums, squares = self._memory
        both = weights.min(axis=0) >= EACH_WAY
        moving = going & both
        self.reasons = np.select(
            [self.bound <= 0.0, ~going, ~both], [UNBOUND, SLOW, ONE_WAY], ADAPTING
        ).tolist()
        if not moving.any():
            return
        share = np.where(moving, -np.expm1(-weight * PERIOD * 1e-9 / self._half), 0.0)
        some = np.maximum(weights, EACH_WAY)
        back, forth = means = sums / some
        wanted = 0.5 * (back - forth)
        self._put_in_force(self.change + share * (wanted - self.change))
        scatter = np.maximum(squares / some - means**2, 0.0)
        count = np.maximum(some * self._half / TOGETHER, 1.0)
        deviation = 0.5 * np.sqrt((scatter / count).sum(axis=0))
        self.deviation = np.where(moving, deviation, self.deviation)
        held = moving & ((self.change >= self.bound) | (self.change <= self._lowest))
        for i in np.flatnonzero(held):
            self.reasons[i] = AT_BOUND

    def _put_in_force(self, change: Vector) -> None:
        self.change = _unchanging(np.clip(change, self._lowest, self.bound))
        if self._apply is not None:
            self._apply(self.coulomb)

    def _signs(self, v: Vector) -> Vector:
        return np.array([smooth_sign(float(x), self._friction_velocity) for x in v])


def _unchanging(vector: Vector) -> Vector:
    vector.flags.writeable = False
    return vector
