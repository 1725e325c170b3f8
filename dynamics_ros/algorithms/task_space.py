# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Task-space dynamics and torque control ([RD] 3.9).

With M = L^T D L and the whitened Jacobian W = D^-1/2 L^-T J^T, J M^-1 J^T = W^T W. The
factorization W = Q R gives the task inertia Lambda = R^-1 R^-T without squaring the condition
number of J.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from dynamics_ros.algorithms.forward_kinematics import frame_acceleration
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import coriolis_torques, nonlinear_effects
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.algorithms.linear_algebra.matrices import (
    TINY,
    orthogonalize,
    times_transposed,
    transposed,
)
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

from .quantity import TORQUES, Input, Q, Reference, RowsOfFrame, V, quantity

Values = Sequence[Scalar]
Rows = list[list[Scalar]]

AT_TOOL = 'at the origin of the frame, in root axes'

PIVOTS = 'lengths of the orthogonalized rows of J: zero of one that depends on those before it'

REFERENCE: Reference = 'local_world_aligned'


def frame_rows(
    model: Model, q: Values, v: Values, frame: Frame, rows: Sequence[int]
) -> tuple[Rows, list[Scalar]]:
    """Selected rows of J and J-dot v of a frame, at its origin in axes of the root frame."""
    columns = [x.components() for x in jacobian_columns(model, q, frame, REFERENCE)]
    bias = frame_acceleration(model, q, v, [0.0] * model.nv, frame, REFERENCE).components()
    return [[column[row] for column in columns] for row in rows], [bias[row] for row in rows]


@dataclass(frozen=True)
class TaskDynamics:
    """Factorized M = L^T D L and W = D^-1/2 L^-T J^T = Q R of one configuration.

    Attributes:
        J: (m, nv) Jacobian of the task.
        factors: L and the inverse pivots D^-1 of M.
        roots: (nv) square roots of D^-1.
        Q: m orthonormal columns (nv).
        R: (m, m), upper triangular.
        inverses: of L and R, if they are `inverted`.
    """

    J: Rows
    factors: Factors
    roots: list[Scalar]
    Q: Rows
    R: Rows
    inverses: tuple[Rows, Rows] | None = None

    @classmethod
    def of(cls, model: Model, q: Values, J: Rows) -> TaskDynamics:
        """Factorize M at q, and the whitened Jacobian J (m, nv)."""
        factors = factorize(mass_matrix(model, q))
        roots = [sqrt(x) for x in factors[1]]
        W = [_whitened(factors, roots, row) for row in J]
        return cls(J, factors, roots, *orthogonalize(W))

    def inverted(self) -> TaskDynamics:
        """With the inverses of both triangular factors, for many right-hand sides.

        The inverse of L is sparse: an acceleration is a sum over related joints only, and the zeros
        of right-hand sides on other branches drop out of the trace.
        """
        return replace(self, inverses=(inverse_of_lower(self.factors[0]), self._R_inverse()))

    def _R_inverse(self) -> Rows:
        m = len(self.R)
        return transposed([self.divided([float(i == k) for i in range(m)]) for k in range(m)])

    @property
    def pivots(self) -> list[Scalar]:
        """Diagonal (m) of R; an entry is zero if that row of J depends on the rows before it."""
        return [self.R[i][i] for i in range(len(self.R))]

    def whitened(self, tau: Values) -> list[Scalar]:
        """Whitened torques D^-1/2 L^-T tau (nv)."""
        if self.inverses is None:
            return _whitened(self.factors, self.roots, tau)
        columns = transposed(self.inverses[0])
        return [dot(x, tau) * root for x, root in zip(columns, self.roots, strict=True)]

    def unwhitened(self, x: Values) -> list[Scalar]:
        """Accelerations L^-1 D^-1/2 x (nv) of whitened coordinates x."""
        scaled = [a * b for a, b in zip(x, self.roots, strict=True)]
        if self.inverses is None:
            return solve_lower(self.factors[0], scaled, unit=True)
        return [dot(row, scaled) for row in self.inverses[0]]

    def along(self, x: Values) -> list[Scalar]:
        """Q^T x (m) of whitened coordinates x (nv)."""
        return [dot(column, x) for column in self.Q]

    def divided(self, x: Values) -> list[Scalar]:
        """R^-1 x (m)."""
        if self.inverses is None:
            return solve_lower_transposed(transposed(_invertible(self.R)), x)
        return [dot(row, x) for row in self.inverses[1]]

    def divided_transposed(self, x: Values) -> list[Scalar]:
        """R^-T x (m)."""
        if self.inverses is None:
            return solve_lower(transposed(_invertible(self.R)), x)
        return [dot(row, x) for row in transposed(self.inverses[1])]

    def inertia(self) -> Rows:
        """Task inertia Lambda = R^-1 R^-T (m, m)."""
        return times_transposed(self._R_inverse())

    def times_inertia(self, x: Values) -> list[Scalar]:
        """Lambda x (m)."""
        return self.divided(self.divided_transposed(x))

    def task_force(self, tau: Values) -> list[Scalar]:
        """Lambda J M^-1 tau (m): the task force that accelerates the task like the torques tau."""
        return self.divided(self.along(self.whitened(tau)))

    def torques(self, force: Values) -> list[Scalar]:
        """Torques J^T F (nv) of a task force F (m)."""
        return [dot(column, force) for column in transposed(self.J)]


def _whitened(factors: Factors, roots: Values, tau: Values) -> list[Scalar]:
    x = solve_lower_transposed(factors[0], tau, unit=True)
    return [a * b for a, b in zip(x, roots, strict=True)]


