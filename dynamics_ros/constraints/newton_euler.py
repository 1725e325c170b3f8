# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Projected Newton-Euler equations ([RD] 3.5), an independent check of the recursive algorithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.arguments import finite_vectors
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .kinds import Contact


def projected_newton_euler(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike
) -> tuple[Array, Array, Array]:
    """M, b and g of M a + b + g = tau, from Jacobians of centres of mass ([RD] eq. 3.43 to 3.45).

    This is much slower than the recursive algorithms, with which it shares only Jacobians.

    Args:
        robot: the robot.
        q, v: (..., nq), (..., nv).

    Returns:
        M (..., nv, nv), b (..., nv), g (..., nv).
    """
    q, v = finite_vectors('q', q, robot.nq), finite_vectors('v', v, robot.nv)
    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    M = np.zeros((*q.shape[:-1], robot.nv, robot.nv))
    b = np.zeros((*leading, robot.nv))
    g = np.zeros((*q.shape[:-1], robot.nv))
    gravity = np.array([*robot.model.gravity])
    for body, inertia in zip(robot.body_names, robot.model.inertias, strict=True):
        m, center = inertia.mass, tuple(inertia.center)
        held = Contact(body, 'surface', center)
        J, bias = held.jacobian(robot, q), held.bias(robot, q, v)
        J_S, J_R = J[..., :3, :], J[..., 3:, :]
        R = robot.forward_kinematics(q, body)[..., :3, :3]
        Theta = R @ np.array([[*row] for row in inertia.rotational]) @ transposed(R)
        Omega = apply(J_R, v)
        spin = apply(Theta, bias[..., 3:]) + np.cross(Omega, apply(Theta, Omega))
        M += m * transposed(J_S) @ J_S + transposed(J_R) @ Theta @ J_R
        b += apply(transposed(J_S), m * bias[..., :3]) + apply(transposed(J_R), spin)
        g -= m * apply(transposed(J_S), gravity)
    return M, b, g
