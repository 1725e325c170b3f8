# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gains that the settings of a compliant arm ask for; those that are checked are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.linear_systems import Array

from .gains import ImpedanceGains
from .impedance import ImpedanceController
from .settings import ArmSettings, Compliance

FREE = ('posture_stiffness', 'posture_damping', 'viscous', 'coulomb', 'stribeck', 'load_friction')
"""Gains of the joints that are zero while an arm brakes or gives way."""


class GainsBySettings:
    """Makes the gains of a controller from the settings of an arm.

    A check of all gains takes a large part of a cycle at 1 kHz, so checked gains are kept for the
    last settings; with a configuration only the damping changes.
    """

    def __init__(self, controller: ImpedanceController) -> None:
        self._controller = controller
        self._free: tuple[ArmSettings, ImpedanceGains] | None = None
        self._damping = controller.robot.kernel('task_damping', controller.frame)
        self._undamped: tuple[tuple[ArmSettings, Compliance, bool], ImpedanceGains] | None = None

    def wait(self) -> None:
        """Wait until the kernel is compiled."""
        self._damping.wait()

    def checked(self, settings: ArmSettings) -> ImpedanceGains:
        """Gains without damping of the tool.

        Raises:
            InvalidArgumentError: naming the setting that is wrong.
        """
        return self._made(settings, settings.compliance.stiffness, {})

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
        key = settings, compliance, posture
        if self._undamped is None or self._undamped[0] != key:
            gains = self._made(
                settings,
                compliance.stiffness,
                {} if posture else {'posture_stiffness': 0.0},
                axes=compliance.axes,
                axes_of_tool=compliance.axes_of_tool,
            )
            self._undamped = key, gains
        gains = self._undamped[1]
        damping = self._damping.call(
            *(q, gains.stiffness, compliance.axes, float(compliance.axes_of_tool)),
            *(compliance.damping_ratio, settings.largest_inertia),
            compliance.least_damping,
        )
        return gains.replaced(damping=damping)

    def free(self, settings: ArmSettings) -> ImpedanceGains:
        """Gains without springs, and without friction, which moves an arm if it is wrong."""
        if self._free is None or self._free[0] is not settings:
            loose = dict.fromkeys(FREE, 0.0)
            self._free = settings, self._made(settings, np.zeros(6), loose)
        return self._free[1]

    def _made(
        self, settings: ArmSettings, stiffness: Array, joints: Mapping[str, ArrayLike], **axes: Any
    ) -> ImpedanceGains:
        return ImpedanceGains(
            self._controller.robot,
            stiffness,
            np.zeros(6),
            joints={**settings.joints, **joints},
            largest_inertia=settings.largest_inertia,
            energy_capacity=settings.energy_capacity,
            **axes,
        )
