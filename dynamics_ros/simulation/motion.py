# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The slow motion of the simulated robot: where it moves around, and how."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

_CANDIDATES = 512
_HALF_RANGE = 1.5  # rad or m: postures of joints that turn farther are looked for this far
_SHARE_OF_RANGE = 0.6  # of the range between the limits, so that the motion keeps away from them
_AMPLITUDE = 0.25  # rad or m
_SHARE_OF_AMPLITUDE = 0.12  # of the range between the limits
_SHARE_OF_SPEED = 0.25  # of the velocity limit
_PERIOD = 8.0  # s, of the first joint; the others are slower, so that the motion does not repeat
_RAMP = 2.0  # s, from rest to the full amplitude
_LENGTH = 0.3  # m that weighs rotation against translation, the size of a hand


@dataclass(frozen=True)
class SmoothMotion:
    """Joint sinusoids around a posture that begin and grow smoothly from rest.

    Attributes:
        center: (n) posture in the middle [rad, m].
        amplitude: (n) [rad, m]; zero stands still.
        frequency: (n) angular frequencies [rad/s].
    """

    center: Array
    amplitude: Array
    frequency: Array

    def at(self, t: float) -> tuple[Array, Array]:
        """(n) position and (n) velocity wanted at time t [s] since the beginning."""
        s = min(max(t / _RAMP, 0.0), 1.0)
        # The quintic that has zero velocity and acceleration at both ends.
        ramp = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        ramp_rate = 30.0 * s * s * (1.0 - s) ** 2 / _RAMP
        wave, slope = np.sin(self.frequency * t), np.cos(self.frequency * t)
        position = self.center + ramp * self.amplitude * wave
        velocity = self.amplitude * (ramp_rate * wave + ramp * self.frequency * slope)
        return position, velocity

    @computed_once
    def standing(self) -> SmoothMotion:
        """The same posture without the motion."""
        return SmoothMotion(self.center, np.zeros_like(self.amplitude), self.frequency)


def slow_motion(robot: Robot, posture: Array) -> SmoothMotion:
    """A motion around a posture, within a share of the position and velocity limits.

    Args:
        robot: fixed base, joints of one coordinate.
        posture: (n) inside the limits.
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
    """A posture well inside the limits in which the tool can be moved, and felt, in all directions.

    The middle of the limits is stretched out and singular on many arms. So of some hundred
    postures, drawn with a fixed seed, the one is taken whose tool Jacobian has the largest smallest
    singular value; a tool below the root, often inside a table, counts half.

    Args:
        robot: fixed base, joints of one coordinate.
        tool: a frame of the robot.

    Returns:
        (n) joint positions inside the limits.
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
    # Joints elsewhere on the robot stay in the middle: they do not change the score.
    postures[:, ~moving] = middle[~moving]
    weighted = J[:, :, moving] * np.array([1.0, 1.0, 1.0, _LENGTH, _LENGTH, _LENGTH])[:, None]
    smallest = np.linalg.svd(weighted, compute_uv=False)[:, -1]
    below = robot.forward_kinematics(postures, tool)[:, 2, 3] < 0.0
    best: Array = postures[int(np.argmax(np.where(below, 0.5 * smallest, smallest)))]
    return best
