# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arms beyond their speed limits: the wrench that yields on a tool, and motion that runs away.

A torque tau that decays at a rate d changes at d tau. If the push ends that it resists, it drives
the arm until it has decayed, so d tau must not exceed the torque rate R. The rate d is therefore
reduced where torques are large: torque and rate are scaled by the same factor, the root of
R / (d tau), which gives the braking law tau = sqrt(R M v).

Rate-limited torques lag, and springs would drive the motion of an arm that runs away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.control.command import NOMINAL_INTERVAL
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.solve import (
    Factors,
    dot,
    factorize,
    solve,
    solve_factorized,
)
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.quantity import Input, PerVelocity, Q, V, quantity
from dynamics_ros.algorithms.task_space import Rows, frame_rows
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import larger, magnitude, smaller, sqrt, where_less

Values = Sequence[Scalar]

RATE, STABLE = 150.0, 0.25
"""Decay rate of the tool speed above its limit [1/s], and the most that one sample removes."""

LENGTH = 0.2
"""Radius at which arcs of a rotation count as displacements [m]."""

TINY = 1e-12
"""Lower bound of divisors: squares of speeds, torque rates."""

CAUGHT = 0.1
"""Share of the velocity limit that every joint must fall below after running away.

Only then does the arm follow targets again.
"""


@quantity(
    'the wrench that yields on a tool beyond its speeds',
    {'wrench': 'in root axes', 'bias': 'J-dot v'},
    internal=True,
)
def holding_back(
    model: Model,
    frame: Frame,
    q: Q,
    v: V,
    speeds: Annotated[Values, Input(2)],
    rates: PerVelocity,
    largest_inertia: Scalar,
    interval: Scalar,
) -> tuple[list[Scalar], list[Scalar]]:
    """Wrench that yields on a tool beyond its speed limits.

    Args:
        model, frame: an arm on a fixed base, and its tool frame.
        q, v: state (nq), (nv).
        speeds: (2) of the tool, linear and angular [m/s, rad/s].
        rates: (nv) largest torque rates [Nm/s or N/s].
        largest_inertia: of the tool in any direction [kg].
        interval: time since the previous sample [s].

    Returns:
        The wrench (6) in root axes, to add to the wrench that the environment shall exert, and the
        acceleration J-dot v (6) of the tool at constant joint velocities.
    """
    J, bias = frame_rows(model, q, v, frame, range(6))
    factors = factorize(mass_matrix(model, q))
    return held_back(J, factors, v, speeds, rates, largest_inertia, interval)[0], list(bias)


def held_back(
    J: Rows,
    factors: Factors,
    v: Values,
    speeds: Values,
    rates: Values,
    largest_inertia: Scalar,
    interval: Scalar,
) -> tuple[list[Scalar], list[Scalar]]:
    """The wrench (6) of `holding_back` and its joint torques J^T w (nv).

    Args:
        J: (6, nv) Jacobian of the tool.
        factors: of the mass matrix.
        v, speeds, rates, largest_inertia, interval: as for `holding_back`.
    """
    twist = [dot(row, v) for row in J]
    excess: list[Scalar] = []
    for i in range(2):
        part = twist[3 * i : 3 * i + 3]
        speed = sqrt(dot(part, part) + TINY)
        share = larger(1.0 - speeds[i] / speed, 0.0)
        excess += [share * x for x in part]
    rate = smaller(RATE, STABLE / larger(interval, NOMINAL_INTERVAL))
    # An inertia of at most about the largest [kg]; for rotations times the squared length.
    least = [1.0 / largest_inertia] * 3 + [1.0 / (largest_inertia * LENGTH**2)] * 3
    columns = [solve_factorized(factors, row) for row in J]
    mobility = [
        [dot(J[i], columns[j]) + (least[i] if i == j else 0.0) for j in range(i + 1)]
        for i in range(6)
    ]
    wrench = [rate * x for x in solve(mobility, excess)]
    torque = [dot(column, wrench) for column in transposed(J)]
    change: Scalar = 1.0
    for x, largest in zip(torque, rates, strict=True):
        change = larger(rate * magnitude(x) / larger(largest, TINY), change)
    factor = 1.0 / sqrt(change)
    return [factor * x for x in wrench], [factor * x for x in torque]


@quantity(
    'whether the motion of an arm runs away',
    '1 from too large a velocity on, until all are small, else 0',
    internal=True,
)
def runaway_step(v: PerVelocity, limits: PerVelocity, share: Scalar, before: Scalar) -> Scalar:
    """1 from the sample on at which a joint exceeds a share of its velocity limit, else 0.

    It is 0 again once all joints are below ``CAUGHT`` of their limits.

    Args:
        v: velocities (nv).
        limits: velocity limits (nv).
        share: share of the limits.
        before: result of the previous sample.
    """
    fastest: Scalar = 0.0
    for speed, limit in zip(v, limits, strict=True):
        fastest = larger(magnitude(speed) / limit, fastest)
    caught = where_less(fastest, CAUGHT, 0.0, before)
    return where_less(share, fastest, 1.0, caught)
