# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constrained inverse dynamics: torques for a motion in contact ([Lie] 3.1, [RD] 3.10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    boolean_mask,
    finite_together,
    finite_vectors,
    refuse_overflow,
)
from dynamics_ros.multibody.external_wrenches import Wrenches
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .jacobian import rows_and_bias
from .kinds import Constraints
from .solve import check_feasible, solve_constrained

Criterion = Literal['minimum_torque', 'minimum_constraint_force']
CRITERIA = get_args(Criterion)


class InverseDynamicsOptions(TypedDict, total=False):
    """Options of ``constrained_inverse_dynamics``; see there."""

    actuated: Sequence[bool] | NDArray[np.bool_] | None
    criterion: Criterion
    passive_torques: ArrayLike | None
    external_wrenches: Wrenches | None


def constrained_inverse_dynamics(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    contacts: Constraints,
    actuated: Sequence[bool] | NDArray[np.bool_] | None = None,
    criterion: Criterion = 'minimum_torque',
    passive_torques: ArrayLike | None = None,
    external_wrenches: Wrenches | None = None,
) -> tuple[Array, Array]:
    """Torques of actuated joints, and constraint forces, for a motion that satisfies constraints.

    Solves M a + C v + g = tau + J^T f, with known tau of passive joints ([Lie] eq. 56). If there
    are more actuators than degrees of freedom of the motion (redundant actuation, [Lie] 3.1), the
    solution is not unique, and a criterion selects one:

    - 'minimum_torque': least |tau| ([Lie] eq. 62 to 64, equal to [RD] eq. 3.100), and among these
      solutions least |f|.
    - 'minimum_constraint_force': least |f| ([Lie] eq. 59). If all joints are actuated, f = 0.

    Args:
        robot, q, v, contacts: as for ``constrained_forward_dynamics``.
        a: (..., nv) acceleration that satisfies the constraints; ``consistent_acceleration``
            computes one.
        actuated: (nv) booleans; None for all joints except the root joint of a moving base.
        criterion: the minimized quantity.
        passive_torques: (..., nv) torques of springs or friction, read only for passive joints
            ([Lie] eq. 57); None for zero.
        external_wrenches: as for ``constrained_forward_dynamics``.

    Returns:
        Torques (..., nv) including the passive ones, and forces (..., rows) of the environment on
        the robot.

    Raises:
        InfeasibleError: a violates the constraints, or the actuated joints and the constraints
            together cannot produce a.
    """
    if criterion not in CRITERIA:
        raise InvalidArgumentError('criterion', repr(criterion), f'one of {CRITERIA}')
    active = actuated_mask(robot, actuated)
    q, v, a = finite_together(q=(q, robot.nq), v=(v, robot.nv), a=(a, robot.nv))
    J, bias = rows_and_bias(robot, q, v, contacts)
    size = largest_singular_value(J)
    check_feasible(
        apply(J, a) + bias,
        size * np.linalg.norm(a, axis=-1) + np.linalg.norm(bias, axis=-1),
        'the acceleration breaks the constraints; consistent_acceleration(...) returns one that'
        ' satisfies them',
    )
    needed = robot.inverse_dynamics(q, v, a, external_wrenches)
    passive = np.zeros(robot.nv)
    if passive_torques is not None:
        passive = np.where(
            active, 0.0, finite_vectors('passive_torques', passive_torques, robot.nv)
        )
    needed = needed - passive
    # Only the constraints act on the rows of passive joints: J_p^T f = needed_p ([Lie] eq. 57).
    A, B = transposed(J[..., ~active]), transposed(J[..., active])
    inverse = pseudo_inverse(A, size)
    forces = apply(inverse, needed[..., ~active])
    check_feasible(
        needed[..., ~active] - apply(A, forces),
        np.linalg.norm(needed, axis=-1),
        'constraints and actuated joints together cannot produce this acceleration',
    )
    if criterion == 'minimum_torque':
        # The free part of f is N s; the actuators exert needed_a - B f - B N s ([Lie] eq. 62).
        N = np.eye(J.shape[-2]) - inverse @ A
        rest = needed[..., active] - apply(B, forces)
        forces = forces + apply(pseudo_inverse(B @ N, size), rest)
    leading = np.broadcast_shapes(needed.shape, (*forces.shape[:-1], robot.nv))
    tau = np.broadcast_to(passive, leading).copy()
    tau[..., active] = needed[..., active] - apply(B, forces)
    return tau, forces


def consistent_acceleration(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike, a: ArrayLike, contacts: Constraints
) -> Array:
    """Acceleration (..., nv) nearest to ``a`` that satisfies the constraints.

    The distance is measured in the metric of the mass matrix. By Gauss's principle, the result is
    the acceleration of a robot under constraints that would have the acceleration ``a`` without
    them.

    Args:
        robot, q, v, contacts: as for ``constrained_forward_dynamics``.
        a: (..., nv).

    Raises:
        InfeasibleError: the constraints contradict each other.
    """
    q, v, a = finite_together(q=(q, robot.nq), v=(v, robot.nv), a=(a, robot.nv))
    M = robot.mass_matrix(q)
    J, bias = rows_and_bias(robot, q, v, contacts)
    target = -bias
    nearest, _ = solve_constrained(
        M, J, apply(M, a), target, 'no acceleration satisfies all constraints'
    )
    refuse_overflow(nearest, q=q, v=v, a=a)
    return nearest


def actuated_mask(
    robot: RigidBodySystem, actuated: Sequence[bool] | NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Mask (nv) of actuated velocities; None stands for all joints except the root joint."""
    if actuated is None:
        return np.arange(robot.nv) >= robot.model.root_joint_nv
    return boolean_mask('actuated', actuated, robot.nv)
