# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forward, hybrid and inverse dynamics in contact ([RD] 3.7, 3.10, [Lie] 3), and impacts.

Constraints are stacked in their order. Contacts and loops are rows of one kernel, whose options and
inputs are stored for each set of constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.constraints.kinds import (
    ClosedLoop,
    Constraints,
    Contact,
    constraint_list,
    places,
)
from dynamics_ros.errors import InfeasibleError, InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel
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
    cholesky,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation of a feasible system. It is relative to the size of the terms if that is above
one SI unit (m/s^2, m/s, N), else absolute. Rounding errors are a thousand times smaller."""


def solve_constrained(
    M: Array, J: Array, force: Array, target: Array, contradiction: str = ''
) -> tuple[Array, Array]:
    """Solve M x = force + J^T lambda, J x = target for x and lambda.

    If rows of J are dependent, lambda is not unique, and the one of least norm is returned. x is
    always unique.

    Args:
        M: (..., n, n).
        J: (..., m, n).
        force: (..., n).
        target: (..., m).
        contradiction: message of the error if no x satisfies J x = target; '' accepts the x that
            satisfies it best.

    Returns:
        x (..., n) and lambda (..., m).

    Raises:
        InfeasibleError: no x satisfies J x = target, because dependent rows contradict each other.
        SingularError: M is not positive definite.
    """
    # M = L L^T, and the whitened Jacobian W = L^-1 J^T, with J M^-1 J^T = W^T W.
    L = cholesky(M)
    W = np.asarray(np.linalg.solve(L, transposed(J)), dtype=np.float64)
    free = np.asarray(np.linalg.solve(L, force[..., None])[..., 0], dtype=np.float64)
    required = target - apply(transposed(W), free)
    inverse = pseudo_inverse(W)
    correction = apply(transposed(inverse), required)
    if contradiction:
        size = largest_singular_value(W) * np.linalg.norm(free, axis=-1)
        left = required - apply(transposed(W), correction)
        check_feasible(left, size + np.linalg.norm(target, axis=-1), contradiction)
    x = np.linalg.solve(transposed(L), (free + correction)[..., None])[..., 0]
    return np.asarray(x), apply(inverse, correction)


def check_feasible(residual: Array, scale: Array, contradiction: str) -> None:
    """Check that residuals (..., m) are small relative to the scale (...), or to 1 if larger.

    Raises:
        InfeasibleError: a residual is too large; ``contradiction`` is the message.
    """
    violation = np.linalg.norm(residual, axis=-1)
    if (violation > FEASIBILITY_TOLERANCE * np.maximum(scale, 1.0)).any():
        raise InfeasibleError(contradiction, float(np.max(violation)))


MAX_CACHED = 128
"""Largest number of stored sets of constraints; a program may create new ones in each call."""


@dataclass(frozen=True)
class InKernels:
    """Contacts and loops as options and inputs of kernels of a robot.

    Attributes:
        names: kinds and frames, the options of the kernels.
        places: the last inputs of the kernels: points and directions, (m, 2, 3) each.
        given: the constraints as passed by the user; the reference keeps their identities valid.
        kernels: those that were asked for, by name.
    """

    names: tuple[str, ...]
    places: tuple[Array, ...]
    given: tuple[Any, ...]
    kernels: dict[str, Kernel] = field(default_factory=dict)

    def kernel(self, robot: RigidBodySystem, name: str) -> Kernel:
        """The kernel of these constraints with a given name."""
        return self.kernels.get(name) or self.kernels.setdefault(
            name, robot.kernel(name, *self.names)
        )


def in_kernels(robot: RigidBodySystem, contacts: Constraints) -> InKernels | None:
    """Options and inputs of kernels for constraints; None if one is not a contact or a loop.

    Raises:
        InvalidArgumentError: an entry is not a constraint.
    """
    if type(contacts) is list or type(contacts) is tuple:  # without the slower tests below
        given, latest = tuple(contacts), robot._kept.get('contacts')
        # Identical elements compare without a call of their __eq__.
        if latest is not None and latest.given == given:
            found: InKernels = latest
            return found
    elif isinstance(contacts, str) or not isinstance(contacts, Sequence):
        given = (contacts,)
    else:
        given = tuple(contacts)
    # By identities: constraints are immutable, and comparing their fields takes longer.
    known: dict[tuple[int, ...], InKernels] = robot._kept['constraints']
    key = tuple(map(id, given))
    if (earlier := known.get(key)) is not None:  # another thread may clear them
        robot._kept['contacts'] = earlier
        return earlier
    constraints = constraint_list(contacts)
    # A subclass may override the Jacobian, so it has no kernel.
    own = [x for x in constraints if type(x) is Contact or type(x) is ClosedLoop]
    if len(own) < len(constraints):
        return None
    if len(known) >= MAX_CACHED:
        known.clear()
    made = InKernels(tuple(name for x in own for name in x.key), places(own), given)
    known[key] = made
    return made


def stacked(parts: Sequence[Array], axes: int) -> Array:
    """Stack the rows (..., rows, ...) of constraints, whose leading axes broadcast.

    Args:
        parts: one array per constraint, and one with the leading axes of the state.
        axes: number of own axes, of which the first has the rows.
    """
    leading = np.broadcast_shapes(*(part.shape[: part.ndim - axes] for part in parts))
    full = [np.broadcast_to(part, leading + part.shape[part.ndim - axes :]) for part in parts]
    return np.concatenate(full, axis=-axes)


def constraint_jacobian(robot: RigidBodySystem, q: ArrayLike, contacts: Constraints) -> Array:
    """Jacobian J_c (..., rows, nv), with the constraints stacked in their order ([RD] eq. 2.271).

    Args:
        robot: the constrained robot.
        q: (..., nq).
        contacts: one constraint or several; a name is a point contact at the origin of that frame.
    """
    return rows_and_bias(robot, finite_arrays('q', q, (robot.nq,)), None, contacts)[0]


def constraint_bias(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike, contacts: Constraints
) -> Array:
    """Bias J_c-dot v (..., rows): accelerations of the rows at constant v.

    Args:
        robot, q, contacts: as for ``constraint_jacobian``.
        v: (..., nv).
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    return rows_and_bias(robot, q, v, contacts)[1]


