# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Integration, difference and interpolation on the configuration manifold ([SE3] 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .quantity import CONFIGURATION, VELOCITY, Input, Q, V, quantity

Coordinates = Annotated[list[Scalar], Input('nq')]
Start = Annotated[Sequence[Scalar], Input('nq', meaning='configuration at the start, as q')]
End = Annotated[Sequence[Scalar], Input('nq', meaning='configuration at the end, as q')]
Rate = Annotated[Sequence[Scalar], Input('nq', meaning='time derivative of q')]
Part = Annotated[Scalar, Input(meaning='part of the way, 0 at q0 and 1 at q1')]


@quantity(
    'q after one second at the constant velocity v', CONFIGURATION, may_overflow=True, written=True
)
def integrate(model: Model, q: Q, v: V) -> Coordinates:
    """Configuration (nq) after one second at the constant velocity v (nv) from q."""
    return _by_joint(model, 'integrate', 'q', ('q', q), ('v', v))


@quantity('the velocity that takes q0 to q1 in one second', VELOCITY)
def difference(model: Model, q0: Start, q1: End) -> list[Scalar]:
    """Constant velocity (nv) of the motion from q0 to q1 in one second."""
    return _by_joint(model, 'difference', 'v', ('q', q0), ('q', q1))


@quantity('the configuration at t between q0 and q1', CONFIGURATION, may_overflow=True)
def interpolate(model: Model, q0: Start, q1: End, t: Part) -> Coordinates:
    """Configuration (nq) at t on the motion of constant velocity from q0 (t = 0) to q1 (t = 1)."""
    return integrate(model, q0, [t * velocity for velocity in difference(model, q0, q1)])


def joint_positions(model: Model, q: Sequence[Scalar]) -> list[Scalar]:
    """Positions (nv) of the joints with one coordinate; 0 for all other velocities."""
    positions: list[Scalar] = [0.0] * model.nv
    for joint in model.actuated:
        if len(joint.q_indices) == 1:
            positions[joint.v_indices[0]] = q[joint.q_indices[0]]
    return positions


def neutral(model: Model) -> list[float]:
    """Configuration (nq) with the identity transform in all joints that are not mimic joints."""
    return _by_joint(model, 'neutral', 'q')


def nominal(model: Model) -> list[float]:
    """Configuration (nq) within the limits: neutral, where limits exclude that their middle.

    A joint with one limit, which excludes its neutral position, is at the limit.
    """
    q = neutral(model)
    for joint in model.actuated:
        lower, upper = joint.limits.lower, joint.limits.upper
        if joint.kind.nq == 1 and not lower <= q[joint.q_indices[0]] <= upper:
            ends = [end for end in (lower, upper) if math.isfinite(end)]
            q[joint.q_indices[0]] = sum(ends) / len(ends)
    return q


@quantity(
    'q-dot = F(q) v, the time derivative of the coordinates ([Kindr])',
    'as q, 1/s',
    notes='It differs from v for a moving base: v has its twist in its own axes, q its position\n'
    'in the world and a quaternion.',
)
def configuration_rate(model: Model, q: Q, v: V) -> Coordinates:
    """q-dot = F(q) v (nq), the time derivative of the configuration coordinates ([Kindr])."""
    return _by_joint(model, 'rate', 'q', ('q', q), ('v', v))


@quantity(
    'v = E(q) q-dot, the inverse of ``configuration_rate`` ([RD] eq. 2.262)',
    VELOCITY,
    notes='A component of ``rate`` that would change the length of a quaternion is dropped.',
)
def velocity_of_rate(model: Model, q: Q, rate: Rate) -> list[Scalar]:
    """v = E(q) q-dot (nv), the inverse of `configuration_rate` ([RD] eq. 2.262)."""
    return _by_joint(model, 'velocity', 'v', ('q', q), ('q', rate))


@quantity('F with q-dot = F v ([Kindr])', 'rows as q, columns as v')
def rate_map(model: Model, q: Q) -> Annotated[list[list[Scalar]], Input('nq', 'nv')]:
    """Matrix F(q) (nq, nv) with q-dot = F(q) v."""
    columns = [configuration_rate(model, q, unit) for unit in _unit_vectors(model.nv)]
    return [[column[i] for column in columns] for i in range(model.nq)]


@quantity(
    'E with v = E q-dot, so that E F is the identity ([RD] eq. 2.262)', 'rows as v, columns as q'
)
def rate_map_inverse(model: Model, q: Q) -> Annotated[list[list[Scalar]], Input('nv', 'nq')]:
    """Matrix E(q) (nv, nq) with v = E(q) q-dot; E F is the identity."""
    columns = [velocity_of_rate(model, q, unit) for unit in _unit_vectors(model.nq)]
    return [[column[i] for column in columns] for i in range(model.nv)]


def _by_joint(
    model: Model, method: str, to: str, *arguments: tuple[str, Sequence[Scalar]]
) -> list[Scalar]:
    """Assemble what a method of the joints' kinds returns for all joints with own coordinates.

    Args:
        model: the robot.
        method: name of the method.
        to: 'q' for a vector of coordinates (nq), 'v' for one of velocities (nv).
        arguments: arguments of the method for the whole robot, each with 'q' or 'v'.
    """
    result: list[Scalar] = [0.0] * (model.nq if to == 'q' else model.nv)
    for joint in model.joints:
        if joint.leader is None:
            indices = {'q': joint.q_indices, 'v': joint.v_indices}
            own = [[x[i] for i in indices[which]] for which, x in arguments]
            for i, value in zip(indices[to], getattr(joint.kind, method)(*own), strict=True):
                result[i] = value
    return result


def _unit_vectors(size: int) -> list[list[Scalar]]:
    return [[1.0 if i == k else 0.0 for i in range(size)] for k in range(size)]
