# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stacked Jacobian and bias of constraints, their ranks, and the linear systems that they solve.

Contacts and loops are rows of one kernel, whose options and inputs are stored for each set of
constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.constraints.kinds import ClosedLoop, Constraints, Contact, constraint_list, places
from dynamics_ros.errors import InfeasibleError
from dynamics_ros.kernels import Kernel
from dynamics_ros.multibody.arguments import finite_together, finite_vectors
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    cholesky,
    largest_singular_value,
    pseudo_inverse,
    rank,
    transposed,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation of a feasible system. It is relative to the size of the terms if that is above
one SI unit (m/s^2, m/s, N), else absolute. Rounding errors are a thousand times smaller."""


def whitened(M: Array, J: Array) -> tuple[Array, Array]:
    """L with M = L L^T, and the whitened Jacobian W = L^-1 J^T, with J M^-1 J^T = W^T W.

    Raises:
        SingularError: M is not positive definite.
    """
    L = cholesky(M)
    return L, np.asarray(np.linalg.solve(L, transposed(J)), dtype=np.float64)


def solve_constrained(
    M: Array, J: Array, force: Array, target: Array, contradiction: str
) -> tuple[Array, Array]:
    """Solve M x = force + J^T lambda, J x = target for x and lambda.

    If rows of J are dependent, lambda is not unique, and the one of least norm is returned. x is
    always unique.

    Args:
        M: (..., n, n).
        J: (..., m, n).
        force: (..., n).
        target: (..., m).
        contradiction: message of the error if no x satisfies J x = target.

    Returns:
        x (..., n) and lambda (..., m).

    Raises:
        InfeasibleError: no x satisfies J x = target, because dependent rows contradict each other.
        SingularError: M is not positive definite.
    """
    L, W = whitened(M, J)
    free = np.asarray(np.linalg.solve(L, force[..., None])[..., 0], dtype=np.float64)
    required = target - apply(transposed(W), free)
    inverse = pseudo_inverse(W)
    correction = apply(transposed(inverse), required)
    check_feasible(
        required - apply(transposed(W), correction),
        largest_singular_value(W) * np.linalg.norm(free, axis=-1) + np.linalg.norm(target, axis=-1),
        contradiction,
    )
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


MAX_CACHED = 256
"""Largest number of stored sets of constraints; a program may create new ones in each call."""


class Prepared(NamedTuple):
    """Contacts and loops as options and inputs of kernels.

    Attributes:
        names: kinds and frames, the options of the kernels.
        places: the last inputs of the kernels: points (m, 2, 3), and directions (m, 2, 3) if a kind
            needs them.
        given: the constraints as passed by the user; the reference keeps their identities valid.
    """

    names: tuple[str, ...]
    places: tuple[Array, ...]
    given: tuple[Any, ...]


_prepared: dict[tuple[int, ...], Prepared] = {}
"""By identities of the constraints, which are immutable and are kept alive by ``given``."""


def prepared(contacts: Constraints) -> Prepared | None:
    """Options and inputs of kernels for constraints; None if one is not a contact or a loop.

    Raises:
        InvalidArgumentError: an entry is not a constraint.
    """
    if type(contacts) is list or type(contacts) is tuple:  # without the slower tests below
        given = tuple(contacts)
    elif isinstance(contacts, str) or not isinstance(contacts, Sequence):
        given = (contacts,)
    else:
        given = tuple(contacts)
    key = tuple(map(id, given))
    return _prepared.get(key) or _prepare(contacts, key, given)


def contact_dynamics(
    robot: RigidBodySystem, contacts: Constraints
) -> tuple[Kernel | None, tuple[Array, ...]]:
    """Kernel of a robot in contact and its last inputs; that of the last contacts is found faster.

    The kernel is None if a constraint is not a contact or a loop.

    Raises:
        InvalidArgumentError: an entry is not a constraint.
    """
    if type(contacts) is list or type(contacts) is tuple:
        latest = robot._kept.get('contacts')
        # Identical elements compare without a call of their __eq__.
        if latest is not None and latest[1].given == tuple(contacts):
            return latest[0], latest[1].places
    inputs = prepared(contacts)
    if inputs is None:
        return None, ()
    kernel = robot.kernel('dynamics_in_contact', *inputs.names)
    robot._kept['contacts'] = kernel, inputs
    return kernel, inputs.places


def _prepare(
    contacts: Constraints, key: tuple[int, ...], given: tuple[Any, ...]
) -> Prepared | None:
    constraints = constraint_list(contacts)
    # A subclass may override the Jacobian, so it has no kernel.
    known = [x for x in constraints if type(x) is Contact or type(x) is ClosedLoop]
    if len(known) < len(constraints):
        return None
    if len(_prepared) >= MAX_CACHED:
        _prepared.clear()
    names = tuple(name for x in known for name in x.key)
    return _prepared.setdefault(key, Prepared(names, places(known), given))


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
    q = finite_vectors('q', q, robot.nq)
    if rows := _kernel_rows(robot, q, np.zeros(robot.nv), contacts):
        return rows[0]
    parts = [constraint.jacobian(robot, q) for constraint in constraint_list(contacts)]
    return stacked([np.zeros((*q.shape[:-1], 0, robot.nv)), *parts], 2)


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
    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    return stacked([np.zeros((*leading, 0)), *parts], 1)


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
