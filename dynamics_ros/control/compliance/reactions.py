# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Collision reactions of a compliant arm ([DeLuca2006], [Haddadin2017]).

All reactions act through ``CompliantArm``, so torque limits, torque rate limits and joint ranges
apply as in any other motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative
from dynamics_ros.multibody.linear_systems import Array

from .compliant_arm import CompliantArm

STRATEGIES = ('stop', 'float')
"""Names of the reaction strategies.

Stop: brake. Float: gravity compensation only.
"""


@dataclass(frozen=True)
class ReactionSettings:
    """Settings of the reaction to a collision.

    Attributes:
        strategy: one of ``STRATEGIES``.
        duration: longest time of a reaction [s]; inf is allowed for float only.
        damping: rate at which motion decays in float [1/s].
    """

    strategy: str = 'stop'
    duration: float = 0.5
    damping: float = 5.0

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            expected = f'one of {", ".join(STRATEGIES)}'
            raise InvalidArgumentError('strategy', repr(self.strategy), expected)
        if not self.duration > 0.0:
            raise InvalidArgumentError('duration', f'{self.duration}', 'more than 0 s')
        if np.isinf(self.duration) and self.strategy != 'float':
            raise InvalidArgumentError('duration', 'inf', f'a finite time of {self.strategy}')
        check_not_negative('damping', self.damping)


class Reaction:
    """Reaction to one collision, sample by sample; the arm brakes once it is ``over``.

    Attributes:
        over: whether the reaction has ended; always True for the strategy stop.
    """

    def __init__(self, settings: ReactionSettings, arm: CompliantArm) -> None:
        """Start a reaction.

        Args:
            settings: strategy and its values.
            arm: the arm that collided, started; its setpoint is placed at the tool.
        """
        self.settings = settings
        self.over = settings.strategy == 'stop'
        self._arm = arm
        self._elapsed = 0.0
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
        return self._arm.float_freely(q, v, dt, self.settings.damping)
