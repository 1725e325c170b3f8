# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Slow motion of a simulated robot without commands: its posture and its sinusoids."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

_CANDIDATES = 512
_HALF_RANGE = 1.5  # largest distance of sampled postures from the middle of a range [rad or m]
_SHARE_OF_RANGE = 0.6  # sampled fraction of the range between the limits
_AMPLITUDE = 0.25  # largest amplitude [rad or m]
_SHARE_OF_AMPLITUDE = 0.12  # largest amplitude as a fraction of the range between the limits
_SHARE_OF_SPEED = 0.25  # largest speed as a fraction of the velocity limit
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
        _AMPLITUDE, _SHARE_OF_AMPLITUDE * (robot.upper_limits - robot.lower_limits)
    )
    amplitude = np.minimum(amplitude, 0.8 * np.maximum(room, 0.0))
    amplitude = np.minimum(amplitude, _SHARE_OF_SPEED * robot.velocity_limits / frequency)
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
    middle = np.where(
        unbounded,
        np.clip(0.0, lower, upper),
        0.5 * (np.where(unbounded, 0.0, lower) + np.where(unbounded, 0.0, upper)),
    )
    reach = np.where(
        unbounded,
        _HALF_RANGE,
        np.minimum(0.5 * _SHARE_OF_RANGE * np.where(unbounded, 0.0, upper - lower), _HALF_RANGE),
    )
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
