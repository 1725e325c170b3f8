# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of constrained dynamics and of impacts ([Lie] 4, with [RD] 3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import RankDeficientError
from dynamics_ros.multibody.arguments import boolean_mask, finite_together
from dynamics_ros.multibody.end_effector import are_independent
from dynamics_ros.multibody.kernel_methods import Wrenches
from dynamics_ros.multibody.linear_systems import Array, apply, pseudo_inverse, rank, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .dynamics import (
    Criterion,
    actuated_mask,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    constraint_jacobian,
    impact,
    in_kernels,
    split_forces,
    stacked,
)
from .kinds import Constraints, Slopes, constraint_list, differentiable


class ConstrainedDerivatives(NamedTuple):
    """Derivatives of accelerations (..., nv, nv) and of forces (..., rows, nv) by q, v and tau.

    Derivatives by q are along velocities, so a floating base has six columns.
    """

    a_dq: Array
    a_dv: Array
    a_dtau: Array
    forces_dq: Array
    forces_dv: Array
    forces_dtau: Array


class ConstrainedHybridDerivatives(NamedTuple):
    """Derivatives of a, tau (..., nv, nv) and forces (..., rows, nv) by q, v, and known a and tau.

    Columns of ``_da`` belong to prescribed velocities, columns of ``_dtau`` to the others; the rest
    is zero.
    """

    a_dq: Array
    a_dv: Array
    a_da: Array
    a_dtau: Array
    tau_dq: Array
    tau_dv: Array
    tau_da: Array
    tau_dtau: Array
    forces_dq: Array
    forces_dv: Array
    forces_da: Array
    forces_dtau: Array


class ConstrainedInverseDerivatives(NamedTuple):
    """Derivatives of tau (..., nv, nv) and of forces (..., rows, nv) by q, v and a."""

    tau_dq: Array
    tau_dv: Array
    tau_da: Array
    forces_dq: Array
    forces_dv: Array
    forces_da: Array


class ImpactDerivatives(NamedTuple):
    """Derivatives of v after an impact (..., nv, nv), of impulses (..., rows, nv), by q and v."""

    after_dq: Array
    after_dv: Array
    impulses_dq: Array
    impulses_dv: Array


def constrained_forward_dynamics_derivatives(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contacts: Constraints,
    external_wrenches: Wrenches | None = None,
) -> ConstrainedDerivatives:
    """Derivatives of ``constrained_forward_dynamics`` by q, v and tau.

    Points of contacts are constant in their frames; normals are constant in axes of the root frame.
    If v violates the constraints, the derivatives are those of the same equations.

    Args:
        robot, q, v, tau, contacts: as for ``constrained_forward_dynamics``; no constraints of a
            user's own class.
        external_wrenches: as for ``RigidBodySystem.inverse_dynamics_derivatives``.

    Raises:
        InvalidArgumentError: the derivatives of a constraint are not known.
        RankDeficientError: rows depend on each other, so the forces are not unique.
    """
    known = in_kernels(robot, contacts)
    if known is None:
        none = np.zeros(robot.nv)
        of_all = constrained_hybrid_dynamics_derivatives(
            robot, q, v, none, tau, none > 0.0, contacts, external_wrenches
        )
        return ConstrainedDerivatives(*(getattr(of_all, x) for x in ConstrainedDerivatives._fields))
    a, forces = constrained_forward_dynamics(robot, q, v, tau, contacts, external_wrenches)
    kernel = known.kernel(robot, 'constrained_dynamics_derivatives')
    *matrices, pivots = kernel.call(q, v, a, forces, *known.places)
    if not are_independent(pivots):
        raise _dependent(constraint_jacobian(robot, q, contacts))
    derivatives = ConstrainedDerivatives(*matrices)
    if external_wrenches is None:
        return derivatives
    # External wrenches act like torques that depend on q.
    wrench_slope = robot.wrench_torques_derivative(q, external_wrenches)
    return derivatives._replace(
        a_dq=derivatives.a_dq + derivatives.a_dtau @ wrench_slope,
        forces_dq=derivatives.forces_dq + derivatives.forces_dtau @ wrench_slope,
    )


