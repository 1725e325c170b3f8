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
from dynamics_ros.kernels import Kernel
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
        self._values = np.zeros(SIZE)
        self._step, self._way_step = (
            kernel_without_robot('trail_step'),
            kernel_without_robot('retract_step'),
        )

    def note(self, pose: Array) -> None:
        """Store a pose (4, 4) unless it is close to the last one."""
        self._values = self._step.call(self._values, pose, self.distance)

    def forget(self) -> None:
        """Delete all poses."""
        self._values = np.zeros(SIZE)

    def way_back(self, distance: float) -> WayBack:
        """The way back from the latest pose, up to a path length [m]."""
        return WayBack(self._way_step, self._values, distance)


class WayBack:
    """Target poses of a tool that moves back along a trail.

    Attributes:
        arrived: whether the setpoint of the last step was at rest at the end of the way.
    """

    def __init__(self, step: Kernel, trail: Array, distance: float) -> None:
        """Start at the latest pose.

        Args:
            step: kernel ``retract_step``.
            trail: as of ``Trail``.
            distance: path length [m].
        """
        self._step, self._trail, self._distance, self._passed = step, trail, distance, 0.0
        self.arrived = False

    def goal(self, setpoint: Setpoint) -> Array:
        """Pose (4, 4) to which the setpoint has to move now; its own where there is no way."""
        goal, passed, arrived = self._step.call(
            self._trail, self._passed, setpoint.pose, setpoint.twist, self._distance
        )
        self._passed, self.arrived = float(passed), bool(arrived > 0.5)
        return np.asarray(goal)


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
        self._way = trail.way_back(settings.distance)
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
        tau = self._arm.approach(q, v, dt, self._way.goal(self._arm.setpoint))
        self.over = self._way.arrived
        return tau
