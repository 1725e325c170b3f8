# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plausibility check of measured joint motion: impossible samples must not be used for control."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.motion_check import CHECKS
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .gains import NO_LIMIT, joint_ranges

FASTEST = 10.0
"""Velocity limit assumed where the robot description has none [rad/s or m/s]."""

BEYOND = 0.1
"""Distance outside its range from which a joint cannot have got there by motion [rad or m].

Either the range is not that of the robot or the position has an offset, e.g. of a full turn. A
torque that pulls the joint back would move the arm.
"""

BELIEVABLE = 1e6
"""Largest absolute value of a plausible input (rad, m, their rates, N and Nm)."""

JUMP, CONTRADICTION = map(CHECKS.index, ('jump', 'contradiction'))


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
    """Compares each sample of an arm with the previous ones and with the ranges of the joints."""

    def __init__(self, robot: RigidBodySystem) -> None:
        self._robot = robot
        self._kernel = robot.kernel('motion_check')
        self._limits = velocity_limits(robot)
        self._ranges = JointRanges(robot)
        self._nothing = np.zeros((2, robot.nv))
        self.begin(robot.neutral(), np.zeros(robot.nv))

    def begin(self, q: Array, v: Array) -> None:
        """Start a new comparison at this state (nq), (nv)."""
        self._q, self._v, self._memory = q, v, self._nothing

    def wait(self) -> None:
        """Wait until the kernel is compiled."""
        self._kernel.wait()

    def judge(self, q: Array, v: Array, dt: float) -> str:
        """Describe what is physically impossible in a sample; '' if nothing is.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: time since the previous sample [s].
        """
        if not math.isfinite(math.hypot(*q.tolist(), *v.tolist())):
            return 'positions or velocities are no numbers'
        excess, self._memory = self._kernel.call(
            q, v, self._q, self._v, self._memory, self._limits, min(dt, NO_LIMIT)
        )
        self._q, self._v = q, v
        jumped, beyond, apart = excess[JUMP], self._ranges.beyond(q), excess[CONTRADICTION]
        if jumped.max() > 0.0:
            return f'the position of {self._name(jumped)} has jumped'
        if beyond.max() > BEYOND:
            return f'{self._name(beyond)} is {beyond.max():.2f} beyond its range'
        if apart.max() > 0.0:
            return f'positions and velocities of {self._name(apart)} contradict each other'
        return ''

    def _name(self, excess: Array) -> str:
        """Name of the joint with the largest excess (nv)."""
        joints, k = self._robot.model.joints, int(excess.argmax())
        return next(x.name for x in joints if x.leader is None and k in x.v_indices)


def velocity_limits(robot: RigidBodySystem) -> Array:
    """Velocity limits (nv) [rad/s or m/s], ``FASTEST`` where the description has none."""
    limits = np.full(robot.nv, np.inf)
    limits[robot.nv - len(robot.velocity_limits) :] = robot.velocity_limits
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, FASTEST)


def believable(*values: ArrayLike) -> bool:
    """Whether all values are within the range of plausible inputs."""
    # The length bounds each entry, and is quicker to compute for arrays this small.
    return all(
        math.hypot(*x.flat) <= BELIEVABLE or bool(np.abs(x).max(initial=0.0) <= BELIEVABLE)
        for x in map(np.asarray, values)
    )
