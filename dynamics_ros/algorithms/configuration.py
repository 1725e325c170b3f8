# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Integration, difference and interpolation on the configuration manifold ([SE3] 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dynamics_ros.model import Joint, Model
from dynamics_ros.spatial import Scalar


def integrate(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """Configuration (nq) after one second at the constant velocity v (nv) from q."""
    return _coordinates(
        model,
        lambda joint: joint.kind.integrate(
            _select(q, joint.q_indices), _select(v, joint.v_indices)
        ),
    )


def difference(model: Model, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
    """Constant velocity (nv) of the motion from q0 to q1 in one second."""
    return _velocities(
        model,
        lambda joint: joint.kind.difference(
            _select(q0, joint.q_indices), _select(q1, joint.q_indices)
        ),
    )


def interpolate(
    model: Model, q0: Sequence[Scalar], q1: Sequence[Scalar], t: Scalar
) -> list[Scalar]:
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
    return _coordinates(model, lambda joint: joint.kind.neutral())


def configuration_rate(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """q-dot = F(q) v (nq), the time derivative of the configuration coordinates ([Kindr])."""
    return _coordinates(
        model,
        lambda joint: joint.kind.rate(_select(q, joint.q_indices), _select(v, joint.v_indices)),
    )


def velocity_of_rate(model: Model, q: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
    """v = E(q) q-dot (nv), the inverse of `configuration_rate` ([RD] eq. 2.262)."""
    return _velocities(
        model,
        lambda joint: joint.kind.velocity(
            _select(q, joint.q_indices), _select(rate, joint.q_indices)
        ),
    )


def rate_map(model: Model, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """Matrix F(q) (nq, nv) with q-dot = F(q) v."""
    columns = [configuration_rate(model, q, unit) for unit in _unit_vectors(model.nv)]
    return [[column[i] for column in columns] for i in range(model.nq)]


def rate_map_inverse(model: Model, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """Matrix E(q) (nv, nq) with v = E(q) q-dot; E F is the identity."""
    columns = [velocity_of_rate(model, q, unit) for unit in _unit_vectors(model.nq)]
    return [[column[i] for column in columns] for i in range(model.nv)]


def _coordinates(model: Model, values_of: Callable[[Joint], Sequence[Scalar]]) -> list[Scalar]:
    """Assemble a vector (nq) from the values of each joint's coordinates."""
    result: list[Scalar] = [0.0] * model.nq
    for joint in _independent_joints(model):
        for i, value in zip(joint.q_indices, values_of(joint), strict=True):
            result[i] = value
    return result


def _velocities(model: Model, values_of: Callable[[Joint], Sequence[Scalar]]) -> list[Scalar]:
    """Assemble a vector (nv) from the values of each joint's velocities."""
    result: list[Scalar] = [0.0] * model.nv
    for joint in _independent_joints(model):
        for i, value in zip(joint.v_indices, values_of(joint), strict=True):
            result[i] = value
    return result


def _independent_joints(model: Model) -> Iterator[Joint]:
    return (joint for joint in model.joints if joint.leader is None)


def _select(values: Sequence[Scalar], indices: Sequence[int]) -> list[Scalar]:
    return [values[i] for i in indices]


def _unit_vectors(size: int) -> list[list[Scalar]]:
    return [[1.0 if i == k else 0.0 for i in range(size)] for k in range(size)]
