# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Quadratic program of whole-body control for a robot on point feet ([RD] 3.10).

The unknowns are x = (f, a): forces of the ground on the feet in axes of the root frame, then
accelerations. Joint torques are eliminated by the equations of motion, tau = M a + h - J^T f.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dynamics_ros.algorithms.inverse_dynamics import nonlinear_effects
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.task_space import frame_rows
from dynamics_ros.model import Frame, Model
from dynamics_ros.model.joints import plane_axes
from dynamics_ros.spatial import Scalar, Vector3

Values = Sequence[Scalar]
Rows = list[list[Scalar]]

SETTINGS = (
    *('base_linear', 'base_angular', 'swing', 'posture', 'force', 'friction'),
    *('least_force', 'largest_force'),
)
"""Names of the settings: weights of accelerations and forces, friction coefficient of the ground,
smallest and largest normal force (along z) of a standing foot [N]."""

UNBOUNDED = 1e30


class WholeBodyProgram(NamedTuple):
    """Minimize 1/2 x^T H x + g^T x subject to lower <= (x_f, A x) <= upper; x_f are the forces.

    Attributes:
        hessian, gradient: H (n, n), g (n).
        matrix: rows of A: equations of motion of the base (6), accelerations of feet (3 per foot),
            friction (4 per foot), torques of the joints.
        lower, upper: bounds of the forces, then of the rows of A.
        effects: C v + g (nv).
    """

    hessian: Rows
    gradient: list[Scalar]
    matrix: Rows
    lower: list[Scalar]
    upper: list[Scalar]
    effects: list[Scalar]


def friction_pyramid(normal: Vector3, friction: Scalar, facets: int = 4) -> Rows:
    """Rows r (facets, 3) of the pyramid r f <= 0 inside the friction cone of a contact force f.

    Args:
        normal: unit normal of the ground, away from it.
        friction: coefficient.
        facets: number of sides.
    """
    first, second = plane_axes(normal)
    slope = friction * math.cos(math.pi / facets)
    rows = []
    for k in range(facets):
        angle = 2.0 * math.pi * k / facets
        cosine, sine = (round(x, 15) for x in (math.cos(angle), math.sin(angle)))
        rows.append([*(first * cosine + second * sine - normal * slope)])
    return rows


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
    """Set up the quadratic program of one state.

    Args:
        model: the robot, with a floating base.
        feet: frames of the point feet.
        q, v: state (nq), (nv).
        base: (6) desired acceleration of the base, in axes of the root frame.
        swing: (feet, 3) desired accelerations of swing feet, in axes of the root frame [m/s^2].
        posture: desired accelerations of the joints.
        standing: (feet) 1 for each standing foot, 0 for a swing foot.
        limits: torque limits of the joints [Nm or N].
        settings: values as in ``SETTINGS``.
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
    required = [x - y for x, y in zip(wanted, bias_base + bias, strict=True)]
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
        gradient[m + i] = -dot(scaled_columns[i], required)
        # The posture task regularizes all accelerations, so the program has a unique solution.
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
    pyramid = friction_pyramid(Vector3(0.0, 0.0, 1.0), values['friction'])
    for foot in range(len(feet)):
        for facet in pyramid:
            side: list[Scalar] = [0.0] * (m + n)
            side[3 * foot : 3 * foot + 3] = facet
            matrix.append(side)
            lower.append(-UNBOUNDED)
            upper.append(0.0)
    matrix += motion[first:]
    lower += [-limit - x for limit, x in zip(limits, h[first:], strict=True)]
    upper += [limit - x for limit, x in zip(limits, h[first:], strict=True)]

    lower_forces: list[Scalar] = []
    upper_forces: list[Scalar] = []
    for stands in standing:
        largest_force = stands * values['largest_force']
        lower_forces += [-largest_force, -largest_force, stands * values['least_force']]
        upper_forces += [largest_force, largest_force, largest_force]
    return WholeBodyProgram(
        hessian, gradient, matrix, lower_forces + lower, upper_forces + upper, h
    )
