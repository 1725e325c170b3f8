# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the model leaves unexplained of external torques, state after state.

Equations are in ``algorithms/contact/unexplained.py``; the numbers come from free motion
(``identification/uncertainty``) and reach the estimators as ``effort.model_error`` and
``unexplained.*``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import MEMORY, ROWS

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Unexplained:
    """What a model leaves over of the torques of each joint, as free motion has shown.

    Attributes:
        constant: (nv) deviation at any time, beyond the noise of the samples [Nm or N].
        speed: (nv) deviation per velocity [Nms/rad or Ns/m].
        load: (nv) deviation per torque of the joint [1].
        reversal: (nv) deviation where the joint turns round [Nm or N].
        standing: (nv) largest friction that may hold the joint while it stands still [Nm or N].
        tail: (nv) factor on deviations that are a contact: how much farther off residuals are,
            where they are rare, than noise of a normal distribution; 1 or more.
    """

    constant: Vector
    speed: Vector
    load: Vector
    reversal: Vector
    standing: Vector
    tail: Vector


class UnexplainedTorque:
    """The deviation of external torques without contact, as the robot moves.

    Attributes:
        deviation: (nv) at the last state [Nm or N].
        more: (nv) what thresholds were higher by then [Nm or N].
    """

    def __init__(self, robot: Robot, model: Unexplained) -> None:
        self._kernel = robot.kernel('unexplained_torque')
        self._rows = np.stack([getattr(model, name) for name in ROWS])
        self._sigmas = np.ones(robot.nv)
        self._memory = np.zeros((MEMORY, robot.nv))
        self._stamp: int | None = None
        self.deviation = self._rows[0]
        self.more = np.zeros(robot.nv)

    @property
    def excess(self) -> Vector:
        """(nv) what the deviation is beyond that at rest."""
        squares = np.square(self.deviation) - np.square(self._rows[0])
        found: Vector = np.sqrt(np.maximum(squares, 0.0))
        return found

    def change(self, scatter: Vector, sigmas: Vector) -> None:
        """Reckon with noise.

        Args:
            scatter: (nv) deviation at rest, ``constant`` and the noise of the samples.
            sigmas: (nv) deviations that are a contact.
        """
        self._rows[0] = np.where(np.isfinite(scatter), scatter, 0.0)
        self._sigmas = sigmas

    def update(self, stamp: int, v: Vector, load: Vector) -> None:
        """Take in a state: stamp [ns], velocity, torque that the joints carry."""
        before = self._stamp
        if before is None or not 0 < stamp - before < LONGEST:
            if before == stamp:
                return
            # Whether joints have just turned is not known: they may have.
            self._memory = np.stack([v, np.ones_like(v), np.zeros_like(v)])
            before = stamp
        self._stamp = stamp
        self.deviation, self.more, self._memory = self._kernel.call(
            v, load, self._memory, (stamp - before) * 1e-9, self._rows, self._sigmas
        )


LONGEST = 1_000_000_000
"""ns between two states after which nothing is known of the time between."""
