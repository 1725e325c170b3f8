# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot on its feet: torques from wanted accelerations of base and feet, a program a step.

`WholeBodyProblem` puts tasks in strict order and takes milliseconds; here physics, contacts,
friction and torque limits are strict, and tasks are weighed: a single quadratic program, whose
matrices one kernel fills, solved by DAQP.
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
"""DAQP's word for it."""

EQUALITY = 5
"""DAQP's mark of a row that holds exactly."""


@dataclass(frozen=True)
class StandingSettings:
    """Weights and the ground.

    Attributes:
        base_linear, base_angular: weight of the acceleration of the base.
        swing: of feet in the air.
        posture: of the joints, small: what the others leave open.
        force: of the forces of the ground.
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
    """What a step found.

    Attributes:
        tau: (joints) torques.
        a: (nv) accelerations.
        forces: (feet, 3) of the ground, root axes.
    """

    tau: Array
    a: Array
    forces: Array


class StandingRobot:
    """Computes torques of a robot with point feet, state after state.

    Attributes:
        robot, feet: what stands on what.
        limits: (joints) of the torques.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        feet: Sequence[str],
        settings: StandingSettings | None = None,
        limits: ArrayLike | None = None,
    ) -> None:
        """Have the kernel made.

        Args:
            robot: with a floating base.
            feet: frames whose origins may stand on level ground.
            settings: weights and the ground.
            limits: (joints) of the torques; None: those of the description.

        Raises:
            DynamicsRosError: DAQP is not installed.
            InvalidArgumentError: a base that does not float, or a setting below zero.
            UnknownFrameError: a frame that there is not.
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
        """Torques of one state.

        Args:
            q, v: (nq), (nv).
            base: (6) acceleration that is wanted of the base, root axes.
            swing: (feet, 3) accelerations that are wanted of the feet in the air, root axes; rows
                of feet that stand are not read.
            posture: (joints) accelerations of the joints.
            standing: (feet) which stand.

        Raises:
            InfeasibleError: no torques and forces within their limits keep the feet at rest.
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
        """DAQP's marks of the rows: the base and standing feet hold exactly."""
        key = stands.tobytes()
        if key not in self._sense:
            m, first = 3 * len(stands), self.robot.model.root_joint_nv
            sense = np.zeros(m + first + m + 4 * len(stands) + len(self.limits), dtype=np.int32)
            sense[m : m + first] = EQUALITY
            sense[m + first : m + first + m] = EQUALITY * np.repeat(stands > 0.5, 3)
            self._sense[key] = sense
        return self._sense[key]
