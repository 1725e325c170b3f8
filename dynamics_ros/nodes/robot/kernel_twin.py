# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels that one user of the robot in force has for itself."""

from __future__ import annotations

import copy

from dynamics_ros.robot import Robot


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
