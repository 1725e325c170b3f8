# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Locator of contacts for the current robot, made in a worker thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import ContactLocator
from dynamics_ros.estimation.contact.geometry import ContactGeometry
from dynamics_ros.parameters.contact import LocationParameters
from dynamics_ros.robot import Robot

from .kernel_twin import KernelTwin


class LocatorMaker:
    """Makes locators of contacts; reads the collision geometry once for each description.

    All calls must come from the same thread.
    """

    def __init__(self) -> None:
        self._twin = KernelTwin()
        self._key = ('', 0.0)
        self._geometry = ContactGeometry({}, (), '')

    def make(
        self,
        robot: Robot,
        noise: NDArray[np.float64],
        description: str,
        settings: LocationParameters,
        check: Callable[[], None],
    ) -> tuple[ContactLocator, ContactGeometry, bool]:
        """Return a compiled locator, the geometry, and whether the geometry has been read now.

        Args:
            robot: the current robot.
            noise: standard deviations of external torques (nv) [Nm or N].
            description: URDF as XML text.
            settings: resolution and friction of the surfaces.
            check: called between two links; raises to cancel.

        Raises:
            DynamicsRosError: the geometry cannot be read.
        """
        key = description, settings.resolution
        is_new = key != self._key
        if is_new:
            self._geometry, self._key = ContactGeometry.read(robot, *key, check), key
        twin = self._twin.of(robot)  # has the kernels of every link
        locator = self._geometry.locator(twin, noise, settings.friction)
        locator.compile(check)
        return locator, self._geometry, is_new
