# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics as the rows of a Jacobian feel it, and torque control with it ([RD] 3.9).

With M = L^T D L the columns of W = D^-1/2 L^-T J^T are whitened: J M^-1 J^T = W^T W. From W = Q R
follows the task inertia Lambda = R^-1 R^-T without squaring the condition of J.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.forward_kinematics import frame_acceleration
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import coriolis_torques, nonlinear_effects
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.orthogonal import TINY, orthogonalize
from dynamics_ros.algorithms.linear_algebra.solve import (
    Factors,
    dot,
    factorize,
    inverse_of_lower,
    solve_lower,
    solve_lower_transposed,
)
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Matrix3, Scalar, Vector3
from dynamics_ros.spatial.scalar import sqrt

Values = Sequence[Scalar]
Rows = list[list[Scalar]]

REFERENCE = 'local_world_aligned'


def frame_rows(
    model: Model, q: Values, v: Values, frame: Frame, rows: Sequence[int]
) -> tuple[Rows, list[Scalar]]:
    """Rows of the Jacobian J of a frame, at its origin in root axes, and of J-dot v."""
    columns = [x.components() for x in jacobian_columns(model, q, frame, REFERENCE)]
    bias = frame_acceleration(model, q, v, [0.0] * model.nv, frame, REFERENCE).components()
    return [[column[row] for column in columns] for row in rows], [bias[row] for row in rows]


@dataclass(frozen=True)
class TaskDynamics:
    """M and J of one configuration, factorized.

    Attributes:
        J: (m, nv).
        factors: of M.
        roots: of D^-1, as above.
        Q: m columns (nv).
        R: (m, m), upper triangular.
    """

    J: Rows
    factors: Factors
    roots: list[Scalar]
    Q: Rows
    R: Rows

    @classmethod
    def of(cls, model: Model, q: Values, J: Rows) -> TaskDynamics:
        """Factorize."""
        factors = factorize(mass_matrix(model, q))
        roots = [sqrt(x) for x in factors[1]]
        W = [_whitened(factors, roots, row) for row in J]
        return cls(J, factors, roots, *orthogonalize(W))

    @property
    def pivots(self) -> list[Scalar]:
        """The diagonal of R: zero where a row depends on those before it."""
        return [self.R[i][i] for i in range(len(self.R))]

    def whitened(self, tau: Values) -> list[Scalar]:
        """D^-1/2 L^-T tau."""
        return _whitened(self.factors, self.roots, tau)

    def unwhitened(self, x: Values) -> list[Scalar]:
        """The accelerations L^-1 D^-1/2 x."""
        scaled = [a * b for a, b in zip(x, self.roots, strict=True)]
        return solve_lower(self.factors[0], scaled, unit=True)

    def along(self, x: Values) -> list[Scalar]:
        """Q^T x of what is whitened."""
        return [dot(column, x) for column in self.Q]

    def divided(self, x: Values) -> list[Scalar]:
        """R^-1 x."""
        return solve_lower_transposed(transposed(_invertible(self.R)), x)

    def divided_transposed(self, x: Values) -> list[Scalar]:
        """R^-T x."""
        return solve_lower(transposed(_invertible(self.R)), x)

    def inertia(self) -> Rows:
        """Lambda = R^-1 R^-T (m, m)."""
        m = len(self.R)
        columns = [self.divided([float(i == k) for i in range(m)]) for k in range(m)]
        rows = transposed(columns)
        lower = [[dot(rows[i], rows[j]) for j in range(i + 1)] for i in range(m)]
        return [[lower[max(i, j)][min(i, j)] for j in range(m)] for i in range(m)]

    def times_inertia(self, x: Values) -> list[Scalar]:
        """Lambda x."""
        return self.divided(self.divided_transposed(x))

    def felt(self, tau: Values) -> list[Scalar]:
        """Lambda J M^-1 tau: the force at the task that acts on it like the torques."""
        return self.divided(self.along(self.whitened(tau)))

    def torques(self, force: Values) -> list[Scalar]:
        """J^T F."""
        return [dot(column, force) for column in transposed(self.J)]