def constrained_hybrid_dynamics_derivatives(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    prescribed: Sequence[bool] | NDArray[np.bool_],
    contacts: Constraints,
    external_wrenches: Wrenches | None = None,
) -> ConstrainedHybridDerivatives:
    """Derivatives of ``constrained_hybrid_dynamics`` by q, v, and the known parts of a and tau.

    Args:
        robot, q, v, a, tau, prescribed: as for ``constrained_hybrid_dynamics``.
        contacts, external_wrenches: as for ``constrained_forward_dynamics_derivatives``.

    Raises:
        InvalidArgumentError: the derivatives of a constraint are not known.
        RankDeficientError: rows depend on each other in the motions of the free joints.
    """
    given = boolean_mask('prescribed', prescribed, robot.nv)
    a, tau, forces = constrained_hybrid_dynamics(
        robot, q, v, a, tau, given, contacts, external_wrenches
    )
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    system = _System.of(robot, q, v, a, forces, contacts, external_wrenches)
    # A unit of a known acceleration takes M e of the forces and J e of the rows.
    known_a = -system.M * given, -system.J * given
    known_tau = np.diag(1.0 * ~given), np.zeros(system.J.shape)
    columns = (system.by_q, system.by_v, known_a, known_tau)
    of_a, of_tau, of_forces = [], [], []
    solved = zip(columns, system.solve(*columns, free=~given), strict=True)
    for index, ((force, _), (part, of_force)) in enumerate(solved):
        needed = system.M @ part - force - transposed(system.J) @ of_force
        of_a.append(part + np.diag(1.0 * given) if index == 2 else part)
        of_tau.append(np.where(given[:, None], needed, np.diag(1.0 * ~given) * (index == 3)))
        of_forces.append(of_force)
    return ConstrainedHybridDerivatives(*of_a, *of_tau, *of_forces)


def constrained_inverse_dynamics_derivatives(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    contacts: Constraints,
    actuated: Sequence[bool] | NDArray[np.bool_] | None = None,
    criterion: Criterion = 'minimum_torque',
    passive_torques: ArrayLike | None = None,
    external_wrenches: Wrenches | None = None,
) -> ConstrainedInverseDerivatives:
    """Derivatives of ``constrained_inverse_dynamics`` by q, v and a.

    They are those of its equations at constant passive torques. A change of q or v alone usually
    breaks J a + J-dot v = 0, which these do not contain.

    With criterion 'minimum_torque', the torques of the actuators and some n of the passive joints
    satisfy J w = 0, w = (tau, n), so that dw and df solve

        S dw + J^T df = d(ID) - d(J^T) f,   J dw = -dJ w,

    where S selects the actuators. With 'minimum_constraint_force', f = J w with w = (0, n).

    Args:
        robot, q, v, a: as for ``constrained_inverse_dynamics``.
        contacts: as for ``constrained_forward_dynamics_derivatives``.
        actuated, criterion, passive_torques, external_wrenches: likewise.

    Raises:
        InvalidArgumentError: the derivatives of a constraint are not known.
        RankDeficientError: rows depend on each other, or do not determine a passive joint.
    """
    active = actuated_mask(robot, actuated)
    tau, forces = constrained_inverse_dynamics(
        robot, q, v, a, contacts, active, criterion, passive_torques, external_wrenches
    )
    q, v, a = finite_together(q=(q, robot.nq), v=(v, robot.nv), a=(a, robot.nv))
    system = _System.of(robot, q, v, a, forces, contacts, external_wrenches)
    J, needed = system.J, (-system.by_q[0], -system.by_v[0], system.M)
    J_p = J[..., ~active]
    found = int(np.min(rank(J_p), initial=J_p.shape[-1]))
    if found < J_p.shape[-1]:
        what = 'J of the passive joints'
        raise RankDeficientError(what, found, J_p.shape[-1], 'lock free joints')
    inverse, still = pseudo_inverse(J_p), [np.zeros(J.shape)] * 2
    w = np.zeros(tau.shape)
    if criterion == 'minimum_torque':
        w[..., active] = tau[..., active]
        w[..., ~active] = -apply(inverse, apply(J, w))
        selected = system._replace(M=np.diag(1.0 * active))
        drift = [-_rates_by_q(robot, q, w, contacts), *still]
        parts = selected.solve(*zip(needed, drift, strict=True))
        of_tau = [active[:, None] * x for x, _ in parts]
        return ConstrainedInverseDerivatives(*of_tau, *(-f for _, f in parts))
    w[..., ~active] = apply(inverse, forces)
    of_tau, of_forces = [], []
    for x, dJ_w in zip(needed, [_rates_by_q(robot, q, w, contacts), *still], strict=True):
        rest = x[..., ~active, :] - transposed(J_p) @ dJ_w
        of_forces.append(dJ_w + transposed(inverse) @ rest)
        of_tau.append(active[:, None] * (x - transposed(J) @ of_forces[-1]))
    return ConstrainedInverseDerivatives(*of_tau, *of_forces)


