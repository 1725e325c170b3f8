# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether joints can have moved as is measured: what cannot be must not be controlled by."""

from __future__ import annotations

import math

import numpy as np

from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .gains import joint_ranges

JUMP = 0.01
"""rad or m that positions may be off beside what the velocity limits allow."""

FASTEST = 10.0
"""rad/s or m/s in place of a velocity limit that the description does not have."""

MEMORY = 0.5
"""Seconds over which positions and velocities are compared."""

APART, SHARE_APART = 0.02, 0.5
"""rad or m, and the share of the way, by which velocities may miss what positions have moved:
filters are late, and units of velocities that are wrong miss by more."""

LONGEST_STEP = 0.05
"""Seconds between two samples over which a velocity tells how far a joint has moved."""


BEYOND = 0.1
"""rad or m beyond its range from which on a joint did not come there by motion: the range is not
that of the robot, or the position is off, as by a turn. What draws it back would move the arm."""


class JointRanges:
    """How far joints are beyond their ranges."""

    def __init__(self, robot: RigidBodySystem) -> None:
        self._lower, self._upper = joint_ranges(robot)
        single = robot.joint_v_indices
        self._v_places = list(single.values())
        self._q_places = [robot.joint_q_indices[name] for name in single]

    def beyond(self, q: Array) -> Array:
        """(nv) [rad or m], negative within; -inf for joints without a range."""
        angles = np.zeros(len(self._lower))
        angles[self._v_places] = q[self._q_places]
        return np.maximum(self._lower - angles, angles - self._upper)


class MotionCheck:
    """Compares each sample of an arm with those before it."""

    def __init__(self, robot: RigidBodySystem) -> None:
        self._robot = robot
        self._limits = velocity_limits(robot)
        self._ranges = JointRanges(robot)
        self.begin(robot.neutral(), np.zeros(robot.nv))

    def begin(self, q: Array, v: Array) -> None:
        """Take these (nq), (nv) for where the arm is, whatever was before."""
        self._q, self._v = q, v
        self._apart, self._way = np.zeros(self._robot.nv), np.zeros(self._robot.nv)

    def judge(self, q: Array, v: Array, dt: float) -> str:
        """What cannot be, in words; '' when all can.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: since the one before [s].
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
        """The joint that cannot have moved so within dt [s], if any.

        A push may drive a joint far beyond its velocity limit. So it may have gone on at the mean
        of the velocity that it had and has. Where velocities are differences of positions, that
        explains half of a jump.
        """
        most = 2.0 * self._limits * dt + JUMP
        gone_on = 0.5 * (self._v + v) * dt
        explained = np.clip(moved, np.minimum(gone_on, 0.0), np.maximum(gone_on, 0.0))
        return _worst(np.abs(moved - explained) - most)

    def _disagreement(self, moved: Array, v: Array, dt: float) -> int | None:
        """The joint whose velocities tell another way than its positions, if any.

        Springs pull at positions that stand still, and dampers brake by velocities: both have to
        be those of the joint. Where a driver makes velocities of positions, nothing is found.
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
    """(nv) [rad/s or m/s], ``FASTEST`` where the description has none."""
    limits = np.full(robot.nv, np.inf)
    limits[robot.nv - len(robot.velocity_limits) :] = robot.velocity_limits
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, FASTEST)


def _worst(excess: Array) -> int | None:
    worst = int(excess.argmax())
    return worst if excess[worst] > 0.0 else None
