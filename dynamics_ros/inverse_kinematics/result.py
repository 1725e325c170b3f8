# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The result of one inverse kinematics problem."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.multibody.end_effector.manipulability import manipulability
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .chain import Chain

CONVERGED = 'converged'
"""A configuration within tolerances and limits was found."""

TIMED_OUT = 'timed_out'
"""The time ran out; nothing says whether a solution exists."""

STALLED = 'stalled'
"""Every start was used and ended in its own local minimum."""

UNREACHABLE = 'unreachable'
"""The target lies outside a bound on the reach, or several starts ended at one closest approach."""


@dataclass(frozen=True, eq=False)
class InverseKinematicsResult:
    """The answer of one inverse kinematics problem.

    Attributes:
        q: (nq) the solution, inside the limits, each unbounded joint on the turn nearest the seed.
            Without a solution: the closest configuration found where ``approximate`` was asked
            for, NaN otherwise, so that it cannot be commanded by mistake.
        success: whether q was confirmed by forward kinematics and limits after the search.
        position_error: m, of the best configuration found, also where q is NaN; of several frames
            the worst, of a target with slack what is beyond it.
        rotation_error: rad, the same; 0 when only the position was asked for.
        iterations: of all starts together.
        reason: 'converged', 'timed_out', 'unreachable' or 'stalled'.
        elapsed: s.
    """

    q: NDArray[np.float64]
    success: bool
    position_error: float
    rotation_error: float
    iterations: int
    reason: str
    elapsed: float
    _robot: RigidBodySystem = field(repr=False)
    _chain: Chain = field(repr=False)

    def __init__(
        self,
        q: NDArray[np.float64],
        success: bool,
        position_error: float,
        rotation_error: float,
        iterations: int,
        reason: str,
        elapsed: float,
        robot: RigidBodySystem,
        chain: Chain,
    ) -> None:
        """Keep the values; the one that a frozen class has by itself takes three times as long."""
        self.__dict__.update(
            q=q,
            success=success,
            position_error=position_error,
            rotation_error=rotation_error,
            iterations=iterations,
            reason=reason,
            elapsed=elapsed,
            _robot=robot,
            _chain=chain,
        )

    @computed_once
    def limit_margin(self) -> float:
        """Distance to the nearest limit of the joints that move the frame [rad or m], or inf."""
        positions, chain = self.q[self._chain.q_index], self._chain
        return float(np.minimum(positions - chain.lower, chain.upper - positions).min())

    @computed_once
    def manipulability(self) -> float:
        """Yoshikawa's measure, 0 at a singularity; of several frames the least [Yoshikawa]."""
        columns = self._chain.v_index
        if np.isnan(self.q).any():
            return float('nan')
        return min(
            manipulability(self._robot.jacobian(self.q, frame)[:, columns])
            for frame in self._chain.frames
        )
