# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics with contacts and loops whose rows are independent ([RD] 3.7), and its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dynamics_ros.algorithms.derivatives import inverse_dynamics_derivatives
from dynamics_ros.algorithms.forward_kinematics import frame_pose, frame_velocity
from dynamics_ros.algorithms.inverse_dynamics import nonlinear_effects
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.solve import dot, inverse_of
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Matrix3, Scalar, Transform, Vector3

from .task_space import REFERENCE, InvertedTask, Rows, TaskDynamics, Values, frame_rows

HELD_ROWS = {'point': 3, 'surface': 6, 'normal': 1, 'position': 3, 'pose': 6, 'revolute': 5}
"""Rows of a constraint by its kind."""

HELD_TOGETHER = ('position', 'pose', 'revolute')
"""Kinds that hold a frame to another one; the others hold it in the root frame."""

DIRECTED = ('normal', 'revolute')
"""Kinds that need directions."""

Differentiate = Callable[[Values, Values], Rows]
"""Derivatives of values by q along velocities, or by v."""


class Held(NamedTuple):
    """What a constraint holds at rest.

    Attributes:
        kind: of `HELD_ROWS`.
        frame: whose point is held.
        other: the frame whose point it stays with; None for a place in the root frame.
    """

    kind: str
    frame: Frame
    other: Frame | None


class Places(NamedTuple):
    """Where a constraint holds.

    Attributes:
        points: (2, 3) in the frame, and in the other one.
        directions: (2, 3) of a normal contact the normal in root axes, the second not read; of a
            revolute cut two of the other frame, perpendicular to the axis and to each other.
    """

    points: Sequence[Values]
    directions: Sequence[Values] = ()


def held_rows(
    model: Model, q: Values, v: Values, held: Held, places: Places
) -> tuple[Rows, list[Scalar]]:
    """J and J-dot v of a constraint in root axes, the other frame's taken off ([RD] eq. 2.154).

    The last two rows of a revolute cut are along the directions as they stand.

    Args:
        model, q, v: the robot and its state.
        held: the constraint.
        places: where.
    """
    points, directions = places
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
    turning = J[3:], bias[3:], [dot(row, v) for row in J[3:]]
    J, bias = J[:3], bias[:3]
    for direction in directions:
        b = R @ Vector3.of(direction)
        J.append([dot([*b], column) for column in zip(*turning[0], strict=True)])
        # The direction turns with the other frame.
        bias.append(dot([*b], turning[1]) + dot([*w_other.cross(b)], turning[2]))
    return J, bias


def constrained_forward_dynamics(
    model: Model,
    constraints: Sequence[Held],
    q: Values,
    v: Values,
    tau: Values,
    places: Sequence[Places],
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Accelerations, forces and pivots of M a + C v + g = tau + J^T f with J a + J-dot v = 0.

    Args:
        model: the robot.
        constraints: what is held.
        q, v, tau: its state and torques.
        places: of each constraint.
    """
    J, bias = _stacked(model, constraints, q, v, places)
    task = TaskDynamics.of(model, q, J)
    effects = nonlinear_effects(model, q, v)
    force = [t - h for t, h in zip(tau, effects, strict=True)]
    a, forces = _constrained(task, force, [-b for b in bias])
    return a, forces, task.pivots


def constrained_dynamics_derivatives(
    model: Model,
    constraints: Sequence[Held],
    q: Values,
    v: Values,
    a: Values,
    forces: Values,
    places: Sequence[Places],
    differentiate: Differentiate,
) -> tuple[list[Rows], list[Rows], list[Scalar]]:
    """Derivatives of accelerations and of forces, each by q, v and tau, and the pivots.

    ID(q, v, a) = tau + J^T f and J a + J-dot v = 0 differentiated at a motion are the same system
    for each direction, [Lie] 4:

        M da = dtau - dID + d(J^T f) + J^T df,   J da = -d(J a + J-dot v).

    Args:
        model, constraints, q, v, places: as for `constrained_forward_dynamics`.
        a, forces: what that returns.
        differentiate: derivatives of what has been computed from q and v, at constant a and f.
    """
    J, bias = _stacked(model, constraints, q, v, places)
    task = TaskDynamics.of(model, q, J)
    rows = [dot(row, a) + b for row, b in zip(J, bias, strict=True)]
    id_dq, id_dv, _ = inverse_dynamics_derivatives(model, q, v, a)
    # Without rows there is nothing whose columns would tell how many joints there are.
    pushed = differentiate(task.torques(forces), q) if rows else [[0.0] * model.nv] * model.nv
    by_q = [[f - t for f, t in zip(*pair, strict=True)] for pair in zip(pushed, id_dq, strict=True)]
    by_v = [[-x for x in row] for row in id_dv]
    inverted = InvertedTask.of_task(task)
    of_a: list[Rows] = []
    of_forces: list[Rows] = []
    demands = differentiate(rows, q), differentiate(rows, v)
    for force, changed in zip((by_q, by_v), demands, strict=True):
        columns = zip(zip(*force, strict=True), _columns(changed, model.nv), strict=True)
        solved = [_constrained(inverted, push, [-x for x in demand]) for push, demand in columns]
        of_a.append([[x[i] for x, _ in solved] for i in range(model.nv)])
        of_forces.append([[f[i] for _, f in solved] for i in range(len(rows))])
    by_tau, forces_by_tau = _by_force(inverted)
    return [*of_a, by_tau], [*of_forces, forces_by_tau], task.pivots


def _constrained(
    task: TaskDynamics, force: Values, target: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """x and f of M x = force + J^T f, J x = target.

    In whitened coordinates the free x_0 is corrected by the smallest step that meets the target:
    x = x_0 + Q y, R^T y = target - W^T x_0, and R f = y.
    """
    free = task.whitened(force)
    # W^T x_0 = R^T Q^T x_0.
    missing = task.divided_transposed(target)
    y = [m - x for m, x in zip(missing, task.along(free), strict=True)]
    for column, step in zip(task.Q, y, strict=True):
        free = [x + step * c for x, c in zip(free, column, strict=True)]
    return task.unwhitened(free), task.divided(y)


def _by_force(task: TaskDynamics) -> tuple[Rows, Rows]:
    """Derivatives of x and f of `_constrained` by the force: M^-1 - U U^T and -R^-1 U^T.

    The columns of U = L^-1 D^-1/2 Q are the accelerations that the constraints take away.
    """
    free = inverse_of(task.factors)
    taken = _columns([task.unwhitened(column) for column in task.Q], len(free))
    n = range(len(free))
    lower = [[free[i][j] - dot(taken[i], taken[j]) for j in range(i + 1)] for i in n]
    of_x = [[lower[max(i, j)][min(i, j)] for j in n] for i in n]
    return of_x, transposed([[-f for f in task.divided(row)] for row in taken])


def _stacked(
    model: Model, constraints: Sequence[Held], q: Values, v: Values, places: Sequence[Places]
) -> tuple[Rows, list[Scalar]]:
    J: Rows = []
    bias: list[Scalar] = []
    for held, where in zip(constraints, places, strict=True):
        rows, rates = held_rows(model, q, v, held, where)
        J, bias = J + rows, bias + rates
    return J, bias


def _columns(rows: Rows, count: int) -> Rows:
    return transposed(rows) if rows else [[] for _ in range(count)]


def _at(frame: Frame, point: Values) -> Frame:
    """The frame at another of its points."""
    moved = Transform(Matrix3.identity(), Vector3.of(point))
    return replace(frame, placement=frame.placement @ moved)