@dataclass(frozen=True)
class InvertedTask(TaskDynamics):
    """The same for many right sides, with the inverses of both triangular factors.

    An acceleration then sums over what its joint is carried by, and over nothing that is zero of a
    push on another branch.

    Attributes:
        L_inverse: of the factor of M.
        R_inverse: (m, m), upper triangular.
    """

    L_inverse: Rows
    R_inverse: Rows

    @classmethod
    def of_task(cls, task: TaskDynamics) -> InvertedTask:
        """Invert the factors."""
        m = len(task.R)
        columns = [task.divided([float(i == k) for i in range(m)]) for k in range(m)]
        inverse = inverse_of_lower(task.factors[0])
        return cls(task.J, task.factors, task.roots, task.Q, task.R, inverse, transposed(columns))

    def whitened(self, tau: Values) -> list[Scalar]:
        """D^-1/2 L^-T tau."""
        columns = transposed(self.L_inverse)
        return [dot(x, tau) * root for x, root in zip(columns, self.roots, strict=True)]

    def unwhitened(self, x: Values) -> list[Scalar]:
        """The accelerations L^-1 D^-1/2 x."""
        scaled = [a * b for a, b in zip(x, self.roots, strict=True)]
        return [dot(row, scaled) for row in self.L_inverse]

    def divided(self, x: Values) -> list[Scalar]:
        """R^-1 x."""
        return [dot(row, x) for row in self.R_inverse]

    def divided_transposed(self, x: Values) -> list[Scalar]:
        """R^-T x."""
        return [dot(row, x) for row in transposed(self.R_inverse)]


def _whitened(factors: Factors, roots: Values, tau: Values) -> list[Scalar]:
    x = solve_lower_transposed(factors[0], tau, unit=True)
    return [a * b for a, b in zip(x, roots, strict=True)]


def _invertible(R: Rows) -> Rows:
    """R with something to divide by where it is singular; what comes out is then huge."""
    return [[x + TINY if i == j else x for j, x in enumerate(row)] for i, row in enumerate(R)]


def operational_space(
    model: Model, frame: Frame, rows: Sequence[int], q: Values, v: Values
) -> tuple[Rows, list[Scalar], list[Scalar], list[Scalar]]:
    """Lambda, mu and p of Lambda w-dot + mu + p = F ([RD] eq. 3.86 to 3.89), and the pivots."""
    J, bias = frame_rows(model, q, v, frame, rows)
    task = TaskDynamics.of(model, q, J)
    mu = task.felt(coriolis_torques(model, q, v))
    mu = [x - y for x, y in zip(mu, task.times_inertia(bias), strict=True)]
    return task.inertia(), mu, task.felt(gravity_torques(model, q)), task.pivots


def motion_torques(
    model: Model, frame: Frame, rows: Sequence[int], q: Values, v: Values, acceleration: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """J^T (Lambda w-dot + mu + p), [RD] eq. 3.90, and the pivots."""
    J, bias = frame_rows(model, q, v, frame, rows)
    task = TaskDynamics.of(model, q, J)
    wanted = [a - b for a, b in zip(acceleration, bias, strict=True)]
    force = _sum(task.times_inertia(wanted), task.felt(nonlinear_effects(model, q, v)))
    return task.torques(force), task.pivots


def operational_space_torques(
    model: Model,
    frame: Frame,
    q: Values,
    v: Values,
    acceleration: Values,
    wrench: Values,
    free: Values,
    rotation: Sequence[Values],
) -> tuple[list[Scalar], list[Scalar]]:
    """J^T (Lambda S_M w-dot - S_F F_env + mu + p), [RD] eq. 3.97, and the pivots.

    Args:
        model, frame: what is controlled.
        q, v: its state.
        acceleration: (6) in root axes, used in the free directions.
        wrench: (6) of the environment on the frame, in root axes, used in the others.
        free: (6) 1 in the directions that move, 0 in those that press, in the contact's axes.
        rotation: (3, 3) axes of the contact in root axes.
    """
    J, bias = frame_rows(model, q, v, frame, range(6))
    task = TaskDynamics.of(model, q, J)
    axes = Matrix3(rotation)
    wanted = selected(axes, free, acceleration)
    push = selected(axes, [1.0 - x for x in free], wrench)
    motion = task.times_inertia([a - b for a, b in zip(wanted, bias, strict=True)])
    force = _sum(motion, task.felt(nonlinear_effects(model, q, v)))
    return task.torques([f - p for f, p in zip(force, push, strict=True)]), task.pivots


def selected(axes: Matrix3, shares: Values, vector: Values) -> list[Scalar]:
    """The part of a six-vector in root axes along chosen directions of other axes (eq. 3.99)."""
    parts = zip(turned_back(axes, vector), shares, strict=True)
    return turned(axes, [x * share for x, share in parts])


def turned(axes: Matrix3, vector: Values) -> list[Scalar]:
    """A six-vector of some axes in root axes; the point is the same."""
    return [*(axes @ Vector3.of(vector[:3])), *(axes @ Vector3.of(vector[3:]))]


def turned_back(axes: Matrix3, vector: Values) -> list[Scalar]:
    """A six-vector of root axes in other axes; the point is the same."""
    return [
        *axes.transpose_apply(Vector3.of(vector[:3])),
        *axes.transpose_apply(Vector3.of(vector[3:])),
    ]


def _sum(a: Values, b: Values) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]