def _invertible(R: Rows) -> Rows:
    """R with a tiny number added to its diagonal; solutions for a singular R are then huge."""
    return [[x + TINY if i == j else x for j, x in enumerate(row)] for i, row in enumerate(R)]


@quantity(
    'Lambda, mu and p of Lambda w-dot + mu + p = F at a frame',
    {
        'inertia': 'Lambda, at the origin of the frame in root axes',
        'mu': 'Coriolis and centrifugal force [N], [N m]',
        'p': 'force of gravity [N], [N m]',
        'pivots': PIVOTS,
    },
    internal=True,
    exported=True,
)
def operational_space(
    model: Model, frame: Frame, rows: RowsOfFrame, q: Q, v: V
) -> tuple[Rows, list[Scalar], list[Scalar], list[Scalar]]:
    """Lambda, mu and p of Lambda w-dot + mu + p = F ([RD] eq. 3.86 to 3.89), and the pivots.

    Args:
        model, frame: the robot and the controlled frame.
        rows: m of the six components, linear first, at the frame's origin in axes of the root
            frame.
        q, v: state (nq), (nv).

    Returns:
        Task inertia Lambda (m, m), Coriolis force mu (m), gravity force p (m), and pivots (m).
    """
    J, bias = frame_rows(model, q, v, frame, rows)
    task = TaskDynamics.of(model, q, J)
    mu = task.task_force(coriolis_torques(model, q, v))
    mu = [x - y for x, y in zip(mu, task.times_inertia(bias), strict=True)]
    return task.inertia(), mu, task.task_force(gravity_torques(model, q)), task.pivots


@quantity(
    'torques that give a frame an acceleration',
    {'tau': TORQUES, 'pivots': PIVOTS},
    internal=True,
    exported=True,
)
def motion_torques(
    model: Model,
    frame: Frame,
    rows: RowsOfFrame,
    q: Q,
    v: V,
    acceleration: Annotated[
        Values, Input('rows', meaning=f'wanted, of the chosen rows, {AT_TOOL} [m/s^2], [rad/s^2]')
    ],
) -> tuple[list[Scalar], list[Scalar]]:
    """Torques J^T (Lambda w-dot + mu + p) (nv), [RD] eq. 3.90, and the pivots (m).

    Args:
        model, frame, rows, q, v: as for `operational_space`.
        acceleration: desired w-dot (m).
    """
    J, bias = frame_rows(model, q, v, frame, rows)
    task = TaskDynamics.of(model, q, J)
    wanted = [a - b for a, b in zip(acceleration, bias, strict=True)]
    force = _sum(task.times_inertia(wanted), task.task_force(nonlinear_effects(model, q, v)))
    return task.torques(force), task.pivots


@quantity(
    'torques that move a frame in some directions and press in the others',
    {'tau': TORQUES, 'pivots': PIVOTS},
    internal=True,
    exported=True,
)
def operational_space_torques(
    model: Model,
    frame: Frame,
    rows: RowsOfFrame,
    q: Q,
    v: V,
    acceleration: Annotated[
        Values,
        Input('rows', meaning=f'wanted in the free directions, {AT_TOOL} [m/s^2], [rad/s^2]'),
    ],
    wrench: Annotated[
        Values,
        Input('rows', meaning=f'of the environment, wanted in the others, {AT_TOOL} [N], [N m]'),
    ],
    free: Annotated[
        Values, Input(6, meaning='1 of a direction of the axes that moves, 0 of one that presses')
    ],
    rotation: Annotated[Sequence[Values], Input(3, 3, meaning='the axes in root axes')],
) -> tuple[list[Scalar], list[Scalar]]:
    """Torques J^T (Lambda S_M w-dot - S_F F_env + mu + p) (nv), [RD] eq. 3.97, and the pivots.

    Args:
        model, frame, rows: as for `operational_space`.
        q, v: state (nq), (nv).
        acceleration: (m) desired w-dot in axes of the root frame, used in motion directions.
        wrench: (m) desired wrench of the environment on the frame, in axes of the root frame, used
            in force directions.
        free: (6) 1 in motion directions, 0 in force directions, in the axes of the contact.
        rotation: (3, 3) rotation of the axes of the contact in the root frame.
    """
    J, bias = frame_rows(model, q, v, frame, rows)
    task = TaskDynamics.of(model, q, J)
    axes = Matrix3(rotation)

    def chosen(shares: Values, vector: Values) -> list[Scalar]:
        whole: list[Scalar] = [0.0] * 6
        for row, value in zip(rows, vector, strict=True):
            whole[row] = value
        projected = selected(axes, shares, whole)
        return [projected[row] for row in rows]

    wanted = chosen(free, acceleration)
    push = chosen([1.0 - x for x in free], wrench)
    motion = task.times_inertia([a - b for a, b in zip(wanted, bias, strict=True)])
    force = _sum(motion, task.task_force(nonlinear_effects(model, q, v)))
    return task.torques([f - p for f, p in zip(force, push, strict=True)]), task.pivots


def selected(axes: Matrix3, shares: Values, vector: Values) -> list[Scalar]:
    """Project a 6-vector in root frame axes to selected directions of ``axes`` ([RD] eq. 3.99)."""
    projected: list[Scalar] = []
    for part in (slice(3), slice(3, 6)):
        along = axes.transpose_apply(Vector3.of(vector[part]))
        pairs = zip(along, shares[part], strict=True)
        projected += axes @ Vector3.of([x * share for x, share in pairs])
    return projected


def _sum(a: Values, b: Values) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]
