# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The quadratic program of a robot on point feet: base and feet under physics ([RD] 3.10).

The unknown is x = (f, a): forces of the ground on the feet in root axes, then accelerations.
Torques are what the equations of motion leave, tau = M a + h - J^T f in the rows of the joints, and
so they are no unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dynamics_ros.algorithms.inverse_dynamics import nonlinear_effects
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar

from .task_space import frame_rows

Values = Sequence[Scalar]
Rows = list[list[Scalar]]

SETTINGS = (
    *('base_linear', 'base_angular', 'swing', 'posture', 'force', 'friction'),
    *('least_force', 'largest_force'),
)
"""Weights of accelerations and forces; of the ground the coefficient of friction and how hard a
standing foot presses along z [N]."""

UNBOUNDED = 1e30


class WholeBodyProgram(NamedTuple):
    """Least 1/2 x^T H x + g^T x with lower <= (x_f, A x) <= upper, x_f the forces.

    Attributes:
        hessian, gradient: H (n, n), g (n).
        matrix: A: equations of motion of the base (6), standing feet (3 each), friction (4 each),
            torques of the joints.
        lower, upper: of the forces, then of the rows of A.
        effects: C v + g (nv).
    """

    hessian: Rows
    gradient: list[Scalar]
    matrix: Rows
    lower: list[Scalar]
    upper: list[Scalar]
    effects: list[Scalar]


def whole_body_program(
    model: Model,
    feet: Sequence[Frame],
    q: Values,
    v: Values,
    base: Values,
    swing: Sequence[Values],
    posture: Values,
    standing: Values,
    limits: Values,
    settings: Values,
) -> WholeBodyProgram:
    """The program of one state.

    Args:
        model: the robot, with a floating base.
        feet: its points that may stand.
        q, v: its state.
        base: (6) acceleration that is wanted of the base, root axes.
        swing: (feet, 3) accelerations that are wanted of feet in the air, root axes.
        posture: accelerations that are wanted of the joints.
        standing: 1 of each foot that stands, 0 of the others.
        limits: of the torques of the joints.
        settings: `SETTINGS`.
    """
    values = dict(zip(SETTINGS, settings, strict=True))
    n, m = model.nv, 3 * len(feet)
    M, h = mass_matrix(model, q), nonlinear_effects(model, q, v)
    pairs = [frame_rows(model, q, v, foot, range(3)) for foot in feet]
    J = [row for rows, _ in pairs for row in rows]
    bias = [x for _, rates in pairs for x in rates]
    body = model.frame(model.body_names[0])
    J_base, bias_base = frame_rows(model, q, v, body, range(6))

    weights = [values['base_linear']] * 3 + [values['base_angular']] * 3
    weights += [(1.0 - stands) * values['swing'] for stands in standing for _ in range(3)]
    tasks = J_base + J
    wanted = [*base, *(x for foot in swing for x in foot)]
    missing = [x - y for x, y in zip(wanted, bias_base + bias, strict=True)]
    scaled = [[w * x for x in row] for w, row in zip(weights, tasks, strict=True)]
    columns, scaled_columns = transposed(tasks), transposed(scaled)
    hessian: Rows = [[0.0] * (m + n) for _ in range(m + n)]
    gradient: list[Scalar] = [0.0] * (m + n)
    for i in range(m):
        hessian[i][i] = values['force']
    first = model.root_joint_nv
    for i in range(n):
        for j in range(i + 1):
            entry = dot(scaled_columns[i], columns[j])
            hessian[m + i][m + j] = hessian[m + j][m + i] = entry
        gradient[m + i] = -dot(scaled_columns[i], missing)
        # A little of everything, so that what no task decides is decided.
        hessian[m + i][m + i] = hessian[m + i][m + i] + values['posture']
        if i >= first:
            gradient[m + i] = gradient[m + i] - values['posture'] * posture[i - first]

    minus_JT = [[-x for x in column] for column in transposed(J)]
    motion = [[*forces, *row] for forces, row in zip(minus_JT, M, strict=True)]
    matrix = motion[:first]
    lower: list[Scalar] = [-x for x in h[:first]]
    upper = list(lower)
    for row, rate, stands in zip(J, bias, [s for s in standing for _ in range(3)], strict=True):
        matrix.append([*([0.0] * m), *row])
        slack = (1.0 - stands) * UNBOUNDED
        lower.append(-rate - slack)
        upper.append(-rate + slack)
    inside = values['friction'] * 0.5**0.5
    for foot in range(len(feet)):
        for axis in (0, 1):
            for sign in (-1.0, 1.0):
                facet: list[Scalar] = [0.0] * (m + n)
                facet[3 * foot + axis], facet[3 * foot + 2] = sign, -inside
                matrix.append(facet)
                lower.append(-UNBOUNDED)
                upper.append(0.0)
    matrix += motion[first:]
    lower += [-limit - x for limit, x in zip(limits, h[first:], strict=True)]
    upper += [limit - x for limit, x in zip(limits, h[first:], strict=True)]

    least: list[Scalar] = []
    most: list[Scalar] = []
    for stands in standing:
        reach = stands * values['largest_force']
        least += [-reach, -reach, stands * values['least_force']]
        most += [reach, reach, reach]
    return WholeBodyProgram(hessian, gradient, matrix, least + lower, most + upper, h)
