# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gains that the settings of a compliant arm ask for; those that are checked are kept."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dynamics_ros.multibody.linear_systems import Array

from .gains import ImpedanceGains
from .impedance import ImpedanceController
from .settings import ArmSettings, Compliance

FREE = ('posture_stiffness', 'posture_damping', 'viscous', 'coulomb', 'stribeck', 'load_friction')
"""Gains of the joints that are zero while an arm brakes or gives way."""


NO_SPRINGS = Compliance(np.zeros((6, 6)))
"""Compliance of an arm that brakes or gives way."""


class GainsBySettings:
    """Makes the gains of a controller from the settings of an arm.

    A check of all gains takes a large part of a cycle at 1 kHz, so checked gains are kept for the
    last settings; with a configuration only the damping changes.
    """

    def __init__(self, controller: ImpedanceController) -> None:
        self._controller = controller
        self._damping = controller.robot.kernel('task_damping', controller.frame)
        self._undamped = lru_cache(maxsize=8)(self._made)

    def wait(self) -> None:
        """Wait until the kernel is compiled."""
        self._damping.wait()

    def checked(self, settings: ArmSettings) -> ImpedanceGains:
        """Gains without damping of the tool.

        Raises:
            InvalidArgumentError: naming the setting that is wrong.
        """
        return self._undamped(settings, settings.compliance, True)

    def damped(
        self,
        settings: ArmSettings,
        compliance: Compliance,
        q: Array,
        *,
        posture: bool = True,
    ) -> ImpedanceGains:
        """Gains of a compliance with its damping ratio for the inertia at a configuration.

        Args:
            settings: of the arm.
            compliance: of the tool.
            q: (nq) configuration.
            posture: whether springs hold the posture too.
        """
        gains = self._undamped(settings, compliance, posture)
        damping = self._damping.call(
            *(q, gains.stiffness, compliance.axes, float(compliance.axes_of_tool)),
            *(compliance.damping_ratio, settings.largest_inertia),
            compliance.least_damping,
        )
        return gains.replaced(damping=damping)

    def free(self, settings: ArmSettings) -> ImpedanceGains:
        """Gains without springs, and without friction, which moves an arm if it is wrong."""
        return self._undamped(settings, NO_SPRINGS, False)

    def _made(self, settings: ArmSettings, compliance: Compliance, posture: bool) -> ImpedanceGains:
        zero = FREE if compliance is NO_SPRINGS else () if posture else FREE[:1]
        return ImpedanceGains(
            self._controller.robot,
            compliance.stiffness,
            np.zeros(6),
            axes=compliance.axes,
            axes_of_tool=compliance.axes_of_tool,
            joints={**settings.joints, **dict.fromkeys(zero, 0.0)},
            largest_inertia=settings.largest_inertia,
            energy_capacity=settings.energy_capacity,
        )
