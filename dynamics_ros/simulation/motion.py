# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference motions of the joint controllers: slow sinusoids around a posture, and commands."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

_CANDIDATES = 512
_MAX_HALF_RANGE = 1.5  # largest distance of sampled postures from the middle of a range [rad or m]
_RANGE_FRACTION = 0.6  # sampled fraction of the range between the limits
_AMPLITUDE = 0.25  # largest amplitude [rad or m]
_AMPLITUDE_FRACTION = 0.12  # largest amplitude as a fraction of the range between the limits
_SPEED_FRACTION = 0.25  # largest speed as a fraction of the velocity limit
_PERIOD = 8.0  # period of the first joint [s]; others are slower, so the motion does not repeat
_RAMP = 2.0  # time from rest to the full amplitude [s]
_LENGTH = 0.3  # length by which rotations are weighted against translations [m]


@dataclass(frozen=True)
class SmoothMotion:
    """Sinusoidal joint motions around a posture that start smoothly from rest.

    Attributes:
        center: (n) posture in the middle of the motion [rad, m].
        amplitude: (n) amplitudes [rad, m]; zero for no motion.
        frequency: (n) angular frequencies [rad/s].
    """

    center: Array
    amplitude: Array
    frequency: Array

    def at(self, t: float) -> tuple[Array, Array]:
        """Reference positions (n) and velocities (n) at the time t since the start [s]."""
        s = min(max(t / _RAMP, 0.0), 1.0)
        # Quintic polynomial with zero velocity and acceleration at both ends.
        ramp = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        ramp_rate = 30.0 * s * s * (1.0 - s) ** 2 / _RAMP
        wave, slope = np.sin(self.frequency * t), np.cos(self.frequency * t)
        position = self.center + ramp * self.amplitude * wave
        velocity = self.amplitude * (ramp_rate * wave + ramp * self.frequency * slope)
        return position, velocity

    @computed_once
    def standing(self) -> SmoothMotion:
        """The posture of this motion, without the motion."""
        return SmoothMotion(self.center, np.zeros_like(self.amplitude), self.frequency)


def slow_motion(robot: Robot, posture: Array) -> SmoothMotion:
    """Slow motion around a posture, well within the position and velocity limits.

    Args:
        robot: fixed base, joints with one coordinate each.
        posture: (n) posture inside the limits.
    """
    n = robot.nv
    periods = _PERIOD * (1.0 + 0.13 * np.arange(n, dtype=np.float64))
    frequency = np.divide(2.0 * math.pi, periods)
    room = np.minimum(posture - robot.lower_limits, robot.upper_limits - posture)
    amplitude = np.minimum(
        _AMPLITUDE, _AMPLITUDE_FRACTION * (robot.upper_limits - robot.lower_limits)
    )
    amplitude = np.minimum(amplitude, 0.8 * np.maximum(room, 0.0))
    amplitude = np.minimum(amplitude, _SPEED_FRACTION * robot.velocity_limits / frequency)
    return SmoothMotion(posture, amplitude, frequency)


