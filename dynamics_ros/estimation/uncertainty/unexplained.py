# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Deviation of external torques due to errors of the model, as the robot moves.

The equations are in ``algorithms/contact/unexplained.py``. The numbers come from free motion
(``identification/uncertainty``) and reach the estimators as the parameters ``effort.model_error``
and ``unexplained.*``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import MEMORY, ROWS, SLOW
from dynamics_ros.kernels import InTurn

from .thresholds import motion_scales

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Error of a model's joint torques, learned from free motion.

    Attributes:
        constant: (nv) constant deviation in addition to sample noise [Nm or N].
        speed: (nv) deviation per velocity [Nms/rad or Ns/m].
        load: (nv) deviation per joint torque [1].
        reversal: (nv) deviation at a reversal of the joint [Nm or N].
        standing: (nv) largest friction that may hold the joint at standstill [Nm or N].
        fastest: (nv) speed up to which the model is known [rad/s or m/s].
        beyond: (nv) deviation per velocity above ``fastest`` [Nms/rad or Ns/m].
        tail: (nv) factor on the number of deviations that is a contact: ratio of the rare largest
            residuals to those of a normal distribution; 1 or more.
    """

    constant: Vector
    speed: Vector
    load: Vector
    reversal: Vector
    standing: Vector
    fastest: Vector
    beyond: Vector
    tail: Vector


class UnexplainedTorque:
    """Computes the deviation of external torques without contact as the robot moves.

    Attributes:
        deviation: (nv) at the last state [Nm or N].
        increase: (nv) increase of the thresholds at the last state [Nm or N].
    """

    def __init__(self, robot: Robot, model: Unexplained, velocity_noise: Vector) -> None:
        self._in_turn = InTurn(robot.kernel('unexplained_torque'))
        slow = slow_speeds(robot, velocity_noise)
        self._rows = np.stack([*(getattr(model, name) for name in ROWS[:-1]), slow])
        self._sigmas = np.ones(robot.nv)
        self._memory = np.zeros((MEMORY, robot.nv))
        self._stamp: int | None = None
        self.deviation = self._rows[0]
        self.increase = np.zeros(robot.nv)

    @property
    def standing(self) -> Vector:
        """(nv) largest friction that may hold a joint at standstill [Nm or N]."""
        return self._rows[ROWS.index('standing')]

    def excess(self, deviation: Vector | None = None) -> Vector:
        """Returns the part (nv) of a deviation, by default the last, that exceeds that at rest."""
        squares = np.square(self.deviation if deviation is None else deviation) - np.square(
            self._rows[0]
        )
        found: Vector = np.sqrt(np.maximum(squares, 0.0))
        return found

    def change(self, scatter: Vector, sigmas: Vector) -> None:
        """Changes the noise.

        Args:
            scatter: (nv) deviation at rest: ``constant`` and sample noise.
            sigmas: (nv) number of deviations that is a contact.
        """
        self._rows[0] = np.where(np.isfinite(scatter), scatter, 0.0)
        self._sigmas = sigmas

    def restart(self) -> None:
        """Assumes at the next state that the joints have just reversed, as after a gap."""
        self._stamp = None

    def update(self, stamp: int | Stamps, v: Vector, load: Vector) -> tuple[Vector, Vector]:
        """Processes a state, or with a leading axis several states.

        Args:
            stamp: ns.
            v: (nv) velocity.
            load: (nv) torque carried by the joints.

        Returns:
            ``deviation`` and ``increase`` at this state, or at each of them.
        """
        if not isinstance(stamp, int):
            return self._update_all(stamp, v, load)
        if stamp != self._stamp:
            before = self._before(stamp, v)
            self._stamp = stamp
            self.deviation, self.increase, self._memory = self._in_turn.kernel.call(
                v, load, self._memory, (stamp - before) * 1e-9, self._rows, self._sigmas
            )
        return self.deviation, self.increase

    def _update_all(self, stamps: Stamps, v: Vector, load: Vector) -> tuple[Vector, Vector]:
        intervals = np.diff(stamps, prepend=self._before(int(stamps[0]), v[0])) * 1e-9
        deviation, increase, memories = self._in_turn(
            v, load, self._memory, intervals, self._rows, self._sigmas
        )
        self._stamp, self._memory = int(stamps[-1]), memories[-1]
        self.deviation, self.increase = deviation[-1], increase[-1]
        return deviation, increase

    def _before(self, stamp: int, v: Vector) -> int:
        """Returns the previous stamp, or ``stamp`` itself if the motion before is unknown."""
        if self._stamp is None or stamp < self._stamp:
            self._memory = np.stack([v, np.ones_like(v), np.zeros_like(v), v])
            return stamp
        return self._stamp


NOISY = 4.0
"""Least ratio of the speed of a joint that is not at rest to the noise of its velocity."""


def slow_speeds(robot: Robot, velocity_noise: Vector) -> Vector:
    """Returns the speeds (nv) below which joints are near a reversal or at rest."""
    return np.maximum(SLOW * motion_scales(robot), NOISY * velocity_noise)
