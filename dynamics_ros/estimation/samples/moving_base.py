# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pose and twist of a moving base at the time of a joint state, and whether they agree."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dynamics_ros.errors import printable
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.spatial import (
    quaternion_conjugate,
    quaternion_log,
    quaternion_product,
    quaternion_to_matrix,
)

from .reports import Array

NEVER = -(2**62)
"""Stamp of a quantity without a received or finite value: as early as subtraction allows."""

LONG_AGO = NEVER + 1
"""Stamp of values that were received before the clock was set back."""

DEPTH = 16
"""Number of samples that are kept."""

ALIGNED = 100_000_000
"""Maximum time over which the twist extrapolates a pose [ns]: five periods of odometry at 50 Hz.
For a base that brakes with 2 m/s^2 the error is then 1 cm."""

SPACING = 10_000_000
"""Minimum time between samples of ``TwistCheck`` [ns]."""

MAX_SAMPLES = 100
"""Number of samples that ``TwistCheck`` compares at a time: at least one second."""

MIN_FOUND = 3
"""A contradiction is reported if so many comparisons find it, and none between them refutes it."""

MIN_DISTANCE = 0.1
"""Displacement from which the axes of a linear velocity are compared [m]."""

MIN_RANGES = np.array([0.03, 0.03, 0.03, 0.05, 0.05, 0.05])
"""Motion from which a component of the twist cannot be zero [m, rad]."""

COMPONENTS = ('linear.x', 'linear.y', 'linear.z', 'angular.x', 'angular.y', 'angular.z')


class BaseSample(NamedTuple):
    """Coordinates q of the root joint and its velocity v at a stamp [ns]."""

    stamp: int
    q: Array
    v: Array


class MovingBase:
    """Last samples of a moving base, with interpolation in time."""

    def __init__(self, carry: Callable[[Array, Array], Array]) -> None:
        """Creates it without samples.

        Args:
            carry: integrates coordinates by a tangent vector (velocity times time).
        """
        self._carry = carry
        self._samples: deque[BaseSample] = deque(maxlen=DEPTH)

    @property
    def stamp(self) -> int:
        """Stamp of the newest sample [ns]; ``NEVER`` if there is none."""
        return self._samples[-1].stamp if self._samples else NEVER

    @property
    def interval(self) -> float:
        """Usual interval of the samples [ns]; 0 while unknown."""
        samples = self._samples
        if len(samples) < 2 or samples[0].stamp == LONG_AGO:
            return 0.0
        return (samples[-1].stamp - samples[0].stamp) / (len(samples) - 1)

    def add(self, sample: BaseSample) -> bool:
        """Adds a sample; returns False if it is older than the newest one."""
        if sample.stamp < self.stamp:
            return False
        if sample.stamp == self.stamp:
            self._samples.pop()
        self._samples.append(sample)
        return True

    def set_back(self) -> None:
        """Marks the newest sample as old after the clock was set back, and drops the others."""
        if self._samples:
            newest = self._samples[-1]
            self._samples.clear()
            self._samples.append(newest._replace(stamp=LONG_AGO))

    def adopt(self, other: MovingBase) -> None:
        """Copies the samples of another base."""
        self._samples = other._samples.copy()

    def newest(self) -> BaseSample | None:
        """Returns the newest sample; None if there is none."""
        return self._samples[-1] if self._samples else None

    def at(self, time: int) -> tuple[Array, Array]:
        """Returns q and v at a time [ns].

        q is that of the nearest sample, extrapolated by its twist for at most ``ALIGNED``; v is
        interpolated between two samples.
        """
        after = self._samples[-1]
        for before in reversed(self._samples):
            if before.stamp <= time:
                break
            after = before
        span = after.stamp - before.stamp
        v = before.v
        if before.stamp <= time < after.stamp and before.stamp != LONG_AGO:
            v = v + (time - before.stamp) / span * (after.v - v)
        nearest = before if abs(time - before.stamp) <= abs(after.stamp - time) else after
        elapsed = min(max(time - nearest.stamp, -ALIGNED), ALIGNED)
        if not elapsed or nearest.stamp == LONG_AGO:
            return nearest.q, v
        return self._carry(nearest.q, elapsed * 1e-9 * nearest.v), v