def rows_and_bias(
    robot: RigidBodySystem, q: Array, v: Array | None, contacts: Constraints
) -> tuple[Array, Array]:
    """Jacobian and bias, as ``constraint_jacobian`` and ``constraint_bias``, of checked q and v.

    Without v there is no bias.
    """
    known = in_kernels(robot, contacts)
    if known is not None and known.names:
        given = np.zeros(robot.nv) if v is None else v
        J, bias = known.kernel(robot, 'constraint_rows')(q, given, *known.places)
        return J, bias
    constraints, none = constraint_list(contacts), np.zeros((*q.shape[:-1], 0, robot.nv))
    J = stacked([none, *(x.jacobian(robot, q) for x in constraints)], 2)
    if v is None:
        return J, np.zeros(0)
    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return J, stacked([np.zeros((*leading, 0)), *(x.bias(robot, q, v) for x in constraints)], 1)


def split_forces(forces: ArrayLike, contacts: Constraints) -> list[Array]:
    """Split stacked forces (..., rows) into the forces of each constraint."""
    ends = np.cumsum([constraint.rows for constraint in constraint_list(contacts)])
    rows = int(ends[-1]) if len(ends) else 0
    return np.split(finite_arrays('forces', forces, (rows,)), ends[:-1], axis=-1)


def support_projector(robot: RigidBodySystem, q: ArrayLike, contacts: Constraints) -> Array:
    """Dynamically consistent null-space projector N_c (..., nv, nv) ([RD] eq. 3.63).

    N_c v satisfies the constraints and is the nearest such velocity to v, in the metric of M. N_c^T
    removes the part of a torque that only causes constraint forces.

    Args:
        robot, q, contacts: as for ``constraint_jacobian``.
    """
    J, M = constraint_jacobian(robot, q, contacts), robot.mass_matrix(q)
    # Column k is the nearest velocity to unit velocity k.
    columns, _ = solve_constrained(M[..., None, :, :], J[..., None, :, :], M, np.zeros(J.shape[-2]))
    return transposed(columns)


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
