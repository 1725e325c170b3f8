# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How an arm comes to rest: along a motion that decays, held to it by springs of the joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.impedance import BRAKING
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

RATE = 10.0
"""1/s of the springs, which are critically damped."""

LEASH = 0.1
"""rad or m that a joint is at most drawn by, so that a person who is clamped can push it away."""

SHARE = 0.25
"""Of its largest torque, that the springs of a joint have at the end of the leash: what is held
may be much heavier than the links beyond a wrist."""

STABLE, STABLE_ALONE = 0.5, 0.15
"""Most that dampers take from a velocity within one sample: all joints together as their inertia
has it, and each for itself."""

SHARE_OF_RATE = 0.5
"""Of the largest rate of a torque, that a decay may ask for: what is late by more drives."""

TINY = 1e-9
"""Nms or Ns: a momentum that needs no torque."""


def decayed(
    robot: RigidBodySystem, q: Array, v: Array, ages: ArrayLike, rate: float = BRAKING
) -> tuple[Array, Array]:
    """Where joints are that brake, some time after they were last known.

    Args:
        robot: whose.
        q, v: (nq), (nv) as they were then.
        ages: (nv) or one number: since then [s].
        rate: at which motion decays [1/s].

    Returns:
        (nq), (nv).
    """
    decay = np.exp(-rate * np.asarray(ages, dtype=np.float64))
    moved = (1.0 - decay) / rate * v
    return np.asarray(robot.integrate(q, moved)), decay * v


class Stop:
    """Brings joints to rest from where they are when it begins."""

    def __init__(
        self, robot: RigidBodySystem, q: Array, v: Array, largest: Array, rates: Array
    ) -> None:
        """Begin.

        Args:
            robot: that comes to rest.
            q, v: (nq), (nv) it does so from.
            largest: (nv) torques of its joints [Nm or N].
            rates: (nv) largest rates of these [Nm/s or N/s].
        """
        self._robot = robot
        self._q, self._v = q, v
        self._largest, self._rates = largest, rates

    def torques(self, q: Array, v: Array, dt: float) -> Array:
        """Torques (nv) beside those that carry the arm and make up for Coriolis forces.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: since the one before [s].
        """
        robot = self._robot
        M = robot.mass_matrix(q)
        rate = min(self._rate(M, v), 0.5 * STABLE / dt)
        # What holds a joint up, as an obstacle does, is not pressed against.
        forwards = np.sign(self._v)
        self._v = forwards * np.clip(forwards * v, 0.0, np.abs(self._v))
        self._q, self._v = decayed(robot, self._q, self._v, dt, rate)
        off = np.clip(robot.difference(q, self._q), -LEASH, LEASH)
        off = np.where(off * forwards > 0.0, 0.0, off)
        self._q = np.asarray(robot.integrate(q, off))
        drawn = rate * rate * off + 2.0 * rate * (self._v - v)
        # A joint that moves next to no inertia would be held by next to no torque.
        own = 1.0 / np.diag(robot.mass_matrix_inverse(q))
        late = np.sqrt(SHARE_OF_RATE * self._rates * own / np.maximum(np.abs(v), TINY))
        stable = np.minimum(STABLE_ALONE / dt * own, late) / (2.0 * rate) - own
        most = SHARE * self._largest / (rate * rate * LEASH)
        more = np.clip(stable, 0.0, most)
        # Coriolis forces do no work. What makes up for them does where it is late.
        coriolis = robot.nonlinear_effects(q, v) - robot.gravity(q)
        return np.asarray(M @ (drawn - rate * self._v) + more * drawn - coriolis)

    def blind_torques(self, dt: float) -> tuple[Array, Array, Array]:
        """The same without a sample, where joints are taken to be by then (nq), (nv), and torques.

        Args:
            dt: since the last sample [s].
        """
        M = self._robot.mass_matrix(self._q)
        rate = self._rate(M, self._v)
        self._q, self._v = decayed(self._robot, self._q, self._v, dt, rate)
        return self._q, self._v, np.asarray(-rate * M @ self._v)

    def _rate(self, M: Array, v: Array) -> float:
        """At which motion decays [1/s]: a torque d M v that decays with d changes by d^2 M v."""
        momentum = np.maximum(np.abs(M) @ np.abs(v), TINY)
        return min(RATE, float(np.sqrt((SHARE_OF_RATE * self._rates / momentum).min())))
