# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an arm on springs is told to do: poses, twists, wrenches and stiffnesses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from std_msgs.msg import Float64MultiArray

from dynamics_ros.commanding.arm_settings import stiffness_of
from dynamics_ros.commanding.standstill import Standstill
from dynamics_ros.control import CompliantArm
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.commanding.targets import (
    Frames,
    PoseTarget,
    Target,
    Targets,
    TwistTarget,
    WrenchTarget,
    check_size,
)
from dynamics_ros.parameters.impedance import LARGEST_STIFFNESS, WrenchParameters
from dynamics_ros.wire.conversions import Array, float_array

NO_WRENCH = np.zeros(6)


class StiffnessTarget(Target):
    """Another stiffness, in the axes of the parameter ``stiffness_frame``; it has no age.

    Attributes:
        stiffness: (6, 6) [N/m, Nm/rad].
    """

    name = 'stiffness_command'
    message = Float64MultiArray

    def _take(self, message: Any, frames: Frames, q: Array) -> None:
        values = float_array(message.data)
        self.stiffness = stiffness_of('stiffness_command.data', values)
        check_size('stiffness_command.data', values, LARGEST_STIFFNESS)


class Orders:
    """All that an arm is told to do.

    Attributes:
        kinds: of messages.
    """

    kinds = (PoseTarget, TwistTarget, WrenchTarget, StiffnessTarget)

    def __init__(self, frames: Frames, standstill: Standstill) -> None:
        self._motion: Targets[PoseTarget | TwistTarget] = Targets(frames, standstill)
        self._wrench: Targets[WrenchTarget] = Targets(frames, standstill)
        self._stiffness: Targets[StiffnessTarget] = Targets(frames, standstill)

    def take(self, kind: Any, data: bytes, q: Array, largest: WrenchParameters) -> None:
        """Take a message; arguments as of ``Targets.take``, and what may be asked for."""
        targets: Targets[Any] = self._motion
        if kind is WrenchTarget:
            targets = self._wrench
        elif kind is StiffnessTarget:
            targets = self._stiffness
        targets.take(kind, data, q)
        if kind is WrenchTarget:
            self._check_wrench(largest)

    def _check_wrench(self, largest: WrenchParameters) -> None:
        target = self._wrench.fresh(math.inf)
        if target is None:
            return
        force, torque = target.lengths
        if force > largest.force:
            bound = f'has {force:g} N, expected up to wrench.force, {largest.force:g} N'
        elif torque > largest.torque:
            bound = f'has {torque:g} Nm, expected up to wrench.torque, {largest.torque:g} Nm'
        else:
            return
        self._wrench.drop(f'{target.name} refused: {bound}')

    def drop(self, problem: str) -> None:
        """Have the tool held; the stiffness stays."""
        self._motion.drop(problem)
        self._wrench.drop('')

    def drop_stiffness(self) -> None:
        """Have the stiffness of the parameters."""
        self._stiffness.drop('')

    @property
    def problem(self) -> str:
        """What was refused or ended, and why; '' when there is nothing wrong."""
        problems = (x.problem for x in (self._motion, self._wrench, self._stiffness))
        return '; '.join(filter(None, problems))

    @property
    def stiffness(self) -> Array | None:
        """(6, 6) that was commanded last; None: that of the parameters."""
        told = self._stiffness.fresh(math.inf)
        return None if told is None else told.stiffness

    def follow(
        self, arm: CompliantArm, q: Array, v: Array, dt: float, timeout: float
    ) -> tuple[str, Array]:
        """Go on for one sample.

        Args:
            arm: that is moved.
            q, v, dt: the sample, and since when [s].
            timeout: s after which a target is stale.

        Returns:
            What is followed, '' for nothing, and the torques (nv).
        """
        wrench, pressing, target = NO_WRENCH, None, None
        try:
            pressing = self._wrench.fresh(timeout)
            if pressing is not None:
                wrench = pressing.in_root_axes(q)
            target = self._motion.fresh(timeout)
            if isinstance(target, TwistTarget):
                twist = target.in_root_axes(q)
                return f'following {target.name}', arm.drive(q, v, dt, twist, wrench)
        except DynamicsRosError as error:  # tf no longer knows a frame
            self.drop(f'a target ended: {error}')
            target, pressing, wrench = None, None, NO_WRENCH
        goal = None if target is None else target.pose
        leading = target or pressing
        doing = f'following {leading.name}' if leading is not None else ''
        return doing, arm.approach(q, v, dt, goal, wrench)
