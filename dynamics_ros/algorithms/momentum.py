# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Generalized momentum and the terms of its time derivative, for observers ([DeLuca2006])."""

from __future__ import annotations

from dynamics_ros.model import Model
from dynamics_ros.spatial import Force, Scalar

from .gravity import gravity_torques
from .quantity import Q, V, quantity
from .recursion import carried_by_bodies, motion_of_bodies, torques_of_joints


@quantity(
    'terms of a momentum observer: dp/dt = tau + beta + external torques',
    {'p': 'M v, torques times s', 'beta': 'C^T v - g, torques'},
    may_overflow=True,
)
def momentum_observer_terms(model: Model, q: Q, v: V) -> tuple[list[Scalar], list[Scalar]]:
    """p = M v and beta = C^T v - g (nv each), with dp/dt = tau + beta + tau_external.

    With M-dot = C + C^T, dp/dt = M a + M-dot v = tau - C v - g + (C + C^T) v. For the C of
    [Echeandia2021], C^T v is the sum over bodies of J_i-dot^T Y_i v_i, and the time derivative of a
    column S_j fixed in body j is v_j x S_j. With the momentum H_j of body j and its subtree, p_j =
    S_j^T H_j and (C^T v)_j = (v_j x S_j)^T H_j = -S_j^T (v_j x* H_j), so no matrix is formed. If
    S_j depends on q, its rate in the body is added to v_j x S_j.
    """
    motions = motion_of_bodies(model, q, v)
    momenta = [Y @ motions.velocities[i] for i, Y in enumerate(model.inertias)]
    H = carried_by_bodies(model, motions.transforms, momenta, Force.zero())
    rates = {i: v_B.cross(H[i]) for i, v_B in motions.velocities.items()}
    p, drift = torques_of_joints(model, q, H), torques_of_joints(model, q, rates)
    for i, joint in enumerate(model.joints):
        for k, rate in zip(joint.v_indices, joint.subspace_rates(q, v), strict=True):
            drift[k] = drift[k] - rate.dot(H[i])
    g = gravity_torques(model, q)
    return p, [-weight - x for weight, x in zip(g, drift, strict=True)]
