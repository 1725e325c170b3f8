# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques in motion beyond their stated deviation, and adaptation of friction to them.

Larger ones indicate wrong friction or masses: torques of friction turn with the direction of motion
and those of masses do not. A contact also causes external torques but rarely
lasts for most of a motion, so the median over the motion is that of free motion. A contact that
lasts longer cannot be distinguished from friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.reasons import Explanation, Figure, Names, Reason

from .thresholds import AT_REST, motion_scales

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]

WINDOW, MIN_SAMPLES = 200, 80
"""Stored samples of each joint in motion, and the number needed for a check: 20 s and 8 s at ten
samples a second. An observer settles, and a check is due, at most 1.5 s later."""

CHECK_EVERY = 10
"""Samples between two checks."""

FULL_FRICTION = 3.0
"""Multiple of the speed of friction above which dry friction has its full magnitude."""

WRONG, RIGHT, AFFECTED = 3.0, 2.0, 1.5
"""Multiples of the stated deviation: above the first a deviation counts as wrong, below the second
as right again; above the third that of another joint probably has the same cause."""

GAUSSIAN_RATIO = 1.4826
"""Ratio of the standard deviation to the median of the absolute values of Gaussian noise."""

MIN_WAY = 20
"""Samples of a joint in each direction of motion that are needed to tell friction from masses."""

FRICTION, MASSES = 0.7, 0.3
"""Share of the mean square that turns with the direction of motion: at least the first one for
friction, at most the second one for masses."""

MAX_NAMED = 7
"""Maximum number of joints named in the advice, the worst first."""

IGNORED_CHANGE = 0.2
"""Relative change of a deviation or of a threshold that is ignored."""

MARGIN, HELD = 1.3, 0.99
"""Increase of a contact threshold over the largest sample above it; share of it that is held until
the next check, because other postures need other increases."""

CONTACT_MARGIN = 1_000_000_000
"""Time without adaptation after the last suspected contact [ns]: hands touch a robot repeatedly."""

INTERVAL = 1.0
"""Time in motion between two updates [s]."""

TIME_CONSTANT = 60.0
"""Time in motion with which the applied friction follows the observed one [s]."""


