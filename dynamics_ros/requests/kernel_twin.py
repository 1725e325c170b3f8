# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels that one user of the robot in force has for itself."""

from __future__ import annotations

import copy
from collections.abc import Set

from dynamics_ros.robot import Robot

MAX_KERNELS = 128
"""Kernels that requests may have made for frames that are not configured, some 0.2 MB each."""


def kernel(name: str, *options: str) -> str:
    """What ``Robot.kernels`` calls a kernel."""
    return f'{name}({", ".join(options)})'


class KernelTwin:
    """A copy of the robot in force with kernels of its own, which go with it.

    A robot with another gravity or payload shares the kernels of the one before; so does its twin.
    """

    def __init__(self) -> None:
        self._robot: Robot | None = None
        self._twin: Robot | None = None

    def of(self, robot: Robot) -> Robot:
        """The twin of a robot, without kernels if the robot has others than the one before."""
        self.follow(robot)
        if self._twin is None:
            self._twin = copy.copy(robot)
        return self._twin

    def follow(self, robot: Robot) -> None:
        """Let go of the robot before; keep the kernels if this one shares those of that one."""
        before, self._robot = self._robot, robot
        if robot is before or self._twin is None:
            return
        shared = before is not None and robot.shares_kernels_with(before)
        self._twin = self._twin.with_load_of(robot) if shared else None

    def forget(self) -> None:
        """Let go of the kernels."""
        self._twin = None

    def home(self, robot: Robot, needed: Set[str]) -> Robot:
        """Where kernels of these names are, or are to be made: the robot in force or its twin.

        A twin that would have too many is replaced by a fresh one.
        """
        if robot.has_kernels(needed):
            return robot
        # Those without options are few, and soon there anyway.
        if all(name.endswith('()') for name in needed - robot.kernels.keys()):
            return robot
        twin = self.of(robot)
        if not twin.has_kernels(needed) and len(needed | twin.kernels.keys()) > MAX_KERNELS:
            self.forget()
        return self.of(robot)
