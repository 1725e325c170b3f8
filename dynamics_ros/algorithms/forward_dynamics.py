# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Articulated-body recursions: forward and hybrid dynamics ([Lie] 2.2, 2.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dynamics_ros.algorithms.linear_algebra.solve import Factors, factorize, solve, solve_factorized
from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Inertia, Motion, Scalar
from dynamics_ros.spatial.articulated import ArticulatedInertia

from .inverse_dynamics import inverse_dynamics
from .mass_matrix import mass_matrix
from .quantity import A, External, Prescribed, Q, Tau, V, quantity
from .recursion import motion_of_bodies, upward_acceleration, velocity_product


@quantity(
    'acceleration under torques, by articulated bodies: M^-1 (tau - C v - g + J^T wrenches)'
    ' ([Lie] 2.2)',
    'an acceleration, as a',
    may_be_singular=True,
)
def forward_dynamics(
    model: Model,
    q: Q,
    v: V,
    tau: Tau,
    external: External = None,
) -> list[Scalar]:
    """Accelerations a = M^-1 (tau - C v - g + J^T f_ext) (nv).

    Args:
        model: the robot.
        q, v, tau: configuration (nq), velocity (nv), joint torques (nv).
        external: force of the environment on body i, in the frame of that body.
    """
    a, _ = hybrid_dynamics(model, q, v, [0.0] * model.nv, tau, (), external)
    return a


@quantity(
    'all accelerations and torques, from a at the given indices of v and from tau elsewhere',
    {'a': 'accelerations', 'tau': 'torques'},
    may_be_singular=True,
    written=True,
)
def hybrid_dynamics(
    model: Model,
    q: Q,
    v: V,
    a: A,
    tau: Tau,
    prescribed: Prescribed,
    external: Mapping[int, Force] | None = None,
) -> tuple[list[Scalar], list[Scalar]]:
    """Unknown accelerations and torques, given the other ones ([Lie] table 1).

    The number of operations is linear in the number of joints ([Lie] table 4). Without prescribed
    accelerations this is the articulated-body algorithm ([Lie] table 3, [Featherstone2008] table
    7.1). The recursion requires independent coordinates of all joints. A robot with mimic joints is
    solved with its mass matrix instead ([Lie] eq. 34).

    Args:
        model: the robot.
        q, v: configuration and velocity.
        a: accelerations (nv), read only for prescribed velocities.
        tau: torques (nv), read only for the other velocities.
        prescribed: indices of the velocities with a given acceleration.
        external: force of the environment on body i, in the frame of that body.

    Returns:
        All accelerations (nv) and all torques (nv).
    """
    if model.has_mimic_joints:
        return _through_mass_matrix(model, q, v, a, tau, prescribed, external)
    external = external or {}
    n = len(model.joints)
    columns = [joint.subspace(q) for joint in model.joints]
    free = [[(k, S) for k, S in pairs if k not in prescribed] for pairs in columns]

    # Pass 1, outward: velocities, known parts of the accelerations, rigid-body bias forces.
    motions = motion_of_bodies(model, q, v)
    articulated = {ROOT: ArticulatedInertia.of(Inertia.zero())}
    forces = {ROOT: Force.zero()}
    known: list[Motion] = []
    for i, joint in enumerate(model.joints):
        Y, v_B = model.inertias[i], motions.velocities[i]
        eta = velocity_product(joint, v_B, q, v)
        for k, S in columns[i]:
            if k in prescribed:
                eta = eta + S * a[k]
        known.append(eta)
        articulated[i] = ArticulatedInertia.of(Y)
        bias_force = Y.bias_force(v_B)
        forces[i] = bias_force - external[i] if i in external else bias_force

    # Pass 2, inward: articulated-body inertias and bias forces.
    U: list[list[Force]] = [[] for _ in range(n)]
    factors: list[Factors] = [([], []) for _ in range(n)]
    residuals: list[list[Scalar]] = [[] for _ in range(n)]
    for i in reversed(range(n)):
        parent, X_PB = model.joints[i].parent, motions.transforms[i]
        Y_A, p_A, eta = articulated[i], forces[i], known[i]
        U[i] = [Y_A @ S for _, S in free[i]]
        factors[i] = factorize([[S.dot(force) for force in U[i]] for _, S in free[i]])
        residuals[i] = [tau[k] - S.dot(p_A) for k, S in free[i]]
        Y_a, p_a = Y_A, p_A + Y_A @ eta
        for force, factor in _decoupled(U[i], factors[i]):
            Y_a = Y_a.without(force, factor)
            p_a = p_a - force * (factor * eta.dot(force))
        for force, factor in zip(U[i], solve_factorized(factors[i], residuals[i]), strict=True):
            p_a = p_a + force * factor
        articulated[parent] = articulated[parent] + X_PB.act(Y_a)
        forces[parent] = forces[parent] + X_PB.act(p_a)

    # Pass 3, outward: accelerations of free velocities, torques of prescribed ones.
    accelerations = {ROOT: upward_acceleration(model)}
    all_a, all_tau = list(a), list(tau)
    for i, joint in enumerate(model.joints):
        a_B = motions.transforms[i].inverse_act(accelerations[joint.parent]) + known[i]
        right_side = [r - a_B.dot(force) for r, force in zip(residuals[i], U[i], strict=True)]
        for (k, S), value in zip(free[i], solve_factorized(factors[i], right_side), strict=True):
            all_a[k] = value
            a_B = a_B + S * value
        accelerations[i] = a_B
        prescribed_columns = [(k, S) for k, S in columns[i] if k in prescribed]
        if prescribed_columns:
            force = articulated[i] @ a_B + forces[i]
            for k, S in prescribed_columns:
                all_tau[k] = S.dot(force)
    return all_a, all_tau


def _decoupled(U: Sequence[Force], factors: Factors) -> list[tuple[Force, Scalar]]:
    """U (L^T D L)^-1 U^T as a sum of outer products: columns of U L^-1, with inverse pivots."""
    L, inverse = factors
    columns = list(U)
    for k in reversed(range(len(columns))):
        for i in range(k):
            columns[i] = columns[i] - columns[k] * L[k][i]
    return list(zip(columns, inverse, strict=True))


def _through_mass_matrix(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    tau: Sequence[Scalar],
    prescribed: Collection[int],
    external: Mapping[int, Force] | None,
) -> tuple[list[Scalar], list[Scalar]]:
    """Hybrid dynamics by the mass matrix: free rows are solved, others evaluated ([Lie] eq. 34)."""
    known = [a[k] if k in prescribed else 0.0 for k in range(model.nv)]
    with_known = inverse_dynamics(model, q, v, known, external)
    M = mass_matrix(model, q)
    free = [k for k in range(model.nv) if k not in prescribed]
    solution = solve(
        [[M[i][j] for j in free] for i in free], [tau[k] - with_known[k] for k in free]
    )
    all_a, all_tau = known, list(tau)
    for k, value in zip(free, solution, strict=True):
        all_a[k] = value
    for k in prescribed:
        all_tau[k] = with_known[k]
        for j in free:
            all_tau[k] = all_tau[k] + M[k][j] * all_a[j]
    return all_a, all_tau
