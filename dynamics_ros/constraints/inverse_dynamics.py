# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torques that move a robot in contact as prescribed ([Lie] 3.1, [RD] 3.10)."""

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

from .jacobian import constraint_bias, constraint_jacobian
from .kinds import Constraints
from .solve import check_feasible, solve_constrained

Criterion = Literal['minimum_torque', 'minimum_constraint_force']
CRITERIA = get_args(Criterion)


class InverseDynamicsOptions(TypedDict, total=False):
    """Options of ``constrained_inverse_dynamics``, as it explains them."""

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
    """Torques of the actuated joints, and constraint forces, for a motion that keeps contact.

    M a + C v + g = tau + J^T f, with known tau where nothing is actuated ([Lie] eq. 56). With more
    actuators than the motion has freedom ([Lie] 3.1, redundant actuation) torques and forces can be
    traded:

    - 'minimum_torque': least |tau| ([Lie] eq. 62 to 64, the same as [RD] eq. 3.100), and of those
      least |f|.
    - 'minimum_constraint_force': least |f| ([Lie] eq. 59). With every joint actuated that is f = 0.

    Args:
        robot, q, v, contacts: as for ``constrained_forward_dynamics``.
        a: (..., nv), an acceleration that keeps the constraints; ``consistent_acceleration``
            makes one.
        actuated: (nv) booleans; None is every joint but the root joint of a moving base.
        criterion: what is least.
        passive_torques: (..., nv) of springs or friction in joints without actuator, read there
            ([Lie] eq. 57); None is zero.
        external_wrenches: as for ``constrained_forward_dynamics``.

    Returns:
        tau (..., nv), the passive torques among them, and forces (..., rows) of the environment on
        the robot.

    Raises:
        InfeasibleError: a breaks the constraints, or the actuated joints and the constraints
            together cannot produce a.
    """
    if criterion not in CRITERIA:
        raise InvalidArgumentError('criterion', repr(criterion), f'one of {CRITERIA}')
    active = actuated_mask(robot, actuated)
    q, v, a = finite_together(q=(q, robot.nq), v=(v, robot.nv), a=(a, robot.nv))
    J = constraint_jacobian(robot, q, contacts)
    bias = constraint_bias(robot, q, v, contacts)
    size = largest_singular_value(J)
    check_feasible(
        apply(J, a) + bias,
        size * np.linalg.norm(a, axis=-1) + np.linalg.norm(bias, axis=-1),
        'the acceleration breaks the constraints; consistent_acceleration(...) gives one that does'
        ' not',
    )
    needed = robot.inverse_dynamics(q, v, a, external_wrenches)
    passive = np.zeros(robot.nv)
    if passive_torques is not None:
        passive = np.where(
            active, 0.0, finite_vectors('passive_torques', passive_torques, robot.nv)
        )
    needed = needed - passive
    # The constraints alone carry the rows without an actuator: J_p^T f = needed_p ([Lie] eq. 57).
    A, B = transposed(J[..., ~active]), transposed(J[..., active])
    inverse = pseudo_inverse(A, size)
    forces = apply(inverse, needed[..., ~active])
    check_feasible(
        needed[..., ~active] - apply(A, forces),
        np.linalg.norm(needed, axis=-1),
        'constraints and actuated joints together cannot produce this acceleration',
    )
    if criterion == 'minimum_torque':
        # What is left of f is N s; the actuators give needed_a - B f - B N s ([Lie] eq. 62).
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
    """The acceleration (..., nv) nearest to ``a`` that keeps the constraints.

    Nearest in the metric of the mass matrix: what the constraints would make of ``a`` (Gauss's
    principle).

    Args:
        robot, q, v, contacts: as for ``constrained_forward_dynamics``.
        a: (..., nv).

    Raises:
        InfeasibleError: constraints that contradict each other.
    """
    q, v, a = finite_together(q=(q, robot.nq), v=(v, robot.nv), a=(a, robot.nv))
    M = robot.mass_matrix(q)
    J = constraint_jacobian(robot, q, contacts)
    target = -constraint_bias(robot, q, v, contacts)
    nearest, _ = solve_constrained(
        M, J, apply(M, a), target, 'no acceleration keeps all constraints'
    )
    refuse_overflow(nearest, q=q, v=v, a=a)
    return nearest


def actuated_mask(
    robot: RigidBodySystem, actuated: Sequence[bool] | NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """The mask (nv) of actuated velocities; None is every joint but the root joint."""
    if actuated is None:
        return np.arange(robot.nv) >= robot.model.root_joint_nv
    return boolean_mask('actuated', actuated, robot.nv)
