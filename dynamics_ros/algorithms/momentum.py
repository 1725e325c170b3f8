# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Momentum: generalized, for observers ([DeLuca2006]), and centroidal ([Orin2013])."""

from __future__ import annotations

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Inertia, Matrix3, Scalar, Transform, Vector3

from .energy import center_of_mass, subtree_moments, total_mass
from .forward_kinematics import body_poses
from .gravity import gravity_torques
from .quantity import Q, V, quantity
from .recursion import (
    carried_by_bodies,
    motion_of_bodies,
    torques_of_joints,
    transforms_of_bodies,
)


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


@quantity(
    'A with centroidal momentum = A v ([Orin2013])',
    'linear rows, angular rows, root axes; columns as v',
)
def centroidal_map(model: Model, q: Q) -> list[Force]:
    """Columns of the centroidal momentum matrix (6, nv), in the axes of the root frame.

    Column k is the centroidal momentum of unit velocity k. A velocity of joint i moves body i and
    its subtree. Its column is therefore the momentum Y_i^c S_i of that composite body, transformed
    to the centre of mass.
    """
    composite = carried_by_bodies(
        model, transforms_of_bodies(model, q), model.inertias, Inertia.zero()
    )
    X_0G = Transform(Matrix3.identity(), center_of_mass(model, q))
    columns = [Force.zero()] * model.nv
    poses = body_poses(model, q)
    for i, joint in enumerate(model.joints):
        X_GB = X_0G.inverse_compose(poses[i])
        for k, S in joint.subspace(q):
            columns[k] = columns[k] + X_GB.act(composite[i] @ S)
    return columns


@quantity(
    'momentum about the centre of mass',
    'linear [kg m/s], angular [kg m^2/s], root axes',
    may_overflow=True,
)
def centroidal_momentum(model: Model, q: Q, v: V) -> Force:
    """Linear momentum, and angular momentum about the centre of mass, in axes of the root frame."""
    motions = motion_of_bodies(model, q, v)
    momenta = [Y @ motions.velocities[i] for i, Y in enumerate(model.inertias)]
    carried = carried_by_bodies(model, motions.transforms, momenta, Force.zero())
    X_0G = Transform(Matrix3.identity(), center_of_mass(model, q))
    return X_0G.inverse_act(carried[ROOT])


@quantity('Jacobian of the centre of mass', '[m/s], root axes; columns as v', name='com_jacobian')
def center_of_mass_jacobian(model: Model, q: Q) -> list[Vector3]:
    """Columns of the Jacobian (3, nv) of the centre of mass, in the axes of the root frame.

    Column k is the velocity of the centre of mass for unit velocity k. A velocity S = (v, w) of
    joint i moves the subtree of body i, with mass m and first moment h; its linear momentum is m v
    + w x h.
    """
    carried = subtree_moments(model, transforms_of_bodies(model, q))
    scale = 1.0 / total_mass(model)
    columns = [Vector3.zero()] * model.nv
    poses = body_poses(model, q)
    for i, joint in enumerate(model.joints):
        for k, S in joint.subspace(q):
            momentum = S.linear * carried[i].mass + S.angular.cross(carried[i].moment)
            columns[k] = columns[k] + poses[i].rotation @ (momentum * scale)
    return columns
