# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic derivatives of inverse, forward and hybrid dynamics ([Singh2022], [Lie] 4).

Derivatives with respect to q are taken along velocities: column k is the derivative of f(q exp(t
e_k)) by t at t = 0. A floating base therefore has six columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dynamics_ros.algorithms.linear_algebra.solve import (
    factorize,
    inverse_of,
    solve_columns,
    solve_factorized,
)
from dynamics_ros.model import Joint, Model
from dynamics_ros.model.joints import VaryingJoint
from dynamics_ros.model.model import combined
from dynamics_ros.spatial import Force, Motion, Scalar

from .coriolis import composite_bodies
from .inverse_dynamics import inverse_dynamics
from .mass_matrix import mass_matrix
from .quantity import A, External, Q, SquareMatrix, Tau, V, quantity
from .recursion import (
    BodyMotions,
    accelerations_of_bodies,
    carried_by_bodies,
    forces_towards_root,
    upward_acceleration,
)

Rows = list[list[Scalar]]


@dataclass(frozen=True)
class _Column:
    """A column S of a joint's motion subspace and its rates, in the body frame.

    The rates are those of [Singh2022] eq. 8, 9, with additional terms for joints whose S depends on
    q.

    Attributes:
        index: index of the velocity.
        S: the column.
        psi_rate: v_P x S with the velocity v_P of the parent, plus the derivative of S v by q.
        psi_acceleration: a_P x S + v_P x psi_rate, plus the derivative of the joint's acceleration
            by q.
        by_velocity: v_P x S + v_B x S with the velocity v_B of the body, plus the derivative of c_J
            by the velocity.
        slopes: pairs (m, derivative of column m by this coordinate) if S depends on q.
    """

    index: int
    S: Motion
    psi_rate: Motion
    psi_acceleration: Motion
    by_velocity: Motion
    slopes: Sequence[tuple[int, Motion]]


@quantity(
    'derivatives of inverse_dynamics along velocities, by v and by a ([Singh2022])',
    {'dq': 'dtau/dq', 'dv': 'dtau/dv', 'da': 'dtau/da, the mass matrix'},
    may_overflow=True,
    notes="""Derivatives by q are along velocities, so a floating base has six; wrenches are
constant in their frames. The derivative by a wrench is minus the transposed
``jacobian(q, frame, 'local')``.""",
)
def inverse_dynamics_derivatives(
    model: Model,
    q: Q,
    v: V,
    a: A,
    external: External = None,
) -> tuple[SquareMatrix, SquareMatrix, SquareMatrix]:
    """Derivatives d tau/dq, d tau/dv and d tau/da = M of inverse dynamics, each (nv, nv).

    External forces are constant in the frames of their bodies.

    Y, B and f are inertia, Coriolis map and force of the composite body i, and j is a joint between
    it and the root ([Singh2022] table I):

        d tau_j/dq_i = S_j^T (2 B psi_rate_i + Y psi_acceleration_i + S_i x* f)
        d tau_i/dq_j = S_i^T (2 B psi_rate_j + Y psi_acceleration_j)
        d tau_j/dv_i = S_j^T (2 B S_i + Y (psi_rate_i + rate_i)), and likewise (i, j)
    """
    tree = composite_bodies(model, q, v)
    transforms = tree.motions.transforms
    columns, forces = _columns_and_forces(model, tree.motions, q, v, a, external or {})
    dq, dv, da = ([[0.0] * model.nv for _ in range(model.nv)] for _ in range(3))
    for i in range(len(model.joints)):
        Y, B = tree.inertias[i], tree.coriolis[i]
        for c in columns[i]:
            k, f = c.index, forces[i]
            # Forces for torques of joints nearer to the root by this coordinate, its velocity and
            # acceleration; 2 B^T S for the torque of this joint by coordinates nearer to the root.
            by_q = (B @ c.psi_rate) * 2.0 + Y @ c.psi_acceleration
            by_v = (B @ c.S) * 2.0 + Y @ c.by_velocity
            momentum, by_row = Y @ c.S, B.transpose_apply(c.S) * 2.0
            for m, slope in c.slopes:
                dq[m][k] = dq[m][k] + slope.dot(f)
            for other in columns[i]:
                m = other.index
                dq[m][k] = dq[m][k] + other.S.dot(by_q)
                dv[m][k] = dv[m][k] + other.S.dot(by_v)
                da[m][k] = da[m][k] + other.S.dot(momentum)
            moved = forces_towards_root(
                model, transforms, i, by_q + c.S.cross(f), by_v, momentum, by_row
            )
            for j, (j_by_q, j_by_v, j_momentum, j_by_row) in moved:
                for b in columns[j] if j != i else ():
                    m, entry = b.index, b.S.dot(j_momentum)
                    dq[m][k] = dq[m][k] + b.S.dot(j_by_q)
                    dv[m][k] = dv[m][k] + b.S.dot(j_by_v)
                    by_moves = b.psi_rate.dot(j_by_row) + b.psi_acceleration.dot(j_momentum)
                    dq[k][m] = dq[k][m] + by_moves
                    dv[k][m] = dv[k][m] + (b.S.dot(j_by_row) + b.by_velocity.dot(j_momentum))
                    da[m][k] = da[m][k] + entry
                    da[k][m] = da[k][m] + entry
    return dq, dv, da


