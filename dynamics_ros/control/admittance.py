# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Admittance: a frame of an arm that takes motions yields to a measured wrench.

A virtual mass, damper and spring turn the wrench into a twist, M a + D v + K x = f ([Hogan1985],
[Siciliano2009] 9.3.2), which a servo follows. The mass is only commanded: what the arm does comes
later than the wrench, and a stiff environment answers to that. Contact with a stiffness k after a
delay T is stable if no root of M s^2 + D s + k e^(-s T) lies in the right half plane.

An observer of the energy that the arm gives to its environment [HannafordRyu2002] detects few
unstable contacts: beside a hand that pushes, the hand does more work. Reversals detect more.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, check_positive, per_entry
from dynamics_ros.multibody.end_effector import pose_error
from dynamics_ros.reasons import Explanation, Reason

Array = NDArray[np.float64]

NONE = Explanation(Reason.OK, '')

REACH_RATE = 5.0
"""Largest rate at which the frame may approach the end of its reach [1/s]."""

LOSS = 0.1
"""Share of a twist that a step may lack without slowing the virtual mass."""

REVERSALS, REVERSAL_TIME = 6, 0.5
"""Reversals of a velocity within a time [s] that no hand makes, but a contact that is unstable."""

REVERSED = (0.005, 0.03)
"""Slowest linear and angular speed whose reversals count [m/s, rad/s]."""

TARE_TIME = 0.2
"""Time over which the wrench is averaged before a motion [s]."""

FROZEN_SAMPLES = 5
"""Number of samples from which a sensor may count as frozen, or be tared."""

AT_REST = 2e-3
"""Largest change of a joint position during the tare [rad or m]."""


def required_damping(stiffness: float, delay: float, period: float = 0.0) -> float:
    """Damping from which contact with an environment is stable, whatever the virtual mass.

    On the imaginary axis, s = j w, the imaginary part of M s^2 + D s + k e^(-s T) is
    D w - k sin(w T), which has no zero but w = 0 if D > k T: no root crosses the axis. Heavy masses
    need that, light ones down to 2 k T / pi. In sampled time light masses need it too; what the
    implicit step gains in phase is what holding its result loses, so a period counts only beyond
    2 T. A virtual spring helps; a first-order lag of the arm counts as a delay of its time
    constant.

    Args:
        stiffness: of the environment [N/m or Nm/rad].
        delay: time T from a force to the motion by it [s].
        period: time between two steps [s].

    Returns:
        Damping [Ns/m or Nms/rad].
    """
    return stiffness * max(delay, 0.5 * period)


def wrench_at(wrench: Array, source: Array, target: Array) -> Array:
    """Return a wrench at the origin of another frame, in root axes.

    Args:
        wrench: (6) at the origin of a frame, in its axes [N, Nm].
        source, target: (4, 4) poses of that frame and of the other one in the root frame.
    """
    force, torque = source[:3, :3] @ wrench[:3], source[:3, :3] @ wrench[3:]
    return np.concatenate([force, torque + np.cross(source[:3, 3] - target[:3, 3], force)])


