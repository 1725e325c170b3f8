# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Collision reactions of a compliant arm ([DeLuca2006], [Haddadin2017]).

All reactions act through ``CompliantArm``, so torque limits, torque rate limits, joint ranges and
the energy tank apply as in any other motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics_ros.algorithms.control.compliance.trail import SIZE
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, check_positive
from dynamics_ros.multibody.kernel_set import kernel_without_robot
from dynamics_ros.multibody.linear_systems import Array

from .compliant_arm import CompliantArm
from .setpoint import Setpoint

STRATEGIES = ('stop', 'float', 'retract')
"""Names of the reaction strategies.

Stop: brake. Float: gravity compensation only. Retract: move back along the path of the tool.
"""


@dataclass(frozen=True)
class ReactionSettings:
    """Settings of the reaction to a collision.

    Attributes:
        strategy: one of ``STRATEGIES``.
        duration: longest time of a reaction [s]; inf is allowed for float only.
        damping: rate at which motion decays in float [1/s].
        distance: path length that the tool retracts along its trail [m].
    """

    strategy: str = 'stop'
    duration: float = 0.5
    damping: float = 5.0
    distance: float = 0.1

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            expected = f'one of {", ".join(STRATEGIES)}'
            raise InvalidArgumentError('strategy', repr(self.strategy), expected)
        if not self.duration > 0.0:
            raise InvalidArgumentError('duration', f'{self.duration}', 'more than 0 s')
        if np.isinf(self.duration) and self.strategy != 'float':
            raise InvalidArgumentError('duration', 'inf', f'a finite time of {self.strategy}')
        check_not_negative('damping', self.damping)
        check_positive('distance', self.distance)


class Trail:
    """Recent path of a tool, as poses in the root frame.

    Attributes:
        distance: path length that the trail covers [m]; may be assigned at any time.
    """

    def __init__(self, distance: float = 0.1) -> None:
        """Start without poses; waits for the kernels, as there is no time for it in motion."""
        self.distance = distance
        self._poses = np.zeros(SIZE)
        self._step = kernel_without_robot('trail_step')
        self._back = kernel_without_robot('retract_step')

    def note(self, pose: Array) -> None:
        """Store a pose (4, 4) unless it is close to the last one."""
        self._poses = self._step.call(self._poses, pose, self.distance)

    def forget(self) -> None:
        """Delete all poses."""
        self._poses = np.zeros(SIZE)

    def way_back(
        self, setpoint: Setpoint, passed: float, distance: float
    ) -> tuple[Array, float, bool]:
        """Pose (4, 4) to which a setpoint has to move now, its own where there is no way back.

        Args:
            setpoint: that moves back along the trail.
            passed: path length from the latest pose that it has passed [m].
            distance: path length at which the way ends [m].

        Returns:
            The pose, the path length passed now, and whether the setpoint is at rest at the end.
        """
        goal, passed, arrived = self._back.call(
            self._poses, passed, setpoint.pose, setpoint.twist, distance
        )
        return goal, float(passed), bool(arrived > 0.5)


class Reaction:
    """Reaction to one collision, sample by sample; the arm brakes once it is ``over``.

    Attributes:
        over: whether the reaction has ended; always True for the strategy stop.
    """

    def __init__(self, settings: ReactionSettings, arm: CompliantArm, trail: Trail) -> None:
        """Start a reaction.

        Args:
            settings: strategy and its values.
            arm: the arm that collided, started; its setpoint is placed at the tool.
            trail: recent path of its tool.
        """
        self.settings = settings
        self.over = settings.strategy == 'stop'
        self._arm = arm
        self._elapsed = 0.0
        self._trail, self._passed = trail, 0.0
        arm.stay()

    def step(self, q: Array, v: Array, dt: float) -> Array:
        """Compute the torques of one sample.

        Args:
            q, v, dt: as for ``CompliantArm.approach``.

        Returns:
            Torques (nv).
        """
        self._elapsed += dt
        self.over = self.over or self._elapsed > self.settings.duration
        if self.over:
            return self._arm.brake(q, v, dt)
        if self.settings.strategy == 'float':
            return self._arm.float_freely(q, v, dt, self.settings.damping)
        goal, self._passed, self.over = self._trail.way_back(
            self._arm.setpoint, self._passed, self.settings.distance
        )
        return self._arm.approach(q, v, dt, goal)