class ResidualWatch:
    """Compares external torques of moving joints with their stated deviation over some time.

    Attributes:
        excess: (nv) standard deviation in addition to the stated one, zero where that is about
            right; replaced by another array if it changes [Nm or N].
        increase: (nv) increase of the contact thresholds, without which motion with this deviation
            would be one contact; zero while no joint has an ``excess``. If all joints with one have
            moved as stated before, at most ``MARGIN`` times the part of the torques that turns with
            the direction of motion, as friction does: the others may be a contact [Nm or N].
        advice: advice to the user; empty if deviations are as stated.
        fresh: samples since the last check; a check needs ``CHECK_EVERY``.
    """

    def __init__(self, robot: Robot, friction_velocity: Vector | float = 0.0) -> None:
        """Creates a watch without samples.

        Args:
            robot: the robot. With a moving base nothing is checked, because ground contact lasts
                through all motion.
            friction_velocity: number or (nv), speed at which dry friction has 76 % of its full
                magnitude [rad/s or m/s].
        """
        self.excess, self.increase = np.zeros((2, robot.nv))
        self.advice = ''
        self.fresh = 0
        self._was_right = np.zeros(robot.nv, dtype=bool)
        self._names = tuple(robot.joint_v_indices)
        self._judges = not robot.model.root_joint_nv
        self._max_velocity = AT_REST * motion_scales(robot)
        self._fast = np.maximum(self._max_velocity, FULL_FRICTION * friction_velocity)
        # Residuals, directions of motion, excess over the contact threshold, torques of friction.
        self._stored = np.full((4, WINDOW, robot.nv), np.nan)
        self._counts = np.zeros(robot.nv, dtype=int)

    def add(
        self,
        external: Vector,
        v: Vector,
        above: Vector | float = 0.0,
        friction: Vector | None = None,
    ) -> None:
        """Adds a sample, ten times a second.

        Args:
            external: (nv) external torque before taring, in the scale of the stated deviation [Nm
                or N].
            v: (nv) velocity.
            above: (nv) external torque above the contact threshold without ``increase`` [Nm or N].
            friction: (nv) external torque without adaptation of friction, NaN if it may be that of
                a contact; None: ``external`` [Nm or N].
        """
        speed = np.abs(v)
        moving = np.flatnonzero(speed > self._max_velocity)
        if self._judges and len(moving):
            ways = np.where(speed > self._fast, np.sign(v), 0.0)
            rest = np.broadcast_to(above, v.shape), external if friction is None else friction
            values = np.stack([external, ways, *rest])
            self._stored[:, self._counts[moving] % WINDOW, moving] = values[:, moving]
            self._counts[moving] += 1
            self.fresh += 1

    def forget_friction(self) -> None:
        """Forgets the torques of friction, which may be those of another payload."""
        self._stored[3] = np.nan

    def excess_friction(self) -> Vector:
        """Returns the dry friction (nv) beyond that of the model; NaN if unknown [Nm or N]."""
        return self._turning(self._stored[3])

    def _turning(self, torques: Vector) -> Vector:
        """Returns the part (nv) of torques (WINDOW, nv) against motion; NaN if unknown.

        Half of the difference of the medians in backward and forward motion: errors that are the
        same in both directions cancel out.
        """
        ways = self._stored[1]
        return 0.5 * (_median(torques, ways < 0.0, MIN_WAY) - _median(torques, ways > 0.0, MIN_WAY))

    def judge(self, offset: Vector, stated: Vector) -> bool:
        """Updates the attributes if a check is due; returns whether they have changed.

        Args:
            offset: (nv) tare offset.
            stated: (nv) standard deviation of the external torque without contact; inf for an
                unused joint.
        """
        if self.fresh < CHECK_EVERY:
            return False
        self.fresh = 0
        residuals, before = self._stored[0] - offset, self.excess
        medians = _median(np.abs(residuals), np.isfinite(residuals), MIN_SAMPLES)
        measured = GAUSSIAN_RATIO * np.nan_to_num(medians)
        wrong = measured > np.where(before > 0.0, RIGHT, WRONG) * stated
        beyond = np.square(measured) - np.square(np.where(wrong, stated, 0.0))
        excess = np.where(wrong, np.sqrt(beyond), 0.0)
        largest = np.fmax.reduce(self._stored[2], axis=0, initial=0.0)
        if not wrong.any():
            self._was_right |= np.isfinite(medians) & np.isfinite(stated)
        elif self._was_right[wrong].all():  # a push that lasts does not turn with the motion
            largest = np.minimum(largest, np.abs(np.nan_to_num(self._turning(residuals))))
        increase = np.maximum(MARGIN * largest, HELD * self.increase)
        increase[~(wrong.any() & (measured > AFFECTED * stated))] = 0.0
        pairs = (excess, before), (increase, self.increase)
        if all(np.all(np.abs(new - old) <= IGNORED_CHANGE * old) for new, old in pairs):
            return False
        self.excess, self.increase = excess, increase
        self.advice = self._describe(measured, stated, residuals) if wrong.any() else ''
        return True

    def _describe(self, measured: Vector, stated: Vector, residuals: Vector) -> Explanation:
        """Returns the joints with an ``excess``, the worst first, and the likely cause."""
        order = sorted(np.flatnonzero(self.excess), key=lambda i: stated[i] / measured[i])
        names = tuple(self._names[i] for i in order)
        lines = [
            f'{name} {measured[i]:.2g} instead of {stated[i]:.2g}'
            for name, i in zip(names, order, strict=True)
        ]
        if len(lines) > MAX_NAMED:
            lines[MAX_NAMED:] = [f'{len(lines) - MAX_NAMED} more joints']
        reason, cause = self._cause(residuals)
        raised: tuple[str | Figure, ...] = ()
        if self.increase.any():
            most = Figure(float(self.increase.max()), '.2g')
            raised = '; contact thresholds are raised by up to ', most, ' meanwhile'
        return Explanation(
            reason,
            'external torques in motion deviate by far more than is stated (in Nm or N: ',
            Names(names, ', '.join(lines)),
            '): ',
            *(*cause, *raised),
        )

    def _cause(self, residuals: Vector) -> tuple[Reason, tuple[str | Figure, ...]]:
        """Returns the likely cause of large residuals (WINDOW, nv), and its text in parts.

        The confidence is the share of the mean square that turns with the direction of motion, or
        does not.
        """
        wrong = self.excess > 0.0
        turning = self._turning(residuals)[wrong]
        shares = np.square(turning) / np.nanmean(np.square(residuals[:, wrong]), axis=0)
        known = np.isfinite(shares)
        share = float(shares[known].mean()) if known.any() else 0.5 * (FRICTION + MASSES)
        if share >= FRICTION:
            change = 'less' if np.nansum(np.sign(turning)) < 0.0 else 'more'
            return Reason.FRICTION_UNEXPECTED, (
                f'probably those of {change} friction than configured (confidence ',
                *(Figure(100.0 * share, '.0f'), ' %); calibrate, set adaptation.share, or set '),
                'friction',
            )
        if share <= MASSES:
            return Reason.LOAD_UNEXPECTED, (
                'probably those of a payload, other masses or a lasting contact (confidence ',
                *(Figure(100.0 * (1.0 - share), '.0f'), ' %); set the payload, or tare'),
            )
        return Reason.TORQUES_UNEXPECTED, (
            'friction or masses are not as described, or a contact lasts; tare, or set friction, '
            'payload or effort.model_error',
        )


