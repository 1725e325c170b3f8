"""What an inverse kinematics call answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        position_error: m, of the best configuration found, also where q is NaN.
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