def impact_derivatives(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Constraints,
    restitution: ArrayLike = 0.0,
) -> ImpactDerivatives:
    """Derivatives of ``impact`` by q and by the velocity before it.

    Args:
        robot, q, v, restitution: as for ``impact``.
        contacts: as for ``constrained_forward_dynamics_derivatives``.

    Raises:
        InvalidArgumentError: the derivatives of a constraint are not known.
        RankDeficientError: rows depend on each other, so the impulses are not unique.
    """
    after, impulses = impact(robot, q, v, contacts, restitution)
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    still = np.zeros(robot.nv)
    # M (v_after - v) = J^T impulses is the equation of motion at rest, without gravity.
    system = _System.of(robot, q, still, after - v, impulses, contacts)
    weight_slope = robot.inverse_dynamics_derivatives(q, still, still)[0]
    J = system.J
    coefficients = np.broadcast_to(np.asarray(restitution, dtype=float), J.shape[-2:-1])[:, None]
    rebound = _rates_by_q(robot, q, after, contacts) + coefficients * _rates_by_q(
        robot, q, v, contacts
    )
    by_q, by_v = system.solve(
        (system.by_q[0] + weight_slope, -rebound), (system.M, -coefficients * J)
    )
    return ImpactDerivatives(by_q[0], by_v[0], by_q[1], by_v[1])


class _System(NamedTuple):
    """Linear system of all derivatives: M da = force + J^T df, J da = target ([Lie] 4).

    Attributes:
        M, J: (..., nv, nv), (..., rows, nv).
        by_q, by_v: force (..., nv, nv) and target (..., rows, nv) of the derivatives by q and v.
    """

    M: Array
    J: Array
    by_q: tuple[Array, Array]
    by_v: tuple[Array, Array]

    @classmethod
    def of(
        cls,
        robot: RigidBodySystem,
        q: Array,
        v: Array,
        a: Array,
        forces: Array,
        contacts: Constraints,
        external_wrenches: Wrenches | None = None,
    ) -> _System:
        """The derivatives of ID(q, v, a) = tau + J^T f and of J a + J-dot v = 0 at a solution."""
        slopes = _slopes(robot, q, v, a, forces, contacts)
        dq, dv, M = robot.inverse_dynamics_derivatives(q, v, a, external_wrenches)
        J = constraint_jacobian(robot, q, contacts)
        return cls(M, J, (slopes.torques_dq - dq, -slopes.rows_dq), (-dv, -slopes.rows_dv))

    def solve(
        self, *columns: tuple[Array, Array], free: NDArray[np.bool_] | None = None
    ) -> list[tuple[Array, Array]]:
        """Derivatives (..., nv, nv) of a, zero of velocities that are not free, and of forces.

        Args:
            columns: pairs of force and target.
            free: (nv) mask; None for all.

        Raises:
            RankDeficientError: the rows depend on each other.
        """
        nv = self.M.shape[-1]
        mask = np.ones(nv, dtype=bool) if free is None else free
        M, J = self.M[..., mask, :][..., mask], self.J[..., mask]
        if (rank(J) < J.shape[-2]).any():
            raise _dependent(J)
        parts = [M, J, *(x for pair in columns for x in pair)]
        leading = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
        n, size = M.shape[-1], M.shape[-1] + J.shape[-2]
        K, right = np.zeros((*leading, size, size)), np.zeros((*leading, size, len(columns), nv))
        K[..., :n, :n], K[..., n:, :n], K[..., :n, n:] = M, J, transposed(J)
        for i, (force, target) in enumerate(columns):
            right[..., :n, i, :], right[..., n:, i, :] = force[..., mask, :], target
        solved = np.linalg.solve(K, right.reshape(*leading, size, len(columns) * nv)).reshape(
            right.shape
        )
        of_a = np.zeros((*leading, nv, len(columns), nv))
        of_a[..., mask, :, :] = solved[..., :n, :, :]
        return [(of_a[..., i, :], -solved[..., n:, i, :]) for i in range(len(columns))]


def _slopes(
    robot: RigidBodySystem, q: Array, v: Array, a: Array, forces: Array, contacts: Constraints
) -> Slopes:
    """The derivatives of all rows, stacked, and of the sum of their torques."""
    known = in_kernels(robot, contacts)
    if known is not None:
        return Slopes(*known.kernel(robot, 'constraint_slopes')(q, v, a, forces, *known.places))
    constraints = [differentiable(x) for x in constraint_list(contacts)]
    split = split_forces(forces, contacts)
    parts = [x.slopes(robot, q, v, a, f) for x, f in zip(constraints, split, strict=True)]
    torques, *rows = zip(*parts, strict=True)
    return Slopes(sum(torques), *(stacked(x, 2) for x in rows))


def _rates_by_q(robot: RigidBodySystem, q: Array, v: Array, contacts: Constraints) -> Array:
    """Derivative (..., rows, nv) of J v along velocities."""
    still, none = 0.0 * v, np.zeros(sum(x.rows for x in constraint_list(contacts)))
    by_q, at_rest = (_slopes(robot, q, x, still, none, contacts).rates_dq for x in (v, still))
    return np.asarray(by_q - at_rest)


def _dependent(J: Array) -> RankDeficientError:
    found = int(np.min(rank(J), initial=J.shape[-2]))
    return RankDeficientError('J M^-1 J^T', found, J.shape[-2], 'omit dependent rows')