class TwistCheck:
    """Detects twists of odometry that contradict the poses in the same messages.

    Two mistakes of drivers are detected: a linear velocity in the axes of ``frame_id`` instead of
    those of ``child_frame_id``, and components of the twist that are never filled in. The poses
    are compared with the integral of the twists over a second.

    Attributes:
        problem: a sentence about twists in other axes; '' if there are none.
        missing: a sentence about components that are always zero; '' if there are none.
    """

    def __init__(self) -> None:
        """Creates a check without findings."""
        self.problem = self.missing = ''
        self._samples: list[BaseSample] = []
        self._turned = 0
        self._absent = np.zeros(len(COMPONENTS), dtype=int)

    @property
    def is_full(self) -> bool:
        """Whether further samples are not recorded before the next call of ``update``."""
        return len(self._samples) >= MAX_SAMPLES

    @property
    def problems(self) -> tuple[str, ...]:
        """The findings that there are."""
        return tuple(filter(None, (self.problem, self.missing)))

    def record(self, sample: BaseSample) -> None:
        """Keeps a sample for the next call of ``update``, if it is not too close to the last."""
        samples = self._samples
        if samples and sample.stamp < samples[-1].stamp:
            samples.clear()  # the clock was set back
        if not samples or not (self.is_full or sample.stamp - samples[-1].stamp < SPACING):
            samples.append(sample)

    # Odometry may hold any finite numbers.
    @np.errstate(over='ignore', invalid='ignore')
    def update(self, frame: str) -> None:
        """Updates the findings once the base has moved enough or the samples are complete.

        Args:
            frame: frame of the poses.
        """
        samples, full = self._samples, self.is_full
        if len(samples) < 2:
            return
        times = np.array([sample.stamp for sample in samples])
        if len({len(sample.q) for sample in samples}) > 1 or (np.diff(times) > ALIGNED).any():
            self._samples = []  # of two robots, too slow, or interrupted
            return
        positions, quaternions, twists = _motion(samples)
        displacement = positions[-1] - positions[0]
        distance = float(np.linalg.norm(displacement))
        if not full and distance < MIN_DISTANCE:
            return
        self._samples = []
        rotations, steps = quaternion_to_matrix(quaternions), np.diff(times)[:, None] * 1e-9
        velocities = twists[:, :3]
        body, parent = (
            float(np.linalg.norm(displacement - (0.5 * steps * (v[:-1] + v[1:])).sum(axis=0)))
            for v in (np.einsum('nij,nj->ni', rotations, velocities), velocities)
        )
        explained = min(body, parent) < 0.25 * distance and max(body, parent) >= 0.5 * distance
        if distance >= MIN_DISTANCE and explained:
            self._turned = 0 if body < parent else self._turned + 1
        self.problem = Explanation(
            Reason.ODOMETRY_AXES,
            f'the linear velocity of odom looks to be in the axes of {printable(frame)!r}; '
            'nav_msgs/Odometry has it in those of child_frame_id'
            if self._turned >= MIN_FOUND
            else '',
        )
        # How far the base moves along and about each of its own axes.
        along = np.einsum('nji,nj->ni', rotations[:-1], np.diff(positions, axis=0))
        turns = quaternion_product(quaternion_conjugate(quaternions[:-1]), quaternions[1:])
        path = np.cumsum(np.column_stack((along, quaternion_log(turns))), axis=0)
        moved = np.ptp(path, axis=0) > MIN_RANGES
        self._absent = np.where(twists.any(axis=0), 0, self._absent + moved)
        absent = self._absent >= MIN_FOUND
        names = ', '.join(name for name, each in zip(COMPONENTS, absent, strict=True) if each)
        self.missing = Explanation(
            Reason.ODOMETRY_INCOMPLETE,
            f'the twist of odom is always zero in {names}, although the poses move so: use a state '
            'estimator that fills it in'
            if names
            else '',
        )


def _motion(samples: list[BaseSample]) -> tuple[Array, Array, Array]:
    """Returns positions (n, 3), quaternions (n, 4) and twists (n, 6) of a base."""
    q, v = np.array([one.q for one in samples]), np.array([one.v for one in samples])
    if q.shape[1] == 7:
        return q[:, :3], q[:, 3:], v
    none, half = np.zeros(len(q)), 0.5 * q[:, 2]
    positions = np.column_stack((q[:, :2], none))
    quaternions = np.column_stack((none, none, np.sin(half), np.cos(half)))
    return positions, quaternions, np.column_stack((v[:, :2], none, none, none, v[:, 2]))
