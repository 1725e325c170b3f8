# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constrained forward and hybrid dynamics ([RD] 3.7, [Lie] 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.constrained import INDEPENDENT
from dynamics_ros.multibody.arguments import boolean_mask, finite_together, refuse_overflow
from dynamics_ros.multibody.external_wrenches import Wrenches
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .jacobian import rows_and_bias
from .kinds import Constraints
from .prepared import contact_dynamics
from .solve import solve_constrained

CONTRADICTION = (
    'no acceleration satisfies all constraints: dependent rows contradict each other,'
    ' as when v breaks a contact; support_projector(...) @ v satisfies them'
)


def constrained_forward_dynamics(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Constraints,
    external_wrenches: Wrenches | None = None,
) -> tuple[Array, Array]:
    """Accelerations and constraint forces for given torques ([RD] eq. 3.61, 3.62).

    Solves M a + C v + g = tau + J^T f with J a + J-dot v = 0. Constraints are bilateral: a contact
    force may pull. For redundant constraints the forces are not unique, and those of least norm are
    returned (see ``constraint_ranks``). The accelerations are always unique.

    Args:
        robot: the constrained robot.
        q, v, tau: (..., nq), (..., nv), (..., nv).
        contacts: one constraint or several; a name is a point contact at the origin of that frame.
        external_wrenches: additional wrenches, as for ``RigidBodySystem.inverse_dynamics``.

    Returns:
        Accelerations (..., nv), and forces (..., rows) of the environment on the robot, stacked as
        in ``constraint_jacobian``, with the opposite sign of F_c in [RD].

    Raises:
        InfeasibleError: the constraints contradict each other.
        SingularError: a joint moves nothing that has mass or inertia.
    """
    if external_wrenches is not None:
        q, tau = finite_together(q=(q, robot.nq), tau=(tau, robot.nv))
        tau = tau + robot.wrench_torques(q, external_wrenches)
    kernel, places, _ = contact_dynamics(robot, contacts)
    if kernel is not None:
        # The kernel refuses dependent rows and overflow, which are treated or reported below.
        answer = kernel.attempt(q, v, tau, *places)
        if answer is not NotImplemented:
            return answer[0], answer[1]
    q, v, tau = finite_together(q=(q, robot.nq), v=(v, robot.nv), tau=(tau, robot.nv))
    force = tau - robot.nonlinear_effects(q, v)
    J, bias = rows_and_bias(robot, q, v, contacts)
    target = -bias
    a, forces = solve_constrained(robot.mass_matrix(q), J, force, target, CONTRADICTION)
    refuse_overflow(a, forces, q=q, v=v, tau=tau)
    return a, forces


def independent(pivots: Array) -> bool:
    """Whether rows are certainly independent, from pivots (..., rows) of their orthogonalization.

    A pivot is the length of a row after orthogonalization with respect to the rows before it.
    """
    if pivots.ndim == 1:  # a single state, in a loop of a controller
        lengths = pivots.tolist()
        return not lengths or min(lengths) > INDEPENDENT * max(lengths)
    largest = pivots.max(axis=-1, initial=0.0, keepdims=True)
    return bool((pivots > INDEPENDENT * largest).all())


def contact_forces(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Constraints,
    external_wrenches: Wrenches | None = None,
) -> Array:
    """Forces (..., rows) of the environment on the robot, with the opposite sign of [RD] eq. 3.62.

    Arguments, forces of redundant constraints and errors are those of
    ``constrained_forward_dynamics``.
    """
    return constrained_forward_dynamics(robot, q, v, tau, contacts, external_wrenches)[1]


def constrained_hybrid_dynamics(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    prescribed: Sequence[bool] | NDArray[np.bool_],
    contacts: Constraints,
    external_wrenches: Wrenches | None = None,
) -> tuple[Array, Array, Array]:
    """Accelerations, torques and constraint forces, given the acceleration or torque of each joint.

    Free joints move as in constrained forward dynamics; prescribed joints have given accelerations
    ([Lie] 3, eq. 54 and 55 split into rows). The forces are those of least norm; internal forces
    between prescribed joints beyond that are not determined, and are zero.

    Args:
        robot, q, v, contacts: as for ``constrained_forward_dynamics``.
        a: (..., nv), read for prescribed velocities.
        tau: (..., nv), read for the other velocities.
        prescribed: (nv) booleans.
        external_wrenches: as for ``constrained_forward_dynamics``.

    Returns:
        a (..., nv), tau (..., nv), forces (..., rows).

    Raises:
        InfeasibleError: the prescribed accelerations violate the constraints for all motions of the
            free joints.
        SingularError: a free joint moves nothing that has mass or inertia.
    """
    given = boolean_mask('prescribed', prescribed, robot.nv)
    free = ~given
    n = robot.nv
    q, v, a, tau = finite_together(q=(q, robot.nq), v=(v, n), a=(a, n), tau=(tau, n))
    known_a, known_tau = np.where(given, a, 0.0), np.where(free, tau, 0.0)
    # Torques of the known accelerations; free accelerations and forces are added below.
    with_known = robot.inverse_dynamics(q, v, known_a, external_wrenches)
    M = robot.mass_matrix(q)
    J, bias = rows_and_bias(robot, q, v, contacts)
    target = -bias - apply(J, known_a)
    a_free, forces = solve_constrained(
        M[..., free, :][..., free],
        J[..., free],
        (known_tau - with_known)[..., free],
        target,
        'the prescribed accelerations break the constraints whatever the free joints do',
    )
    leading = np.broadcast_shapes(a_free.shape[:-1], known_a.shape[:-1], known_tau.shape[:-1])
    all_a = np.broadcast_to(known_a, (*leading, robot.nv)).copy()
    all_a[..., free] = a_free
    needed = with_known + apply(M, all_a - known_a) - apply(transposed(J), forces)
    all_tau = np.where(given, needed, known_tau)
    refuse_overflow(all_a, all_tau, forces, q=q, v=v, a=known_a, tau=known_tau)
    return all_a, all_tau, forces
