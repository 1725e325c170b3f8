# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The result of one inverse kinematics problem."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.multibody.end_effector import manipulability
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .chain import Chain

CONVERGED = 'converged'
"""Reason: a configuration within tolerances and limits was found."""

TIMED_OUT = 'timed_out'
"""Reason: the time ran out; it is unknown whether a solution exists."""

STALLED = 'stalled'
"""Reason: all starts were used and ended in different local minima."""

UNREACHABLE = 'unreachable'
"""Reason: the target is beyond the bound on the reach, or starts agree in a closest approach."""

COLLIDING = 'colliding'
"""Reason: solutions were found, and all of them are in collision."""


@dataclass(frozen=True, eq=False)
class InverseKinematicsResult:
    """Result of one inverse kinematics problem.

    Attributes:
        q: (nq) the solution within the limits; joints without limits are within half a turn of the
            seed. Without a solution: the closest configuration, which must not be commanded
            unless it is wanted; see ``success``.
        success: whether forward kinematics and limits confirmed q after the search.
        position_error: position error of q [m]; the worst of
            several frames; with slack, the part beyond the slack.
        rotation_error: rotation error of q [rad], defined like
            ``position_error``; 0 if only the position counts.
        iterations: total number of steps of all starts.
        reason: 'converged', 'timed_out', 'unreachable', 'stalled' or 'colliding'.
        elapsed: [s].
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
        """Keep the values; the generated method of a frozen dataclass takes three times as long."""
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
        """Manipulability [Yoshikawa], 0 at a singularity; the smallest of several frames."""
        columns = self._chain.v_index
        return min(
            manipulability(self._robot.jacobian(self.q, frame)[:, columns])
            for frame in self._chain.frames
        )
