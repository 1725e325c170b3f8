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
from dynamics_ros.spatial import Force, Inertia, Motion, Scalar

from .coriolis import BodyCoriolis, composite_bodies
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
            k = c.index
            moves = c.S, c.psi_rate, c.psi_acceleration, c.by_velocity
            for_dq, for_dv, momentum, by_row = _forces_of_column(Y, B, *moves)
            for m, slope in c.slopes:
                dq[m][k] = dq[m][k] + slope.dot(forces[i])
            for other in columns[i]:
                m = other.index
                dq[m][k] = dq[m][k] + other.S.dot(for_dq)
                dv[m][k] = dv[m][k] + other.S.dot(for_dv)
                da[m][k] = da[m][k] + other.S.dot(momentum)
            column_forces = for_dq + c.S.cross(forces[i]), for_dv, momentum, by_row
            for j, transformed in forces_towards_root(model, transforms, i, *column_forces):
                if j == i:
                    continue
                for below in columns[j]:
                    m = below.index
                    moves = below.S, below.psi_rate, below.psi_acceleration, below.by_velocity
                    entries = _entries_of_pair(*moves, *transformed)
                    dq[m][k] = dq[m][k] + entries[0]
                    dv[m][k] = dv[m][k] + entries[1]
                    dq[k][m] = dq[k][m] + entries[2]
                    dv[k][m] = dv[k][m] + entries[3]
                    da[m][k] = da[m][k] + entries[4]
                    da[k][m] = da[k][m] + entries[4]
    return dq, dv, da


def _forces_of_column(
    Y: Inertia,
    B: BodyCoriolis,
    S: Motion,
    psi_rate: Motion,
    psi_acceleration: Motion,
    by_velocity: Motion,
) -> tuple[Force, Force, Force, Force]:
    """Forces on a composite body due to one column of its joint.

    Returns:
        Forces for the derivatives by q, v and a of torques nearer to the root, and 2 B^T S for the
        derivatives of this joint's torque by coordinates nearer to the root.
    """
    for_dq = (B @ psi_rate) * 2.0 + Y @ psi_acceleration
    for_dv = (B @ S) * 2.0 + Y @ by_velocity
    return for_dq, for_dv, Y @ S, B.transpose_apply(S) * 2.0


def _entries_of_pair(
    S: Motion,
    psi_rate: Motion,
    psi_acceleration: Motion,
    by_velocity: Motion,
    for_dq: Force,
    for_dv: Force,
    momentum: Force,
    by_row: Force,
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Entries of a pair of columns j and i, j nearer to the root: dq_ji, dv_ji, dq_ij, dv_ij, M_ji.

    Args:
        S, psi_rate, psi_acceleration, by_velocity: of column j.
        for_dq, for_dv, momentum, by_row: forces of column i, in the frame of body j.
    """
    return (
        S.dot(for_dq),
        S.dot(for_dv),
        psi_rate.dot(by_row) + psi_acceleration.dot(momentum),
        S.dot(by_row) + by_velocity.dot(momentum),
        S.dot(momentum),
    )


@quantity(
    'derivatives of forward_dynamics along velocities, by v and by tau',
    {'dq': 'da/dq', 'dv': 'da/dv', 'dtau': 'da/dtau, the inverse mass matrix'},
    may_be_singular=True,
    written=True,
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
    by_q, by_v = (solve_columns(factors, _minus(rows)) for rows in (dq, dv))
    return by_q, by_v, inverse_of(factors)


def _minus(rows: Rows) -> Rows:
    return [[-entry for entry in row] for row in rows]


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
        f_B = _force(Y, v_B, accelerations[i])
        needed.append(f_B - external[i] if i in external else f_B)
        v_P = motions.transforms[i].inverse_act(motions.velocities[joint.parent])
        a_P = motions.transforms[i].inverse_act(accelerations[joint.parent])
        columns.append([])
        for k, S in joint.subspace(q):
            psi_rate, psi_acceleration, by_velocity = _moves(S, v_P, a_P, v_B)
            columns[i].append(_Column(k, S, psi_rate, psi_acceleration, by_velocity, ()))
        if isinstance(joint.kind, VaryingJoint):
            columns[i] = _varying(joint, columns[i], q, v, a, v_P + v_B)
    return columns, carried_by_bodies(model, motions.transforms, needed, Force.zero())


def _force(Y: Inertia, v_B: Motion, a_B: Motion) -> Force:
    return Y @ a_B + Y.bias_force(v_B)


def _moves(S: Motion, v_P: Motion, a_P: Motion, v_B: Motion) -> tuple[Motion, Motion, Motion]:
    """psi_rate, psi_acceleration and by_velocity of a column with constant S (see `_Column`)."""
    psi_rate = v_P.cross(S)
    return psi_rate, a_P.cross(S) + v_P.cross(psi_rate), psi_rate + v_B.cross(S)


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