class Admittance:
    """Virtual mass, damper and spring of a frame, in the axes of a frame that may move.

    Attributes:
        at_reach: whether the end of the reach limited the last step.
    """

    def __init__(
        self,
        mass: ArrayLike,
        damping: ArrayLike,
        stiffness: ArrayLike = 0.0,
        *,
        dead_zone: Sequence[float] = (0.0, 0.0),
        reach: Sequence[float] = (math.inf, math.inf),
        locked: ArrayLike = False,
    ) -> None:
        """Set the gains.

        Args:
            mass, damping, stiffness: one number or (6), along and around the axes [kg, kg m^2;
                Ns/m, Nms/rad; N/m, Nm/rad].
            dead_zone: force and torque that move nothing and are subtracted from larger ones
                [N, Nm].
            reach: largest distance and angle from the pose at the start [m, rad].
            locked: one flag or (6); axes along and around which nothing moves.

        Raises:
            InvalidArgumentError: a mass is not positive, or another number is negative.
        """
        self._mass = per_entry('mass', mass, 6)
        if not (self._mass > 0.0).all():
            expected = 'positive numbers; lock an axis that shall not move'
            raise InvalidArgumentError('mass', f'{self._mass.min():g}', expected)
        self._damping = per_entry('damping', damping, 6, least=0.0)
        self._stiffness = per_entry('stiffness', stiffness, 6, least=0.0)
        self._dead_zone = per_entry('dead_zone', dead_zone, 2, least=0.0)
        self._reach = per_entry('reach', reach, 2, least=0.0, infinite=True)
        self._free = np.broadcast_to(~np.asarray(locked, dtype=bool), 6)
        self.begin()

    def begin(self) -> None:
        """Begin at rest, with the spring relaxed at the pose of the first step."""
        self._start: Array | None = None
        self._time, self.at_reach = 0.0, False
        self._v, self._axes = np.zeros(6), np.eye(3)
        self._before = np.zeros((2, 3))
        self._reversals: tuple[deque[float], deque[float]] = (deque(), deque())

    def twist(self, wrench: Array, pose: Array, axes: Array, dt: float) -> Array:
        """Return the twist (6) of the next step, in root axes at the origin of the frame.

        The step is implicit (backward Euler), which is stable for all gains and adds no energy.

        Args:
            wrench: (6) of the environment on the frame, at its origin, in root axes [N, Nm].
            pose: (4, 4) of the frame.
            axes: (3, 3) axes of mass, damper and spring in the root frame.
            dt: time until the next step [s].
        """
        check_positive('dt', dt)
        self._start, self._axes = pose if self._start is None else self._start, axes
        error = pose_error(pose, self._start)
        f, v, x = (_turned(axes.T, part) for part in (wrench, self._v, error))
        f = _beyond(self._dead_zone, f)
        mass, damping, stiffness = self._mass, self._damping, self._stiffness
        v = (mass * v + dt * (f - stiffness * x)) / (mass + dt * damping + dt * dt * stiffness)
        v = np.where(self._free, v, 0.0)
        kept = self._within_reach(v, x)
        self.at_reach = bool(np.any(kept != v))
        v = np.where(self._free, kept, 0.0)
        self._v = _turned(axes, v)
        self._count_reversals(self._v.reshape(2, 3), dt)
        return self._v

    def moved(self, v: Array) -> None:
        """Slow the mass to the twist (6) of the last step, if limits of the arm made that slower.

        Nothing accumulates then. A loss of less than ``LOSS`` counts as none: it would brake the
        mass in each step.
        """
        v = _turned(self._axes, np.where(self._free, _turned(self._axes.T, v), 0.0))
        share = float(v @ self._v) / max(float(self._v @ self._v), 1e-12)
        self._v = v / min(max(share, 1.0 - LOSS), 1.0)

    def _within_reach(self, v: Array, x: Array) -> Array:
        """Return the twist with no more speed away from the start than its reach allows."""
        v = v.copy()
        for part, reach in zip((slice(0, 3), slice(3, 6)), self._reach, strict=True):
            distance = float(np.linalg.norm(x[part]))
            if distance > 0.0 and reach < math.inf:
                outward = x[part] / distance
                excess = float(v[part] @ outward) - REACH_RATE * max(reach - distance, 0.0)
                v[part] -= max(excess, 0.0) * outward
        return v

    # --- contact that oscillates ------------------------------------------------------------------

    def _count_reversals(self, parts: Array, dt: float) -> None:
        self._time += dt
        for k, (v, least) in enumerate(zip(parts, REVERSED, strict=True)):
            if np.linalg.norm(v) < least:
                continue
            if v @ self._before[k] < 0.0:
                self._reversals[k].append(self._time)
            self._before[k] = v
        for times in self._reversals:
            while times and times[0] < self._time - REVERSAL_TIME:
                times.popleft()

    @property
    def oscillates(self) -> bool:
        """Whether the velocity reverses as often as in an unstable contact."""
        return max(map(len, self._reversals)) >= REVERSALS


def _turned(R: Array, six: Array) -> Array:
    return np.asarray((six.reshape(2, 3) @ R.T).ravel())


def _beyond(zone: Array, f: Array) -> Array:
    """Return a wrench (6) with force and torque shortened by the two numbers of a dead zone."""
    parts = f.reshape(2, 3)
    lengths = np.linalg.norm(parts, axis=1)
    shares = np.maximum(1.0 - zone / np.maximum(lengths, 1e-12), 0.0)
    return np.asarray((parts * shares[:, np.newaxis]).ravel())


