# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics with independent constraints, contacts and loops ([RD] 3.7), and derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Annotated, NamedTuple

from dynamics_ros.algorithms.derivatives import inverse_dynamics_derivatives
from dynamics_ros.algorithms.forward_kinematics import frame_pose, frame_velocity
from dynamics_ros.algorithms.inverse_dynamics import nonlinear_effects
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.solve import dot, inverse_of
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import Frame, Model
from dynamics_ros.model.description import LOOP_KINDS
from dynamics_ros.spatial import Matrix3, Scalar, Transform, Vector3
from dynamics_ros.spatial.scalar import larger, smaller, sqrt

from .quantity import Input, Options, Parsed, Q, Tau, V, quantity
from .task_space import PIVOTS, REFERENCE, Rows, TaskDynamics, Values, frame_rows

CONSTRAINT_ROWS = {'point': 3, 'surface': 6, 'normal': 1, 'position': 3, 'pose': 6, 'revolute': 5}
"""Number of rows of a constraint of each kind."""

INDEPENDENT = 1e-6
"""Length of an orthogonalized row, relative to the longest, above which rows are certainly
independent."""


class Constraint(NamedTuple):
    """A constraint: its kind and its frames.

    Attributes:
        kind: a key of `CONSTRAINT_ROWS`.
        frame: frame whose point is held.
        other: frame to whose point it is held; None to hold it at a place in the root frame.
    """

    kind: str
    frame: Frame
    other: Frame | None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return CONSTRAINT_ROWS[self.kind]


def constraints_of(model: Model, names: Sequence[str]) -> list[Constraint]:
    """Constraints from options of a key: for each a kind, then its frame or its two frames.

    Raises:
        InvalidArgumentError: a kind is unknown, or a frame is missing.
        UnknownFrameError: the model has no such frame.
    """
    rest, constraints = list(names), []
    while rest:
        kind = rest.pop(0)
        count = 2 if kind in LOOP_KINDS else 1
        if kind not in CONSTRAINT_ROWS or len(rest) < count:
            expected = f'a kind of {tuple(CONSTRAINT_ROWS)}, then its frame or its two frames'
            raise InvalidArgumentError('contacts', ':'.join(names), expected)
        frame, *others = [model.frame(rest.pop(0)) for _ in range(count)]
        constraints.append(Constraint(kind, frame, others[0] if others else None))
    return constraints


Held = Annotated[Sequence[Constraint], Parsed(constraints_of, Options.CONSTRAINTS)]
Points = Annotated[
    Sequence[Sequence[Values]],
    Input('held', 2, 3, meaning='of each constraint, in its frame and in its other frame [m]'),
]
Directions = Annotated[
    Sequence[Sequence[Values]],
    Input(
        *('held', 2, 3),
        meaning='of each normal contact: the normal in root axes, and anything; of each revolute '
        'loop: two unit vectors in its other frame, perpendicular to the axis and to each other',
    ),
]
Forces = Annotated[
    Values,
    Input('held.rows', meaning='as constrained_forward_dynamics returns them, with a'),
]


