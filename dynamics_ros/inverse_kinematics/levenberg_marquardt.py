"""One local search: damped least squares inside the joint limits."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from .chain import Chain
from .pose_error import pose_error

if TYPE_CHECKING:
    from ..robot import Robot

Vector = NDArray[np.float64]

DAMPING = 0.1
"""Least ratio of the damping to the squared error [Sugihara2011]."""

DAMPING_FLOOR = 1e-12
"""Keeps the normal equations definite when the error vanishes at a singular configuration."""

LARGEST_DAMPING = 1e6
"""A step that still fails under this damping is below the resolution of the arithmetic."""

LONGEST_STEP = 1.0
"""Largest move of one joint in a step [rad or m]: beyond it the Jacobian says nothing."""

SLOW_STEPS = 3
"""So many steps in a row that gain too little end a search."""


@dataclass(frozen=True)
class Effort:
    """How long a search goes on: at most ``iterations``, while steps gain ``gain`` (relative)."""

    iterations: int
    gain: float


SEARCH = Effort(iterations=40, gain=0.1)
"""A quick look: a new start is worth more than a slow approach."""

REFINE = Effort(iterations=200, gain=1e-6)
"""Down to the bottom of a minimum, for the closest approach to a target out of reach."""


@dataclass(frozen=True)
class Tolerances:
    """How near is near enough: m, rad, and whether the rotation counts at all."""

    position: float
    rotation: float
    position_only: bool

    def met_by(self, error: Vector) -> bool:
        """Whether this error, (3) or (6), counts as arrived."""
        return norm(error[:3]) <= self.position and norm(error[3:]) <= self.rotation


@dataclass(frozen=True, eq=False)
class Local:
    """Where a search ended: joint positions of the chain and the error there."""

    positions: Vector
    error: Vector
    iterations: int

    @property
    def cost(self) -> float:
        """What the search minimises: the squared length of the error."""
        return float(self.error @ self.error)


class LocalSearch:
    """Brings a frame to a target by Levenberg-Marquardt steps from given joint positions.

    Minimises |position error|^2 + |rotation error|^2, 1 m counting as 1 rad. The damping is the
    squared error times a factor that grows while steps fail: far from the target steps are careful,
    near it they become Gauss-Newton steps and converge quadratically, at singular configurations
    too [Sugihara2011]. Limits hold at every step by projection: a joint at its limit that would be
    pushed on leaves the step [Bertsekas1982].
    """

    def __init__(
        self,
        robot: Robot,
        chain: Chain,
        frame: str,
        target: Vector,
        base: Vector,
        tolerances: Tolerances,
    ) -> None:
        """Set up the problem.

        Args:
            robot: the robot.
            chain: the joints that move the frame.
            frame: name of the frame to move.
            target: (4, 4) wanted pose in the root frame.
            base: (nq) gives the coordinates that are not of the chain.
            tolerances: when to stop.
        """
        self._robot = robot
        self._chain = chain
        self._frame = frame
        self._target = target
        self._q = base.copy()
        self._tolerances = tolerances
        # Turning joints run freely: which turn is nearest is decided afterwards.
        self._lower = np.where(chain.turning, -np.inf, chain.lower)
        self._upper = np.where(chain.turning, np.inf, chain.upper)
        self._identity = np.eye(len(chain.lower))

    def configuration(self, positions: Vector) -> Vector:
        """The whole q (nq) with these joint positions."""
        q = self._q.copy()
        q[self._chain.q_index] = positions
        return q

    def error(self, positions: Vector) -> Vector:
        """Position error [m] and, unless only the position counts, rotation error [rad]."""
        self._q[self._chain.q_index] = positions
        pose = self._robot.forward_kinematics(self._q, self._frame)
        if self._tolerances.position_only:
            position: Vector = self._target[:3, 3] - pose[:3, 3]
            return position
        return pose_error(self._target, pose)

    def run(self, start: Vector, effort: Effort, deadline: float) -> Local:
        """Search from the positions ``start`` (n) until arrived, too slow, or out of time.

        Args:
            start: (n) joint positions within the limits.
            effort: how long to insist.
            deadline: on the clock of ``time.perf_counter`` [s].
        """
        positions, error = start, self.error(start)
        cost = float(error @ error)
        factor, slow, iterations = DAMPING, 0, 0
        while not self._tolerances.met_by(error):
            if iterations >= effort.iterations or slow >= SLOW_STEPS:
                break
            if time.perf_counter() > deadline:
                break
            jacobian = self._jacobian(positions)
            gradient = error @ jacobian
            normal = jacobian.T @ jacobian
            free = self._free_to_move(positions, gradient)
            while factor < LARGEST_DAMPING:
                iterations += 1
                step = self._step(normal, gradient, factor * cost + DAMPING_FLOOR, free)
                moved = np.minimum(np.maximum(positions + step, self._lower), self._upper)
                moved_error = self.error(moved)
                moved_cost = float(moved_error @ moved_error)
                if moved_cost < cost:
                    break
                factor *= 5.0
            else:
                break
            slow = slow + 1 if moved_cost > (1.0 - effort.gain) * cost else 0
            factor = max(0.5 * factor, DAMPING)
            positions, error, cost = moved, moved_error, moved_cost
        return Local(positions, error, iterations)

    def _jacobian(self, positions: Vector) -> Vector:
        self._q[self._chain.q_index] = positions
        jacobian = self._robot.jacobian(self._q, self._frame)
        rows = 3 if self._tolerances.position_only else 6
        columns: Vector = jacobian[:rows, self._chain.v_index]
        return columns

    def _free_to_move(self, positions: Vector, gradient: Vector) -> NDArray[np.intp] | None:
        """Joints that the step may use; None for all. ``gradient`` points downhill."""
        stuck = (positions <= self._lower) & (gradient < 0.0)
        stuck |= (positions >= self._upper) & (gradient > 0.0)
        return np.flatnonzero(~stuck) if stuck.any() else None

    def _step(
        self, normal: Vector, gradient: Vector, damping: float, free: NDArray[np.intp] | None
    ) -> Vector:
        """Solve (J^T J + damping 1) step = J^T e, [RD] eq. 2.208 in its normal form."""
        if free is None:
            step: Vector = dposv(normal + damping * self._identity, gradient)[1]
        else:
            step = np.zeros_like(gradient)
            if len(free):
                reduced = normal[np.ix_(free, free)] + damping * np.eye(len(free))
                step[free] = dposv(reduced, gradient[free])[1]
        longest = float(np.abs(step).max())
        return step if longest <= LONGEST_STEP else step * (LONGEST_STEP / longest)


def norm(vector: Vector) -> float:
    """Length of a short vector: quicker than numpy.linalg.norm."""
    return math.sqrt(vector @ vector)