class MeasuredWrench:
    """Wrench of a sensor, less its tare, and the reasons not to trust it.

    Times are those of one clock, at the reception.

    Attributes:
        value: (6) last wrench less the tare, in the axes of the sensor [N, Nm].
    """

    def __init__(self, largest: ArrayLike, timeout: float, frozen_time: float = 0.1) -> None:
        """Set the limits.

        Args:
            largest: force and torque beyond which a wrench is not plausible [N, Nm].
            timeout: longest time without a wrench [s].
            frozen_time: longest time with exactly the same wrench [s].
        """
        self._largest = per_entry('largest_wrench', largest, 2, least=0.0)
        check_not_negative('sensor_timeout', timeout)
        self._timeout, self._frozen_time = timeout, frozen_time
        self._samples: deque[tuple[float, Array, Array]] = deque()
        self._tare, self.value = np.zeros(6), np.zeros(6)
        self._invalid, self._same, self._same_since = NONE, 0, -math.inf
        self._received = -math.inf

    def add(self, now: float, wrench: Array, q: Array) -> None:
        """Add a sample.

        Args:
            now: time of its reception [s].
            wrench: (6) in the axes of the sensor [N, Nm].
            q: configuration of the robot then.
        """
        samples, (most, most_torque) = self._samples, self._largest
        force, torque = math.hypot(*wrench[:3]), math.hypot(*wrench[3:])
        if not (force <= most and torque <= most_torque):
            text = f'wrench of {force:.3g} N and {torque:.3g} Nm'
            limit = f'up to largest_wrench, {most:g} N and {most_torque:g} Nm'
            self.refuse(now, f'{text}, expected {limit}')
            return
        repeated = bool(samples) and np.array_equal(wrench, samples[-1][1])
        if not repeated:
            self._same, self._same_since = 0, now
        self._same += 1
        self._received, self.value = now, wrench - self._tare
        samples.append((now, wrench, q))
        while samples[0][0] < now - TARE_TIME:
            samples.popleft()

    def refuse(self, now: float, why: str) -> None:
        """Trust nothing until the next tare, because of a sample that is not valid."""
        self._received, self._invalid = now, Explanation(Reason.WRENCH_INVALID, why)
        self._samples.clear()

    def problem(self, now: float) -> Explanation:
        """Return why the wrench must move nothing; empty if it may."""
        if now - self._received > self._timeout:
            text = f'no wrench has come for {self._timeout:g} s'
            return Explanation(Reason.WRENCH_STOPPED, text)
        if self._invalid:
            return self._invalid
        same = self._received - self._same_since
        if self._same >= FROZEN_SAMPLES and same > self._frozen_time:
            text = f'the wrench has been exactly the same for {same:.1f} s'
            return Explanation(Reason.WRENCH_FROZEN, text)
        return NONE

    def tare(self, now: float, noise: ArrayLike) -> Explanation:
        """Subtract the mean of the last ``TARE_TIME`` from now on; return why not.

        Args:
            now: time [s].
            noise: largest deviation of force and torque from that mean [N, Nm].
        """
        samples = self._samples
        if len(samples) < FROZEN_SAMPLES or now - samples[0][0] < 0.5 * TARE_TIME:
            return self.problem(now) or refused(f'there is no wrench of the last {TARE_TIME:g} s')
        self._invalid = NONE
        if problem := self.problem(now):
            return problem
        wrenches = np.array([wrench for _, wrench, _ in samples])
        positions = np.array([q for _, _, q in samples])
        if np.ptp(positions, axis=0).max(initial=0.0) > AT_REST:
            return refused('the arm still moves')
        mean = wrenches.mean(axis=0)
        parts = np.linalg.norm((wrenches - mean).reshape(-1, 2, 3), axis=2).max(axis=0)
        if not (parts <= np.asarray(noise)).all():
            (force, torque), (most, most_torque) = parts, np.asarray(noise)
            expected = f'up to dead_zone, {most:g} N and {most_torque:g} Nm'
            return refused(
                f'the wrench varies by {force:.2g} N and {torque:.2g} Nm, expected {expected}; '
                'let go of the tool'
            )
        self._tare = mean
        self.value = samples[-1][1] - mean
        return NONE


def refused(why: str) -> Explanation:
    """Return that a motion by the wrench cannot begin."""
    return Explanation(Reason.ENABLE_REFUSED, f'admittance cannot begin: {why}')