def _median(values: Vector, used: NDArray[np.bool_], least: int) -> Vector:
    """Returns the medians (nv) of used finite values (WINDOW, nv); NaN of fewer than ``least``."""
    used = used & np.isfinite(values)
    count = used.sum(axis=0)
    ordered = np.sort(np.where(used, values, np.inf), axis=0)
    middle = np.stack([(count - 1) // 2, count // 2]).clip(0, WINDOW - 1)
    medians = np.take_along_axis(ordered, middle, axis=0).mean(axis=0)
    return np.where(count >= least, medians, np.nan)


class FrictionAdaptation:
    """Follows slow changes of the dry friction of each joint, such as those of temperature.

    Friction that exceeds the model's by d appears as an external torque of -d in one direction of
    motion and +d in the other; ``ResidualWatch`` finds d. The applied change follows d slowly,
    within a bound.

    Attributes:
        bound: (nv) largest change; 0 disables the adaptation of a joint [Nm or N].
        change: (nv) applied change, never modified in place [Nm or N].
    """

    def __init__(self, coulomb: Vector, stribeck: Vector, share: float) -> None:
        """Creates an adaptation with zero change.

        Args:
            coulomb, stribeck: (nv) parameters of the friction model [Nm or N].
            share: largest change as a share of ``coulomb``.
        """
        self._coulomb = coulomb
        self.bound = share * coulomb
        self.change = np.zeros(len(coulomb))
        # Neither dry friction nor breakaway friction may become negative.
        least = np.minimum(coulomb, coulomb + stribeck)
        self._lowest = -np.minimum(self.bound, np.maximum(least, 0.0))
        self._step = -np.expm1(-INTERVAL / TIME_CONSTANT)
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
        """Whether a contact is possible at a stamp [ns], or was up to a moment before it."""
        return self._suspected is not None and 0 <= stamp - self._suspected < CONTACT_MARGIN

    def update(self, stamp: int, excess: Vector) -> None:
        """Follows the observed friction, to be called after each ``INTERVAL`` in motion.

        Args:
            stamp: ns.
            excess: (nv) observed friction beyond that without changes; NaN if unknown [Nm or N].
        """
        if not self.suspected(stamp):
            target = np.where(np.isfinite(excess), excess, self.change)
            target = np.clip(target, self._lowest, self.bound)
            self.change = self.change + self._step * (target - self.change)
