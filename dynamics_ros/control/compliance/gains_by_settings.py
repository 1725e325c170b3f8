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
from .impedance import ImpedanceController, bounded_task_inertia, unchecked_damping_of_ratio
from .settings import ArmSettings, Compliance

STANDS_FOR_TORQUE = 1e4
"""Stiffness of the posture springs that realize a joint torque [Nm/rad or N/m].

It is high, so that the equivalent joint displacement is small.
"""


class GainsBySettings:
    """Makes the gains of a controller from the settings of an arm.

    A check of all gains takes a large part of a cycle at 1 kHz, so checked gains are kept for the
    last settings; with a configuration only the damping changes.
    """

    def __init__(self, controller: ImpedanceController) -> None:
        self._controller = controller
        self._free: tuple[ArmSettings, ImpedanceGains, ImpedanceGains] | None = None
        self._undamped: tuple[tuple[ArmSettings, Compliance, bool], ImpedanceGains] | None = None

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
        pose: Array,
        *,
        posture: bool = True,
    ) -> ImpedanceGains:
        """Gains of a compliance with its damping ratio for the inertia at a configuration.

        Args:
            settings: of the arm.
            compliance: of the tool.
            q: (nq) configuration.
            pose: (4, 4) of the tool there.
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
        robot, frame = self._controller.robot, self._controller.frame
        inertia = bounded_task_inertia(robot, q, frame, settings.largest_inertia)
        R = compliance.axes
        if compliance.axes_of_tool:
            R = pose[:3, :3] @ R
        turn = np.kron(np.eye(2), R)
        damping = unchecked_damping_of_ratio(
            turn.T @ inertia @ turn, gains.stiffness, compliance.damping_ratio
        )
        return gains.with_damping(damping + np.diag(compliance.least_damping))

    def free(self, settings: ArmSettings) -> tuple[ImpedanceGains, ImpedanceGains]:
        """Gains without Cartesian springs: with torque-equivalent posture springs, and without."""
        if self._free is None or self._free[0] is not settings:
            pulled, loose = (
                self._made(
                    settings,
                    np.zeros(6),
                    {'posture_stiffness': stiffness, 'posture_damping': 0.0},
                )
                for stiffness in (STANDS_FOR_TORQUE, 0.0)
            )
            self._free = settings, pulled, loose
        return self._free[1:]

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