def comfortable_posture(robot: Robot, tool: str) -> Array:
    """A posture well inside the limits in which the tool can move in all directions.

    The middle of the limits is a singular posture of many arms. Therefore hundreds of postures are
    sampled with a fixed random seed, and the one with the largest smallest singular value of the
    tool's Jacobian is returned. Postures with the tool below the root frame, often inside a table,
    count with half of that value.

    Args:
        robot: fixed base, joints with one coordinate each.
        tool: tool frame of the robot.

    Returns:
        Joint positions (n) inside the limits.
    """
    lower, upper = robot.lower_limits, robot.upper_limits
    unbounded = ~np.isfinite(lower) | ~np.isfinite(upper)
    low, high = np.where(unbounded, 0.0, lower), np.where(unbounded, 0.0, upper)
    middle = np.where(unbounded, np.clip(0.0, lower, upper), 0.5 * (low + high))
    reach = np.minimum(0.5 * _RANGE_FRACTION * (high - low), _MAX_HALF_RANGE)
    reach[unbounded] = _MAX_HALF_RANGE
    rng = np.random.default_rng(0)
    postures = middle + reach * rng.uniform(-1.0, 1.0, size=(_CANDIDATES, robot.nq))
    postures = np.clip(postures, lower, upper)
    J = robot.jacobian(postures, tool)
    moving = np.any(J != 0.0, axis=(0, 1))
    if not moving.any():
        return middle
    # Joints that do not move the tool do not affect the score; they stay in the middle.
    postures[:, ~moving] = middle[~moving]
    weighted = J[:, :, moving] * np.array([1.0, 1.0, 1.0, _LENGTH, _LENGTH, _LENGTH])[:, None]
    smallest = np.linalg.svd(weighted, compute_uv=False)[:, -1]
    below = robot.forward_kinematics(postures, tool)[:, 2, 3] < 0.0
    best: Array = postures[int(np.argmax(np.where(below, 0.5 * smallest, smallest)))]
    return best


class CommandedMotion:
    """A reference motion, with the interface of ``SmoothMotion``, that follows commands.

    Each command is active until the next command or until its end; then the joints hold their
    positions. Times are simulated times [s].
    """

    def __init__(self, q: Array, lower: Array, upper: Array) -> None:
        """Start at rest.

        Args:
            q: (n) initial positions.
            lower, upper: (n) position limits, to which commanded positions are clipped.
        """
        self._lower, self._upper = lower, upper
        self._start(0.0, np.zeros(1), q[np.newaxis], np.zeros((1, len(q))))

    def at(self, t: float) -> tuple[Array, Array]:
        """Reference positions and velocities (n each) at the time t [s]."""
        time, q, v = self._trajectory
        q, v = _cubic(time, q, v, min(max(t - self._begin, 0.0), time[-1]))
        return np.clip(q, self._lower, self._upper), v if t < self._begin + time[-1] else 0.0 * v

    def move(self, v: Array, t: float, duration: float) -> None:
        """Follow velocities v (n) from the time t [s] for a duration [s]."""
        q, _ = self.at(t)
        time = np.array([0.0, duration])
        self._start(t, time, np.stack([q, q + duration * v]), np.stack([v, v]))

    def reach(self, q: Array, t: float, duration: float) -> None:
        """Move from the time t [s] to positions q (n) within a duration [s], and hold them."""
        self.move((q - self.at(t)[0]) / duration, t, duration)

    def follow(self, time: Array, q: Array, v: Array, t: float) -> None:
        """Follow a trajectory from the time t [s] on, and hold its last positions.

        Args:
            time: (points) times relative to t [s].
            q, v: (points, n) positions and velocities.
            t: start of the trajectory [s].
        """
        if time[0] > 0.0:
            # The trajectory starts at the current reference positions, at rest.
            time = np.concatenate([[0.0], time])
            q, v = np.vstack([self.at(t)[0], q]), np.vstack([0.0 * v[:1], v])
        self._start(t, time, q, v)

    def _start(self, t: float, time: Array, q: Array, v: Array) -> None:
        self._begin, self._trajectory = t, (time, q, v)


def _cubic(time: Array, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return positions and velocities of the cubic Hermite spline through (points, n) q and v."""
    if time[-1] <= 0.0:
        return q[0], v[0]
    k = min(int(np.searchsorted(time[1:], t)), len(time) - 2)
    step = time[k + 1] - time[k]
    slope = (q[k + 1] - q[k]) / step
    # q(s) = q_k + v_k s + b s^2 + c s^3, with s from the beginning of the segment
    s = t - time[k]
    b = (3.0 * slope - 2.0 * v[k] - v[k + 1]) / step
    c = (v[k] + v[k + 1] - 2.0 * slope) / step**2
    return q[k] + s * (v[k] + s * (b + s * c)), v[k] + s * (2.0 * b + 3.0 * s * c)
