# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forward, hybrid and inverse dynamics in contact ([RD] 3.7, 3.10, [Lie] 3), and impacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.constraints.jacobian import (
    check_feasible,
    constraint_jacobian,
    in_kernels,
    rows_and_bias,
    solve_constrained,
)
from dynamics_ros.constraints.kinds import Constraints
from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.multibody.arguments import (
    boolean_mask,
    finite_arrays,
    finite_together,
    real_array,
    refuse_overflow,
)
from dynamics_ros.multibody.kernel_methods import Wrenches
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

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
    returned. The accelerations are always unique.

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
    known = in_kernels(robot, contacts)
    if known is not None:
        name = 'dynamics_in_contact'
        kernel = known.kernels.get(name) or known.kernel(robot, name)
        try:
            a, forces, _ = kernel.call(q, v, tau, *known.places)
            return a, forces
        except SingularError:
            pass  # rows that depend on each other, or a mass matrix whose error is raised below
    q, v, tau = finite_together(q=(q, robot.nq), v=(v, robot.nv), tau=(tau, robot.nv))
    force = tau - robot.nonlinear_effects(q, v)
    J, bias = rows_and_bias(robot, q, v, contacts)
    a, forces = solve_constrained(robot.mass_matrix(q), J, force, -bias, CONTRADICTION)
    refuse_overflow(a, forces, q=q, v=v, tau=tau)
    return a, forces


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


Criterion = Literal['minimum_torque', 'minimum_constraint_force']
CRITERIA = get_args(Criterion)


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
            active, 0.0, finite_arrays('passive_torques', passive_torques, (robot.nv,))
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
    nearest, _ = solve_constrained(
        M, J, apply(M, a), -bias, 'no acceleration satisfies all constraints'
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


def impact(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Constraints,
    restitution: ArrayLike = 0.0,
) -> tuple[Array, Array]:
    """Velocities after an impact, and its impulses ([RD] eq. 3.66 to 3.70, Newton's law).

    J v_after = -restitution J v. The law applies to all rows, independent of the sign of J v.

    Args:
        robot, q, contacts: as for ``constrained_forward_dynamics``.
        v: (..., nv) velocity before the impact.
        restitution: coefficient of restitution, 0 for a perfectly inelastic and 1 for an elastic
            impact; one number, or one per row (rows). With Newton's law, different coefficients of
            coupled rows can increase the energy.

    Returns:
        Velocity after the impact (..., nv), and impulses (..., rows) [Ns, Nms] of the environment
        on the robot, with the opposite sign of [RD]; of least norm for redundant constraints.

    Raises:
        InvalidArgumentError: a coefficient of restitution is outside [0, 1].
        InfeasibleError: dependent rows have different coefficients of restitution.
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    J = constraint_jacobian(robot, q, contacts)
    coefficients = _checked_restitution(restitution, J.shape[-2])
    M = robot.mass_matrix(q)
    after, impulses = solve_constrained(
        M,
        J,
        apply(M, v),
        -coefficients * apply(J, v),
        'dependent rows have different restitution',
    )
    refuse_overflow(after, impulses, q=q, v=v)
    return after, impulses


def _checked_restitution(restitution: ArrayLike, rows: int) -> Array:
    """Check coefficients of restitution: one number, or one per row."""
    expected = f'a number in [0, 1], or {rows} of them'
    coefficients = real_array('restitution', restitution, expected)
    allowed = (coefficients >= 0.0) & (coefficients <= 1.0)
    if coefficients.shape not in ((), (rows,)) or not allowed.all():
        raise InvalidArgumentError('restitution', f'{coefficients.tolist()}', expected)
    return coefficients
