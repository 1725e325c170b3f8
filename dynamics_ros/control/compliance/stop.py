# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stop of an arm along a decaying motion, which joint springs track."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.command import BRAKING
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

RATE = 10.0
"""Rate of the critically damped joint springs [1/s]."""

LEASH = 0.1
"""Largest spring deflection of a joint [rad or m]; a clamped person can push the joint away."""

SHARE = 0.25
"""Share of the torque limit that a joint's spring has at its largest deflection.

A held load may be much heavier than the links beyond a wrist.
"""

STABLE, STABLE_ALONE = 0.5, 0.15
"""Largest share of a velocity that damping removes within one sample.

The first is for all joints together by the mass matrix, the second for each joint alone.
"""

SHARE_OF_RATE = 0.5
"""Share of the largest torque rate that a decay may use: torques that lag more drive the motion."""

TINY = 1e-9
"""Lower bound of a momentum used as a divisor [Nms or Ns]."""


def decayed(
    robot: RigidBodySystem, q: Array, v: Array, ages: ArrayLike, rate: float = BRAKING
) -> tuple[Array, Array]:
    """Predict the state of braking joints some time after the last known state.

    Args:
        robot: the robot of the joints.
        q, v: (nq), (nv) last known.
        ages: (nv) or one number: time since then [s].
        rate: decay rate of the motion [1/s].

    Returns:
        (nq), (nv).
    """
    decay = np.exp(-rate * np.asarray(ages, dtype=np.float64))
    moved = (1.0 - decay) / rate * v
    return np.asarray(robot.integrate(q, moved)), decay * v


class Stop:
    """Brings joints to rest from the state in which it starts."""

    def __init__(
        self, robot: RigidBodySystem, q: Array, v: Array, largest: Array, rates: Array
    ) -> None:
        """Start a stop.

        Args:
            robot: the robot to bring to rest.
            q, v: (nq), (nv) initial state.
            largest: (nv) torque limits of the joints [Nm or N].
            rates: (nv) limits of the torque rates [Nm/s or N/s].
        """
        self._robot = robot
        self._q, self._v = q, v
        self._largest, self._rates = largest, rates

    def torques(self, q: Array, v: Array, dt: float) -> Array:
        """Torques (nv) in addition to those that compensate gravity and Coriolis forces.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: time since the previous sample [s].
        """
        robot = self._robot
        M = robot.mass_matrix(q)
        rate = min(self._rate(M, v), 0.5 * STABLE / dt)
        # Does not press against an obstacle that stops a joint.
        forwards = np.sign(self._v)
        self._v = forwards * np.clip(forwards * v, 0.0, np.abs(self._v))
        self._q, self._v = decayed(robot, self._q, self._v, dt, rate)
        off = np.clip(robot.difference(q, self._q), -LEASH, LEASH)
        off = np.where(off * forwards > 0.0, 0.0, off)
        self._q = np.asarray(robot.integrate(q, off))
        drawn = rate * rate * off + 2.0 * rate * (self._v - v)
        # A joint with a small share of the inertia would get almost no holding torque from M alone.
        own = 1.0 / np.diag(robot.mass_matrix_inverse(q))
        late = np.sqrt(SHARE_OF_RATE * self._rates * own / np.maximum(np.abs(v), TINY))
        stable = np.minimum(STABLE_ALONE / dt * own, late) / (2.0 * rate) - own
        most = SHARE * self._largest / (rate * rate * LEASH)
        more = np.clip(stable, 0.0, most)
        # Coriolis forces do no work, but a delayed compensation of them does.
        coriolis = robot.nonlinear_effects(q, v) - robot.gravity(q)
        return np.asarray(M @ (drawn - rate * self._v) + more * drawn - coriolis)

    def blind_torques(self, dt: float) -> tuple[Array, Array, Array]:
        """Torques without a sample: returns the predicted state (nq), (nv) and torques (nv).

        Args:
            dt: time since the last sample [s].
        """
        M = self._robot.mass_matrix(self._q)
        rate = self._rate(M, self._v)
        self._q, self._v = decayed(self._robot, self._q, self._v, dt, rate)
        return self._q, self._v, np.asarray(-rate * M @ self._v)

    def _rate(self, M: Array, v: Array) -> float:
        """Decay rate of the motion [1/s]: a torque d M v that decays with d changes by d^2 M v."""
        momentum = np.maximum(np.abs(M) @ np.abs(v), TINY)
        return min(RATE, float(np.sqrt((SHARE_OF_RATE * self._rates / momentum).min())))