@quantity(
    'derivatives of forward_dynamics along velocities, by v and by tau',
    {'dq': 'da/dq', 'dv': 'da/dv', 'dtau': 'da/dtau, the inverse mass matrix'},
    may_be_singular=True,
)
def forward_dynamics_derivatives(
    model: Model,
    q: Q,
    v: V,
    tau: Tau,
    external: External = None,
) -> tuple[SquareMatrix, SquareMatrix, SquareMatrix]:
    """Derivatives da/dq, da/dv and da/dtau = M^-1 of forward dynamics, each (nv, nv).

    From the derivative of tau = ID(q, v, FD(q, v, tau)): da/dx = -M^-1 d ID/dx at a = FD ([Lie] 4).
    """
    # The factors of M are needed anyway; computing a with them costs less than another recursion.
    factors = factorize(mass_matrix(model, q))
    bias = inverse_dynamics(model, q, v, [0.0] * model.nv, external)
    a = solve_factorized(factors, [x - y for x, y in zip(tau, bias, strict=True)])
    dq, dv, _ = inverse_dynamics_derivatives(model, q, v, a, external)
    by_q, by_v = (solve_columns(factors, [[-x for x in row] for row in rows]) for rows in (dq, dv))
    return by_q, by_v, inverse_of(factors)


def _columns_and_forces(
    model: Model,
    motions: BodyMotions,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    external: Mapping[int, Force],
) -> tuple[list[list[_Column]], dict[int, Force]]:
    """Columns of each joint with their rates, and the force on each body with its subtree."""
    accelerations = accelerations_of_bodies(model, motions, q, v, a, upward_acceleration(model))
    columns: list[list[_Column]] = []
    needed: list[Force] = []
    for i, joint in enumerate(model.joints):
        Y, v_B = model.inertias[i], motions.velocities[i]
        f_B = Y @ accelerations[i] + Y.bias_force(v_B)
        needed.append(f_B - external[i] if i in external else f_B)
        v_P = motions.transforms[i].inverse_act(motions.velocities[joint.parent])
        a_P = motions.transforms[i].inverse_act(accelerations[joint.parent])
        columns.append([])
        for k, S in joint.subspace(q):
            psi_rate = v_P.cross(S)
            psi_acceleration = a_P.cross(S) + v_P.cross(psi_rate)
            by_velocity = psi_rate + v_B.cross(S)
            columns[i].append(_Column(k, S, psi_rate, psi_acceleration, by_velocity, ()))
        if isinstance(joint.kind, VaryingJoint):
            columns[i] = _varying(joint, columns[i], q, v, a, v_P + v_B)
    return columns, carried_by_bodies(model, motions.transforms, needed, Force.zero())


def _varying(
    joint: Joint,
    columns: Sequence[_Column],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    v_PB: Motion,
) -> list[_Column]:
    """Columns of a joint whose S depends on q, with the terms of the derivatives of S.

    The derivative by coordinate k of the body's velocity has the additional term d = (dS/dq_k) v,
    that of its acceleration the term (dS/dq_k) a + (dS-dot/dq_k) v + (v_P + v_B) x d. The
    derivative by velocity k has the additional term of c_J.

    Args:
        joint: a joint whose kind is a `VaryingJoint`.
        columns: columns of the joint without these terms.
        q, v, a: configuration (nq), velocity and acceleration (nv) of the robot.
        v_PB: v_P + v_B, velocities of parent and body in the body frame.
    """
    kind = joint.kind
    assert isinstance(kind, VaryingJoint)
    own = joint.own_coordinates(q)
    rates, accelerations = ([x[k] for k in joint.v_indices] for x in (v, a))
    slopes, curvatures = kind.subspace_slopes(own), kind.subspace_curvatures(own)
    updated = []
    for position, (column, change) in enumerate(
        zip(columns, joint.subspace_rates(q, v), strict=True)
    ):
        by_q = [row[position] for row in slopes]
        d = combined(by_q, rates)
        slope_rates = [combined([x[position] for x in rows], rates) for rows in curvatures]
        acceleration_term = (
            combined(by_q, accelerations) + combined(slope_rates, rates) + v_PB.cross(d)
        )
        updated.append(
            replace(
                column,
                psi_rate=column.psi_rate + d,
                psi_acceleration=column.psi_acceleration + acceleration_term,
                by_velocity=column.by_velocity + change + d,
                slopes=tuple(zip(joint.v_indices, by_q, strict=True)),
            )
        )
    return updated