def rows_of_constraint(
    model: Model,
    q: Values,
    v: Values,
    held: Constraint,
    points: Sequence[Values],
    directions: Sequence[Values],
) -> tuple[Rows, list[Scalar]]:
    """J and J-dot v of a constraint, in axes of the root frame ([RD] eq. 2.154).

    For two frames, the rows are the difference of the motions of both. The last two rows of a
    revolute loop closure are angular, along its two directions.

    Args:
        model, q, v: the robot and its state.
        held: the constraint.
        points: (2, 3) the constrained point in the frame, and in the other frame [m].
        directions: (2, 3) as of `Directions`.
    """
    rows = range(3 if held.kind in ('point', 'position', 'normal') else 6)
    J, bias = frame_rows(model, q, v, _at(held.frame, points[0]), rows)
    if held.other is not None:
        J_other, bias_other = frame_rows(model, q, v, _at(held.other, points[1]), rows)
        J = [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(J, J_other, strict=True)]
        bias = [x - y for x, y in zip(bias, bias_other, strict=True)]
    if held.kind == 'normal':
        normal = directions[0]
        return [[dot(normal, column) for column in zip(*J, strict=True)]], [dot(normal, bias)]
    if held.kind != 'revolute' or held.other is None:
        return J, bias
    R = frame_pose(model, q, held.other).rotation
    w_other = frame_velocity(model, q, v, held.other, REFERENCE).angular
    angular = J[3:], bias[3:], [dot(row, v) for row in J[3:]]
    J, bias = J[:3], bias[:3]
    for direction in directions:
        b = R @ Vector3.of(direction)
        J.append([dot([*b], column) for column in zip(*angular[0], strict=True)])
        # The direction is fixed to the other frame, so J-dot has a term of its rotation.
        bias.append(dot([*b], angular[1]) + dot([*w_other.cross(b)], angular[2]))
    return J, bias


@quantity(
    'Jacobian and J-dot v of contacts and loops, stacked',
    {'jacobian': 'in axes of the root frame', 'bias': 'J-dot v'},
    internal=True,
    exported=True,
    may_overflow=True,
)
def constraint_rows(
    model: Model, held: Held, q: Q, v: V, points: Points, directions: Directions
) -> tuple[Rows, list[Scalar]]:
    """J and J-dot v of several constraints, stacked; see `rows_of_constraint`."""
    J: Rows = []
    bias: list[Scalar] = []
    for one, *where in zip(held, points, directions, strict=True):
        rows, rates = rows_of_constraint(model, q, v, one, *where)
        J, bias = J + rows, bias + rates
    return J, bias


