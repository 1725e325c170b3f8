# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques in motion beyond their stated deviation.

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


class ResidualWatch:
    """Compares external torques of moving joints with their stated deviation over some time.

    Attributes:
        excess: (nv) standard deviation in addition to the stated one, zero where that is about
            right; replaced by another array if it changes [Nm or N].
        increase: (nv) increase of the contact thresholds, without which motion with this deviation
            would be one contact; zero while no joint has an ``excess`` [Nm or N].
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
        self._names = {i: name for name, i in robot.joint_v_indices.items()}
        self._judges = not robot.model.root_joint_nv
        self._max_velocity = AT_REST * motion_scales(robot)
        self._fast = np.maximum(self._max_velocity, FULL_FRICTION * friction_velocity)
        # Residuals, directions of motion, excess over the contact threshold.
        self._stored = np.zeros((3, WINDOW, robot.nv))
        self._counts = np.zeros(robot.nv, dtype=int)
        self.fresh = 0

    def add(self, external: Vector, v: Vector, above: Vector | float = 0.0) -> None:
        """Adds a sample, ten times a second.

        Args:
            external: (nv) external torque before taring, in the scale of the stated deviation [Nm
                or N].
            v: (nv) velocity.
            above: (nv) external torque above the contact threshold without ``increase`` [Nm or N].
        """
        speed = np.abs(v)
        moving = np.flatnonzero(speed > self._max_velocity)
        if self._judges and len(moving):
            ways = np.where(speed > self._fast, np.sign(v), 0.0)
            values = np.stack([external, ways, np.broadcast_to(above, v.shape)])
            self._stored[:, self._counts[moving] % WINDOW, moving] = values[:, moving]
            self._counts[moving] += 1
            self.fresh += 1

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
        measured, before = np.zeros(len(stated)), self.excess
        for i in np.flatnonzero(self._counts >= MIN_SAMPLES):
            residuals = self._stored[0, : self._counts[i], i]
            measured[i] = GAUSSIAN_RATIO * np.median(np.abs(residuals - offset[i]))
        wrong = measured > np.where(before > 0.0, RIGHT, WRONG) * stated
        excess = np.zeros(len(stated))
        excess[wrong] = np.sqrt(np.square(measured[wrong]) - np.square(stated[wrong]))
        increase = np.zeros(len(stated))
        affected = wrong.any() & (measured > AFFECTED * stated)
        for i in np.flatnonzero(affected):
            largest = float(self._stored[2, : self._counts[i], i].max())
            increase[i] = max(MARGIN * largest, HELD * self.increase[i], 0.0)
        pairs = (excess, before), (increase, self.increase)
        if all(np.all(np.abs(new - old) <= IGNORED_CHANGE * old) for new, old in pairs):
            return False
        self.excess, self.increase = excess, increase
        order = sorted(np.flatnonzero(wrong), key=lambda i: stated[i] / measured[i])
        names = tuple(self._names.get(int(i), 'a joint') for i in order)
        lines = [
            f'{name} {measured[i]:.2g} instead of {stated[i]:.2g}'
            for name, i in zip(names, order, strict=True)
        ]
        if len(lines) > MAX_NAMED:
            lines[MAX_NAMED:] = [f'{len(lines) - MAX_NAMED} more joints']
        self.advice = ''
        if lines:
            reason, cause = self._cause(np.flatnonzero(wrong), offset)
            raised: tuple[str | Figure, ...] = ()
            if increase.any():
                most = Figure(float(increase.max()), '.2g')
                raised = '; contact thresholds are raised by up to ', most, ' meanwhile'
            self.advice = Explanation(
                reason,
                'external torques in motion deviate by far more than is stated (in Nm or N: ',
                Names(names, ', '.join(lines)),
                '): ',
                *(*cause, *raised),
            )
        return True

    def _cause(
        self, joints: NDArray[np.int64], offset: Vector
    ) -> tuple[Reason, tuple[str | Figure, ...]]:
        """Returns the likely cause of large residuals of joints, and its text in parts.

        The confidence is the share of the mean square that turns with the direction of motion, or
        does not.
        """
        shares, signs = [], 0.0
        for i in joints:
            residuals, ways = self._stored[:2, : self._counts[i], i]
            residuals = residuals - offset[i]
            if min((ways < 0.0).sum(), (ways > 0.0).sum()) >= MIN_WAY:
                missing = 0.5 * (residuals[ways > 0.0].mean() - residuals[ways < 0.0].mean())
                shares.append(missing**2 / np.square(residuals).mean())
                signs += np.sign(missing)
        share = float(np.mean(shares)) if shares else 0.5 * (FRICTION + MASSES)
        if share >= FRICTION:
            return Reason.FRICTION_UNEXPECTED, (
                f'probably those of {"less" if signs > 0.0 else "more"} friction than configured '
                '(confidence ',
                *(Figure(100.0 * share, '.0f'), ' %); calibrate, or set friction'),
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
