# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Results of inverse kinematics: of one problem or several, and distinct solutions of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.multibody.end_effector import manipulability
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .chain import Chain, Vector

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


@dataclass(eq=False)
class InverseKinematicsResult:
    """Result of one inverse kinematics problem, or of several: then all but ``elapsed`` are arrays.

    Attributes:
        q: (..., nq) the solution within the limits; joints without limits are within half a turn of
            the seed. Without a solution: the closest configuration, which must not be commanded
            unless it is wanted; see ``success``.
        success: whether forward kinematics and limits confirmed q after the search.
        position_error: position error of q [m]; the worst of
            several frames; with slack, the part beyond the slack.
        rotation_error: rotation error of q [rad], defined like
            ``position_error``; 0 if only the position counts.
        iterations: total number of steps of all starts.
        reason: 'converged', 'timed_out', 'unreachable', 'stalled' or 'colliding'.
        elapsed: total time [s].
    """

    q: NDArray[np.float64]
    success: Any
    position_error: Any
    rotation_error: Any
    iterations: Any
    reason: Any
    elapsed: float
    _robot: RigidBodySystem = field(repr=False)
    _chain: Chain = field(repr=False)

    @computed_once
    def limit_margin(self) -> Any:
        """Distance to the nearest limit of the joints that move the frame [rad or m], or inf."""
        positions, chain = self.q[..., self._chain.q_index], self._chain
        margins = np.minimum(positions - chain.lower, chain.upper - positions).min(axis=-1)
        return margins if margins.ndim else float(margins)

    @computed_once
    def manipulability(self) -> Any:
        """Manipulability [Yoshikawa], 0 at a singularity; the smallest of several frames."""
        columns, frames = self._chain.v_index, self._chain.frames
        jacobians = (self._robot.jacobian(self.q, frame) for frame in frames)
        return reduce(np.minimum, [manipulability(J[..., columns]) for J in jacobians])


class Solutions(Sequence[InverseKinematicsResult]):
    """Sequence of distinct solutions; each result object is created when it is read.

    Attributes:
        q: (k, nq) all solutions.
        elapsed: total time [s].
    """

    __slots__ = ('_iterations', '_of', '_squares', 'elapsed', 'q')

    def __init__(
        self,
        of: tuple[RigidBodySystem, Chain],
        q: Vector,
        squares: Vector,
        iterations: Sequence[int] | None,
        elapsed: float,
    ) -> None:
        """Store the data of the results.

        Args:
            of: robot and chain of the problem.
            q: (k, nq) solutions.
            squares: (k, 2) or more rows: squared position error [m^2] and rotation error [rad^2].
            iterations: (k) steps of a search; None for a closed form.
            elapsed: total time [s].
        """
        self._of, self.q, self._squares = of, q, squares
        self._iterations, self.elapsed = iterations, elapsed

    def chosen(self, rows: Sequence[int]) -> Solutions:
        """Some of the solutions of a closed form, by their indices."""
        return Solutions(self._of, self.q[rows], self._squares[rows], None, self.elapsed)

    def __len__(self) -> int:
        return len(self.q)

    @overload
    def __getitem__(self, index: int) -> InverseKinematicsResult: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[InverseKinematicsResult, ...]: ...

    def __getitem__(
        self, index: int | slice
    ) -> InverseKinematicsResult | tuple[InverseKinematicsResult, ...]:
        if isinstance(index, slice):
            return tuple([self[k] for k in range(len(self))[index]])
        k = range(len(self))[index]
        position, rotation = map(math.sqrt, self._squares[k, :2].tolist())
        steps = 0 if self._iterations is None else self._iterations[k]
        result = self.q[k], True, position, rotation, steps, CONVERGED, self.elapsed
        return InverseKinematicsResult(*result, *self._of)

    def __repr__(self) -> str:
        return f'<{len(self)} solutions>'
