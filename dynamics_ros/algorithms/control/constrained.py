"""Forward dynamics with contacts and closed loops whose rows are independent ([RD] 3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from dynamics_ros.algorithms.inverse_dynamics import nonlinear_effects
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Matrix3, Scalar, Transform, Vector3

from .task_space import Rows, TaskDynamics, Values, frame_rows


class Held(NamedTuple):
    """Rows that a constraint holds at rest.

    Attributes:
        frame: whose point is held.
        other: the frame whose point it stays with; None for a place in the root frame.
        rows: 3 of a point, 6 of a pose.
    """

    frame: Frame
    other: Frame | None
    rows: int


def held_rows(
    model: Model, q: Values, v: Values, held: Held, points: Sequence[Values]
) -> tuple[Rows, list[Scalar]]:
    """J and J-dot v of a constraint in root axes, the other frame's taken off ([RD] eq. 2.154).

    Args:
        model, q, v: the robot and its state.
        held: the constraint.
        points: (2, 3) in the frame, and in the other one.
    """
    rows = range(held.rows)
    J, bias = frame_rows(model, q, v, _at(held.frame, points[0]), rows)
    if held.other is not None:
        J_other, bias_other = frame_rows(model, q, v, _at(held.other, points[1]), rows)
        J = [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(J, J_other, strict=True)]
        bias = [x - y for x, y in zip(bias, bias_other, strict=True)]
    return J, bias


def constrained_forward_dynamics(
    model: Model,
    constraints: Sequence[Held],
    q: Values,
    v: Values,
    tau: Values,
    points: Sequence[Sequence[Values]],
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Accelerations, forces and pivots of M a + C v + g = tau + J^T f with J a + J-dot v = 0.

    In whitened coordinates the free acceleration x_0 is corrected by the smallest step that meets
    the constraints: x = x_0 + Q y, R^T y = -J-dot v - W^T x_0, and R f = y.

    Args:
        model: the robot.
        constraints: what is held.
        q, v, tau: its state and torques.
        points: (constraints, 2, 3) as for `held_rows`.
    """
    J: Rows = []
    bias: list[Scalar] = []
    for held, places in zip(constraints, points, strict=True):
        rows, rates = held_rows(model, q, v, held, places)
        J, bias = J + rows, bias + rates
    task = TaskDynamics.of(model, q, J)
    effects = nonlinear_effects(model, q, v)
    free = task.whitened([t - h for t, h in zip(tau, effects, strict=True)])
    # W^T x_0 = R^T Q^T x_0.
    missing = task.divided_transposed([-b for b in bias])
    y = [m - x for m, x in zip(missing, task.along(free), strict=True)]
    for column, step in zip(task.Q, y, strict=True):
        free = [x + step * c for x, c in zip(free, column, strict=True)]
    return task.unwhitened(free), task.divided(y), task.pivots


def _at(frame: Frame, point: Values) -> Frame:
    """The frame at another of its points."""
    moved = Transform(Matrix3.identity(), Vector3.of(point))
    return replace(frame, placement=frame.placement @ moved)
