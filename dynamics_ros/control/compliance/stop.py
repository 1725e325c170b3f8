# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stop of an arm along a decaying motion, which joint springs track."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.control.command import BRAKING
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .gains import TORQUE_LIMITS, ImpedanceGains


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
    """Brings an arm to rest from the state of the first sample, and holds it there."""

    def __init__(self, robot: RigidBodySystem, frame: str) -> None:
        """Make the kernels of a robot and the frame of its tool."""
        self._kernel = robot.kernel('stop_step', frame)
        self._blind = robot.kernel('blind_stop_step')
        self._nothing = np.zeros(robot.nq + robot.nv + 1)
        self._memory = self._nothing

    def wait(self) -> None:
        """Wait until the kernels are compiled."""
        self._kernel.wait()
        self._blind.wait()

    def forget(self) -> None:
        """Start a new stop with the next sample."""
        self._memory = self._nothing

    def torques(
        self, q: Array, v: Array, dt: float, speeds: ArrayLike, gains: ImpedanceGains
    ) -> Array:
        """Torques (nv) in addition to those that compensate gravity and Coriolis forces.

        Args:
            q, v: (nq), (nv) of the sample.
            dt: time since the previous sample [s].
            speeds: (2) of the tool, beyond which it is held back [m/s, rad/s].
            gains: limits of the torques and of the inertia of the tool.
        """
        torque, self._memory = self._kernel.call(
            *(q, v, speeds, gains.joints[TORQUE_LIMITS], gains.largest_inertia),
            *(self._memory, dt),
        )
        return np.asarray(torque)

    def blind_torques(
        self, q: Array, v: Array, dt: float, gains: ImpedanceGains
    ) -> tuple[Array, Array, Array]:
        """Predicted state (nq), (nv) and torques (nv) without a sample, which ends the stop.

        Args:
            q, v: (nq), (nv) last known.
            dt: time since then [s].
            gains: limits of the torques.
        """
        memory = self._memory if self._memory[-1] else np.concatenate((q, v, [1.0]))
        # The next sample starts a new stop: a prediction must not be held as if it were measured.
        self.forget()
        next_q, next_v, torque = self._blind.call(gains.joints[TORQUE_LIMITS], memory, dt)
        return next_q, next_v, torque
