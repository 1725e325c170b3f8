# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plausibility check of measured joint motion: impossible samples must not be used for control."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .gains import joint_ranges

JUMP = 0.01
"""Position error allowed in addition to what the velocity limits permit [rad or m]."""

FASTEST = 10.0
"""Velocity limit assumed where the robot description has none [rad/s or m/s]."""

MEMORY = 0.5
"""Time constant over which positions and velocities are compared [s]."""

APART, SHARE_APART = 0.02, 0.5
"""Allowed difference between integrated velocity and position change.

The first is absolute [rad or m], the second a share of the distance moved. Filter delay stays below
it; velocities in wrong units exceed it.
"""

LONGEST_STEP = 0.05
"""Longest sample interval over which velocities are integrated [s]."""


BEYOND = 0.1
"""Distance outside its range from which a joint cannot have got there by motion [rad or m].

Either the range is not that of the robot or the position has an offset, e.g. of a full turn. A
torque that pulls the joint back would move the arm.
"""


BELIEVABLE = 1e6
"""Largest absolute value of a plausible input (rad, m, their rates, N and Nm)."""


class JointRanges:
    """Distance of joints from their ranges."""

    def __init__(self, robot: RigidBodySystem) -> None:
        self._lower, self._upper = joint_ranges(robot)
        single = robot.joint_v_indices
        self._v_places = list(single.values())
        self._q_places = [robot.joint_q_indices[name] for name in single]

    def beyond(self, q: Array) -> Array:
        """Distance (nv) outside the range [rad or m]: negative inside, -inf without a range."""
        angles = np.zeros(len(self._lower))
        angles[self._v_places] = q[self._q_places]
        return np.maximum(self._lower - angles, angles - self._upper)


class MotionCheck:
    """Compares each sample of an arm with the previous ones."""

    def __init__(self, robot: RigidBodySystem) -> None:
        self._robot = robot
        self._limits = velocity_limits(robot)
        self._ranges = JointRanges(robot)
        self.begin(robot.neutral(), np.zeros(robot.nv))

    def begin(self, q: Array, v: Array) -> None:
        """Start a new comparison at this state (nq), (nv)."""
        self._q, self._v = q, v
        self._apart, self._way = np.zeros(self._robot.nv), np.zeros(self._robot.nv)

    def judge(self, q: Array, v: Array, dt: float) -> str:
        """Describe what is physically impossible in a sample; '' if nothing is.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: time since the previous sample [s].
        """
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return 'positions or velocities are no numbers'
        moved = np.asarray(self._robot.difference(self._q, q))
        jumped = self._jumped(moved, v, dt)
        apart = self._disagreement(moved, v, dt)
        self._q, self._v = q, v
        if jumped is not None:
            return f'the position of {self._name(jumped)} has jumped'
        beyond = self._ranges.beyond(q)
        worst = int(beyond.argmax())
        if beyond[worst] > BEYOND:
            return f'{self._name(worst)} is {beyond[worst]:.2f} beyond its range'
        if apart is not None:
            return f'positions and velocities of {self._name(apart)} contradict each other'
        return ''

    def _jumped(self, moved: Array, v: Array, dt: float) -> int | None:
        """Index of a joint that cannot have moved this far within dt [s], or None.

        An impact may drive a joint far beyond its velocity limit, so motion at the mean of the
        previous and the current velocity is accepted too. Where velocities are differences of
        positions, this accepts half of a jump.
        """
        most = 2.0 * self._limits * dt + JUMP
        gone_on = 0.5 * (self._v + v) * dt
        explained = np.clip(moved, np.minimum(gone_on, 0.0), np.maximum(gone_on, 0.0))
        return _worst(np.abs(moved - explained) - most)

    def _disagreement(self, moved: Array, v: Array, dt: float) -> int | None:
        """Index of a joint whose velocities do not match its positions, or None.

        The springs use positions and the dampers use velocities, so both must be right. Where a
        driver differentiates positions, no difference is found.
        """
        if not 0.0 < dt < LONGEST_STEP:
            self.begin(self._q, self._v)
            return None
        told, kept = 0.5 * (self._v + v) * dt, math.exp(-dt / MEMORY)
        self._apart = kept * self._apart + told - moved
        self._way = kept * self._way + np.maximum(np.abs(told), np.abs(moved))
        return _worst(np.abs(self._apart) - APART - SHARE_APART * self._way)

    def _name(self, k: int) -> str:
        joints = self._robot.model.joints
        return next(x.name for x in joints if x.leader is None and k in x.v_indices)


def velocity_limits(robot: RigidBodySystem) -> Array:
    """Velocity limits (nv) [rad/s or m/s], ``FASTEST`` where the description has none."""
    limits = np.full(robot.nv, np.inf)
    limits[robot.nv - len(robot.velocity_limits) :] = robot.velocity_limits
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, FASTEST)


def believable(*values: ArrayLike) -> bool:
    """Whether all values are within the range of plausible inputs."""
    return all(np.abs(x).max(initial=0.0) <= BELIEVABLE for x in values)


def _worst(excess: Array) -> int | None:
    worst = int(excess.argmax())
    return worst if excess[worst] > 0.0 else None
