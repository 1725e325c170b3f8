# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Copy of the current robot with separate kernels, for requests or for a worker thread."""

from __future__ import annotations

import copy
from collections.abc import Set

from dynamics_ros.robot import Robot

MAX_KERNELS = 128
"""Maximum number of kernels of a twin, about 0.2 MB each."""


def kernel(name: str, *options: str) -> str:
    """Return the key of a kernel in ``Robot.kernels``."""
    return f'{name}({", ".join(options)})'


class KernelTwin:
    """Copy of the current robot, whose additional kernels are freed together with it.

    A robot with another gravity or payload shares the kernels of the previous one; so does its
    twin.
    """

    def __init__(self) -> None:
        self._robot: Robot | None = None
        self._twin: Robot | None = None

    def of(self, robot: Robot) -> Robot:
        """Return the twin of a robot; a new one if it shares no kernels with the previous robot."""
        self.follow(robot)
        if self._twin is None:
            self._twin = copy.copy(robot)
        return self._twin

    def follow(self, robot: Robot) -> None:
        """Switch to another robot; keep the twin's kernels if both robots share their kernels."""
        before, self._robot = self._robot, robot
        if robot is before or self._twin is None:
            return
        shared = before is not None and robot.shares_kernels_with(before)
        self._twin = self._twin.with_load_of(robot) if shared else None

    def forget(self) -> None:
        """Discard the twin with its kernels."""
        self._twin = None

    def owner(self, robot: Robot, needed: Set[str]) -> Robot:
        """Return the robot or its twin, whichever has or is to compile the needed kernels.

        A twin that would exceed ``MAX_KERNELS`` is replaced by a new one.
        """
        if robot.has_kernels(needed):
            return robot
        # Kernels without options are few, and the warm-up compiles most of them anyway.
        if all(name.endswith('()') for name in needed - robot.kernels.keys()):
            return robot
        twin = self.of(robot)
        if not twin.has_kernels(needed) and len(needed | twin.kernels.keys()) > MAX_KERNELS:
            self.forget()
        return self.of(robot)
