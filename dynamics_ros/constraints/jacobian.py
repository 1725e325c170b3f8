# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stacked Jacobian and bias of constraints, and the linear systems that they solve.

Contacts and loops are rows of one kernel, whose options and inputs are stored for each set of
constraints. Dynamics at an end effector are those of the rows of its Jacobian ([RD] 3.9.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.constrained import INDEPENDENT
from dynamics_ros.algorithms.quantity import ALL_ROWS as EVERY_ROW
from dynamics_ros.constraints.kinds import (
    ClosedLoop,
    Constraints,
    Contact,
    constraint_list,
    places,
)
from dynamics_ros.errors import (
    InfeasibleError,
    InvalidArgumentError,
    RankDeficientError,
    SingularError,
)
from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.arguments import finite_arrays, finite_together, refuse_overflow
from dynamics_ros.multibody.linear_systems import (
    RANK_TOLERANCE,
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


def are_independent(pivots: Array, tolerance: float = INDEPENDENT) -> bool:
    """Whether rows are independent, from pivots (..., rows) of their orthogonalization.

    A pivot is the length of a row after orthogonalization with respect to the rows before it. Each
    has to be above the tolerance times the largest one; none is if one is not finite.
    """
    if pivots.ndim == 1:  # a single state, in a loop of a controller
        lengths = pivots.tolist()
        if lengths and not min(lengths) > tolerance * max(lengths):
            return False
        return math.isfinite(sum(lengths))
    largest = pivots.max(axis=-1, initial=0.0, keepdims=True)
    return bool((pivots > tolerance * largest).all())


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


ALL_ROWS = (0, 1, 2, 3, 4, 5)


def operational_space(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike, frame: str, rows: Sequence[int] = ALL_ROWS
) -> tuple[Array, Array, Array]:
    """Lambda, mu and p of Lambda w-dot + mu + p = F at a frame ([RD] eq. 3.86 to 3.89).

    Args:
        robot: the robot.
        q, v: (..., nq), (..., nv).
        frame: the end effector; its twist is at its origin, in axes of the root frame.
        rows: m of the six components x y z, rx ry rz; fewer than six if the robot cannot move in
            all directions.

    Returns:
        Task inertia Lambda (..., m, m), Coriolis and centrifugal force mu (..., m), gravity force p
        (..., m).

    Raises:
        RankDeficientError: the joints cannot move the frame in all rows, so Lambda does not exist.
        SingularError: a joint moves nothing that has mass or inertia.
    """
    kernel = robot.kernel('operational_space', frame, row_digits(rows))
    Lambda, mu, p, pivots = kernel.call(q, v)
    check_rank(frame, pivots)
    refuse_overflow(mu, q=q, v=v)
    return Lambda, mu, p


def row_digits(rows: Sequence[int]) -> str:
    """Rows of a Jacobian as a string of digits, the option of a kernel.

    Raises:
        InvalidArgumentError: there is no row, a row does not exist, or a row is repeated.
    """
    if rows is ALL_ROWS:
        return EVERY_ROW
    chosen = list(rows) if isinstance(rows, Iterable) else []
    digits = ''.join(str(row) for row in chosen if isinstance(row, (int, np.integer)))
    if not 0 < len({*digits} & {*EVERY_ROW}) == len(digits) == len(chosen):
        raise InvalidArgumentError('rows', repr(rows), f'different numbers of {ALL_ROWS}')
    return digits


def check_rank(frame: str, pivots: Array) -> None:
    """Check that the rows of a Jacobian are independent.

    Args:
        frame: name of the frame, for the error.
        pivots: (..., m) lengths of the orthogonalized rows in the metric of M^-1.

    Raises:
        RankDeficientError: a row depends on the rows before it.
        SingularError: a length is not finite.
    """
    if are_independent(pivots, RANK_TOLERANCE):
        return
    if not np.isfinite(pivots).all():
        raise SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    needed = pivots.shape[-1]
    independent = pivots > RANK_TOLERANCE * pivots.max(axis=-1, keepdims=True)
    smallest_rank = int(independent.sum(axis=-1).min(initial=needed))
    advice = 'move away from the singularity or choose fewer rows'
    raise RankDeficientError(f'Jacobian of {frame!r}', smallest_rank, needed, advice)
