# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets of impedance control: poses, twists, wrenches and stiffnesses."""

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
from dynamics_ros.parameters.impedance import MAX_STIFFNESS, WrenchParameters
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.wire.conversions import Array, float_array

NO_WRENCH = np.zeros(6)


class StiffnessTarget(Target):
    """Stiffness in the axes of the parameter ``stiffness_frame``; it does not become stale.

    Attributes:
        stiffness: (6, 6) [N/m, Nm/rad].
    """

    name = 'stiffness_command'
    message = Float64MultiArray

    def _parse(self, message: Any, frames: Frames, q: Array) -> None:
        values = float_array(message.data)
        self.stiffness = stiffness_of('stiffness_command.data', values)
        check_size('stiffness_command.data', values, MAX_STIFFNESS)


class ArmTargets:
    """Current targets of an arm: a motion, a wrench and a stiffness.

    Attributes:
        kinds: types of the targets.
    """

    kinds = (PoseTarget, TwistTarget, WrenchTarget, StiffnessTarget)

    def __init__(self, frames: Frames, standstill: Standstill) -> None:
        self._motion: Targets[PoseTarget | TwistTarget] = Targets(frames, standstill)
        self._wrench: Targets[WrenchTarget] = Targets(frames, standstill)
        self._stiffness: Targets[StiffnessTarget] = Targets(frames, standstill)

    def take(self, kind: Any, data: bytes, q: Array, limits: WrenchParameters) -> None:
        """Take the target of a message; refuse wrenches beyond ``limits``.

        Other arguments as of ``Targets.take``.
        """
        targets: Targets[Any] = self._motion
        if kind is WrenchTarget:
            targets = self._wrench
        elif kind is StiffnessTarget:
            targets = self._stiffness
        targets.take(kind, data, q)
        if kind is WrenchTarget:
            self._check_wrench(limits)

    def _check_wrench(self, limits: WrenchParameters) -> None:
        target = self._wrench.fresh(math.inf)
        if target is None:
            return
        force, torque = target.norms
        if force > limits.force:
            bound = f'has {force:g} N, expected up to wrench.force, {limits.force:g} N'
        elif torque > limits.torque:
            bound = f'has {torque:g} Nm, expected up to wrench.torque, {limits.torque:g} Nm'
        else:
            return
        self._wrench.drop(f'{target.name} refused: {bound}')

    def drop(self, problem: str) -> None:
        """Remove the targets of motion and wrench for a reason; the stiffness stays."""
        self._motion.drop(problem)
        self._wrench.drop('')

    def drop_stiffness(self, problem: str = '') -> None:
        """Return to the stiffness of the parameters, for the reason ``problem``."""
        self._stiffness.drop(Explanation(Reason.TARGET_REFUSED, problem) if problem else '')

    @property
    def problem(self) -> str:
        """Why targets were refused or ended; '' if there is no problem."""
        problems = (x.problem for x in (self._motion, self._wrench, self._stiffness))
        return '; '.join(filter(None, problems))

    @property
    def stiffness(self) -> Array | None:
        """Last commanded stiffness (6, 6); None if that of the parameters applies."""
        target = self._stiffness.fresh(math.inf)
        return None if target is None else target.stiffness

    def follow(
        self, arm: CompliantArm, q: Array, v: Array, dt: float, timeout: float
    ) -> tuple[str, Array]:
        """Follow the targets for one sample.

        Args:
            arm: the arm.
            q, v: configuration (nq) and velocity (nv) of the sample.
            dt: time since the previous sample [s].
            timeout: age from which a target is stale [s].

        Returns:
            Description of the followed target, '' without one, and the torques (nv).
        """
        wrench, wrench_target, target = NO_WRENCH, None, None
        try:
            wrench_target = self._wrench.fresh(timeout)
            if wrench_target is not None:
                wrench = wrench_target.in_root_axes(q)
            target = self._motion.fresh(timeout)
            if isinstance(target, TwistTarget):
                twist = target.in_root_axes(q)
                return f'following {target.name}', arm.drive(q, v, dt, twist, wrench)
        except DynamicsRosError as error:  # tf no longer provides a frame
            self.drop(f'a target ended: {error}')
            target, wrench_target, wrench = None, None, NO_WRENCH
        goal = None if target is None else target.pose
        leading_target = target or wrench_target
        doing = f'following {leading_target.name}' if leading_target is not None else ''
        return doing, arm.approach(q, v, dt, goal, wrench)