@quantity(
    'accelerations and forces in contact, all rows independent',
    {
        'a': 'an acceleration, as a',
        'forces': 'of the environment on the robot, stacked, in root axes [N], [N m]',
        'pivots': PIVOTS,
    },
    internal=True,
    exported=True,
)
def constrained_forward_dynamics(
    model: Model, held: Held, q: Q, v: V, tau: Tau, points: Points, directions: Directions
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Accelerations and forces of M a + C v + g = tau + J^T f with J a + J-dot v = 0.

    Args:
        model, held: the robot and the constraints.
        q, v, tau: state (nq), (nv) and joint torques (nv).
        points, directions: as of `rows_of_constraint`, of each constraint.

    Returns:
        Accelerations (nv), constraint forces (rows), and pivots of the factorization (rows), which
        are small for dependent constraints.
    """
    J, bias = constraint_rows(model, held, q, v, points, directions)
    task = TaskDynamics.of(model, q, J)
    effects = nonlinear_effects(model, q, v)
    force = [t - h for t, h in zip(tau, effects, strict=True)]
    a, forces = _constrained(task, force, [-b for b in bias])
    return a, forces, task.pivots


@quantity(
    'constrained_forward_dynamics where all rows are certainly independent',
    {
        'a': 'an acceleration, as a',
        'forces': 'of the environment on the robot, stacked, in root axes [N], [N m]',
        'independent': 'finite where the rows are independent',
    },
    internal=True,
    may_be_singular=True,
)
def dynamics_in_contact(
    model: Model, held: Held, q: Q, v: V, tau: Tau, points: Points, directions: Directions
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Accelerations and forces; a kernel refuses states with dependent rows, as not finite."""
    a, forces, pivots = constrained_forward_dynamics(model, held, q, v, tau, points, directions)
    if not pivots:
        return a, forces, 1.0
    margin = reduce(smaller, pivots) - reduce(larger, pivots) * INDEPENDENT
    if isinstance(margin, float) and margin <= 0.0:
        # Dependent in all states: no trace can hold a constant that is not finite.
        margin = -1.0 - points[0][0][0] * points[0][0][0]
    return a, forces, 1.0 / sqrt(margin)


def constrained_dynamics_derivatives(
    model: Model,
    J: Rows,
    q: Values,
    v: Values,
    a: Values,
    torques_dq: Rows,
    rows_dq: Rows,
    rows_dv: Rows,
) -> tuple[list[Rows], list[Rows], list[Scalar]]:
    """Derivatives of accelerations and of forces, each by q, v and tau, and the pivots.

    The derivatives of ID(q, v, a) = tau + J^T f and J a + J-dot v = 0 solve, for each direction of
    differentiation, the same linear system as the dynamics, [Lie] 4:

        M da = dtau - dID + d(J^T f) + J^T df,   J da = -d(J a + J-dot v).

    Args:
        model, q, v: the robot and its state.
        J: (rows, nv) rows of the constraints.
        a: accelerations that `constrained_forward_dynamics` returns.
        torques_dq: (nv, nv) derivative of J^T f by q along velocities, at constant f.
        rows_dq, rows_dv: (rows, nv) derivatives of J a + J-dot v by q and by v, at constant a.

    Returns:
        Derivatives (nv, nv) of the accelerations and (rows, nv) of the forces, by q, v and tau
        each; pivots of the factorization (rows).
    """
    task = TaskDynamics.of(model, q, J)
    id_dq, id_dv, _ = inverse_dynamics_derivatives(model, q, v, a)
    by_q = [
        [f - t for f, t in zip(*pair, strict=True)] for pair in zip(torques_dq, id_dq, strict=True)
    ]
    by_v = [[-x for x in row] for row in id_dv]
    inverted = task.inverted()
    of_a: list[Rows] = []
    of_forces: list[Rows] = []
    for force, demand_slope in ((by_q, rows_dq), (by_v, rows_dv)):
        columns = zip(zip(*force, strict=True), _columns(demand_slope, model.nv), strict=True)
        solved = [
            _constrained(inverted, force_column, [-x for x in demand])
            for force_column, demand in columns
        ]
        of_a.append([[x[i] for x, _ in solved] for i in range(model.nv)])
        of_forces.append([[f[i] for _, f in solved] for i in range(len(J))])
    by_tau, forces_by_tau = _by_force(inverted)
    return [*of_a, by_tau], [*of_forces, forces_by_tau], task.pivots


def _constrained(
    task: TaskDynamics, force: Values, target: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """Solve M x = force + J^T f, J x = target for x and f.

    In whitened coordinates the unconstrained x_0 is corrected by the smallest step that meets the
    target: x = x_0 + Q y, R^T y = target - W^T x_0, and R f = y.
    """
    free = task.whitened(force)
    # Divided by R^T, using W^T x_0 = R^T Q^T x_0.
    required = task.divided_transposed(target)
    y = [m - x for m, x in zip(required, task.along(free), strict=True)]
    for column, step in zip(task.Q, y, strict=True):
        free = [x + step * c for x, c in zip(free, column, strict=True)]
    return task.unwhitened(free), task.divided(y)


def _by_force(task: TaskDynamics) -> tuple[Rows, Rows]:
    """Derivatives of x and f of `_constrained` by the force: M^-1 - U U^T and -R^-1 U^T.

    The columns of U = L^-1 D^-1/2 Q span the accelerations that the constraints remove.
    """
    free = inverse_of(task.factors)
    removed = _columns([task.unwhitened(column) for column in task.Q], len(free))
    n = range(len(free))
    lower = [[free[i][j] - dot(removed[i], removed[j]) for j in range(i + 1)] for i in n]
    of_x = [[lower[max(i, j)][min(i, j)] for j in n] for i in n]
    return of_x, transposed([[-f for f in task.divided(row)] for row in removed])


def _columns(rows: Rows, count: int) -> Rows:
    return transposed(rows) if rows else [[] for _ in range(count)]


def _at(frame: Frame, point: Values) -> Frame:
    """The frame, moved to another point that is given in the frame."""
    moved = Transform(Matrix3.identity(), Vector3.of(point))
    return replace(frame, placement=frame.placement @ moved)
