# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torques of a standing robot from desired accelerations of base and feet, one QP per step.

`WholeBodyProblem` solves tasks in strict priority and takes milliseconds. Here dynamics, contacts,
friction and torque limits are constraints and the tasks are weighted costs: one quadratic program,
whose matrices one kernel computes, solved by DAQP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.control.whole_body import SETTINGS
from dynamics_ros.errors import DynamicsRosError, InfeasibleError, InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, finite_vector
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

try:
    import daqp
except ImportError:
    daqp = None

SOLVED = 1
"""Exit flag of DAQP for a solved program."""

EQUALITY = 5
"""Flag of DAQP for an equality constraint."""


@dataclass(frozen=True)
class StandingSettings:
    """Weights of the tasks, and ground properties.

    Attributes:
        base_linear, base_angular: weights of the base acceleration.
        swing: weight of the acceleration of swing feet.
        posture: weight of the joint accelerations; small, for the freedom that the other tasks
            leave.
        force: weight of the contact forces.
        friction: coefficient.
        least_force, largest_force: of a standing foot along z [N].
    """

    base_linear: float = 1.0
    base_angular: float = 1.0
    swing: float = 1.0
    posture: float = 1e-3
    force: float = 1e-6
    friction: float = 0.6
    least_force: float = 5.0
    largest_force: float = 1e4


@dataclass(frozen=True, eq=False)
class StandingMotion:
    """Result of a step.

    Attributes:
        tau: (joints) torques [Nm, N if prismatic].
        a: (nv) accelerations.
        forces: (feet, 3) of the ground on the feet, in root axes [N].
    """

    tau: Array
    a: Array
    forces: Array


class StandingRobot:
    """Computes the torques of a robot with point feet, state by state.

    Attributes:
        robot, feet: the robot and the frames of its feet.
        limits: (joints) torque limits [Nm, N if prismatic].
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        feet: Sequence[str],
        settings: StandingSettings | None = None,
        limits: ArrayLike | None = None,
    ) -> None:
        """Make the kernel.

        Args:
            robot: with a floating base.
            feet: frames whose origins may stand on level ground.
            settings: weights and ground properties.
            limits: (joints) torque limits; None means those of the description.

        Raises:
            DynamicsRosError: DAQP is not installed.
            InvalidArgumentError: the base does not float, or a setting is negative.
            UnknownFrameError: the robot has no such frame.
        """
        if daqp is None:
            raise DynamicsRosError('a robot on its feet needs daqp (pip install daqp)')
        if robot.model.root_joint != 'floating':
            raise InvalidArgumentError(
                'robot', f'its base is {robot.model.root_joint}', 'a floating base'
            )
        settings = settings or StandingSettings()
        for name, value in zip(SETTINGS, astuple(settings), strict=True):
            check_not_negative(name, value)
        self.robot, self.feet = robot, tuple(feet)
        joints = len(robot.joint_names)
        given = robot.effort_limits if limits is None else limits
        self.limits = np.minimum(np.asarray(given, dtype=float), 1e30)
        if self.limits.shape != (joints,):
            raise InvalidArgumentError('limits', f'shape {self.limits.shape}', f'({joints},)')
        self._settings = np.array(astuple(settings))
        self._kernel = robot.kernel('whole_body_program', *self.feet)
        self._sense: dict[bytes, NDArray[np.int32]] = {}

    def solve(
        self,
        q: Array,
        v: Array,
        base: Array,
        swing: Array,
        posture: Array,
        standing: ArrayLike,
    ) -> StandingMotion:
        """Compute the torques of one state.

        Args:
            q, v: (nq), (nv).
            base: (6) desired acceleration of the base, in root axes [m/s^2, rad/s^2].
            swing: (feet, 3) desired accelerations of the swing feet, in root axes [m/s^2]; rows of
                standing feet are ignored.
            posture: (joints) desired joint accelerations.
            standing: (feet) whether each foot stands.

        Raises:
            InfeasibleError: no torques and forces within their limits keep the standing feet at
                rest.
        """
        stands = finite_vector('standing', standing, len(self.feet))
        inputs = (q, v, base, swing, posture, stands, self.limits, self._settings)
        H, g, A, lower, upper, effects = self._kernel.call(*inputs)
        x, _, end, _ = daqp.solve(H, g, A, upper, lower, self._senses(stands))
        if end != SOLVED:
            raise InfeasibleError('forces and torques of a robot on its feet', float(end))
        m, first = 3 * len(self.feet), self.robot.model.root_joint_nv
        tau = A[-len(self.limits) :] @ x + effects[first:]
        return StandingMotion(tau, x[m:], x[:m].reshape(-1, 3))

    def _senses(self, stands: Array) -> NDArray[np.int32]:
        """Row flags for DAQP: equalities for the base and the standing feet."""
        key = stands.tobytes()
        if key not in self._sense:
            m, first = 3 * len(stands), self.robot.model.root_joint_nv
            sense = np.zeros(m + first + m + 4 * len(stands) + len(self.limits), dtype=np.int32)
            sense[m : m + first] = EQUALITY
            sense[m + first : m + first + m] = EQUALITY * np.repeat(stands > 0.5, 3)
            self._sense[key] = sense
        return self._sense[key]
