# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stacked Jacobian and bias of constraints, ranks, and the null-space projector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.arguments import finite_together, finite_vectors
from dynamics_ros.multibody.linear_systems import (
    Array,
    largest_singular_value,
    pseudo_inverse,
    rank,
    transposed,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .kinds import Constraints, constraint_list
from .prepared import prepared
from .solve import whitened


def constraint_jacobian(robot: RigidBodySystem, q: ArrayLike, contacts: Constraints) -> Array:
    """Jacobian J_c (..., rows, nv), with the constraints stacked in their order ([RD] eq. 2.271).

    Args:
        robot: the constrained robot.
        q: (..., nq).
        contacts: one constraint or several; a name is a point contact at the origin of that frame.
    """
    q = finite_vectors('q', q, robot.nq)
    if rows := _kernel_rows(robot, q, np.zeros(robot.nv), contacts):
        return rows[0]
    parts = [constraint.jacobian(robot, q) for constraint in constraint_list(contacts)]
    parts.append(np.zeros((0, robot.nv)))
    leading = np.broadcast_shapes(q.shape[:-1], *(part.shape[:-2] for part in parts))
    return np.concatenate(
        [np.broadcast_to(part, leading + part.shape[-2:]) for part in parts], axis=-2
    )


def constraint_bias(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike, contacts: Constraints
) -> Array:
    """Bias J_c-dot v (..., rows): accelerations of the rows at constant v.

    Args:
        robot, q, contacts: as for ``constraint_jacobian``.
        v: (..., nv).
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    if rows := _kernel_rows(robot, q, v, contacts):
        return rows[1]
    parts = [constraint.bias(robot, q, v) for constraint in constraint_list(contacts)]
    parts.append(np.zeros(0))
    shapes = (part.shape[:-1] for part in parts)
    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], *shapes)
    return np.concatenate(
        [np.broadcast_to(part, leading + part.shape[-1:]) for part in parts], axis=-1
    )


def rows_and_bias(
    robot: RigidBodySystem, q: Array, v: Array, contacts: Constraints
) -> tuple[Array, Array]:
    """Jacobian and bias, as ``constraint_jacobian`` and ``constraint_bias``, of checked q and v."""
    if rows := _kernel_rows(robot, q, v, contacts):
        return rows
    return constraint_jacobian(robot, q, contacts), constraint_bias(robot, q, v, contacts)


def _kernel_rows(
    robot: RigidBodySystem, q: Array, v: Array, contacts: Constraints
) -> tuple[Array, Array] | None:
    """Jacobian and bias of contacts and loops by one kernel; None for others, or for none."""
    inputs = prepared(contacts)
    if inputs is None or not inputs.names:
        return None
    J, bias = robot.kernel('constraint_rows', *inputs.names)(q, v, *inputs.places)
    return J, bias


def split_forces(forces: ArrayLike, contacts: Constraints) -> list[Array]:
    """Split stacked forces (..., rows) into the forces of each constraint."""
    ends = np.cumsum([constraint.rows for constraint in constraint_list(contacts)])
    rows = int(ends[-1]) if len(ends) else 0
    return np.split(finite_vectors('forces', forces, rows), ends[:-1], axis=-1)


@dataclass(frozen=True)
class ConstraintRanks:
    """Ranks of the constraints ([RD] 2.10.4); arrays have the leading axes of q.

    Attributes:
        total: number of independent constraints, rank(J_c).
        base: number of constraints on the base, rank(J_c,b); 0 for a fixed base.
        base_velocities: number of velocities of the base: 6 floating, 3 planar, 0 fixed.
        rows: number of rows of J_c.
    """

    total: NDArray[np.intp]
    base: NDArray[np.intp]
    base_velocities: int
    rows: int

    @property
    def internal(self) -> NDArray[np.intp]:
        """Number of internal constraints, which restrict joint motions at a fixed base."""
        return np.asarray(self.total - self.base)

    @property
    def base_is_controllable(self) -> NDArray[np.bool_]:
        """Whether the joints determine the motion of the base."""
        return np.asarray(self.base == self.base_velocities)

    @property
    def redundant(self) -> NDArray[np.intp]:
        """Number of dependent rows, the dimension of forces that have no effect."""
        return np.asarray(self.rows - self.total)


def constraint_ranks(
    robot: RigidBodySystem, q: ArrayLike, contacts: Constraints
) -> ConstraintRanks:
    """Ranks of constraints at configurations ([RD] 2.10.4).

    Args:
        robot, q, contacts: as for ``constraint_jacobian``.
    """
    J = constraint_jacobian(robot, q, contacts)
    n = robot.model.root_joint_nv
    scale = largest_singular_value(J)
    return ConstraintRanks(rank(J, scale), rank(J[..., :n], scale), n, J.shape[-2])


def support_projector(robot: RigidBodySystem, q: ArrayLike, contacts: Constraints) -> Array:
    """Dynamically consistent null-space projector N_c (..., nv, nv) ([RD] eq. 3.63).

    N_c v satisfies the constraints and is the nearest such velocity to v, in the metric of M. N_c^T
    removes the part of a torque that only causes constraint forces.

    Args:
        robot, q, contacts: as for ``constraint_jacobian``.
    """
    J = constraint_jacobian(robot, q, contacts)
    L, W = whitened(robot.mass_matrix(q), J)
    constrained = W @ pseudo_inverse(W)
    return np.asarray(
        np.linalg.solve(transposed(L), (np.eye(robot.nv) - constrained) @ transposed(L))
    )
