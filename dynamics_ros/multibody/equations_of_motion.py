# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Change of velocity coordinates in equations of motion: u_bar = B u ([Kindr])."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import finite_together

from .linear_systems import Array, apply, transposed
from .rigid_body_system import RigidBodySystem


class EquationsOfMotion(NamedTuple):
    """M u-dot + h = tau in some velocities u.

    Attributes:
        M: (..., n, n).
        h: (..., n).
    """

    M: Array
    h: Array


def transformed_equations(
    M: ArrayLike, h: ArrayLike, B: ArrayLike, B_rate_u: ArrayLike
) -> EquationsOfMotion:
    """Transform equations of motion from velocities u_bar to u with u_bar = B u ([Kindr]).

    The given equations are M_bar u_bar-dot + h_bar = tau_bar. The result has M = B^T M_bar B and
    h = B^T (h_bar + M_bar B-dot u); torques are tau = B^T tau_bar. [Kindr]
    prints the last term with a minus, which is that of an h on the other side of the equation.

    Args:
        M: (..., n, n) M_bar.
        h: (..., n) h_bar.
        B: (..., n, m).
        B_rate_u: (..., n) B-dot u.
    """
    n = np.shape(h)[-1] if np.ndim(h) else 0
    m = np.shape(B)[-1] if np.ndim(B) else 0
    M, h, B, B_rate_u = finite_together(M=(M, n, n), h=(h, n), B=(B, n, m), B_rate_u=(B_rate_u, n))
    forces = h + apply(M, B_rate_u)
    return EquationsOfMotion(np.asarray(transposed(B) @ M @ B), apply(transposed(B), forces))


def inertial_base_velocity(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike
) -> tuple[Array, Array]:
    """B and B-dot u, for u with the linear velocity of a floating base in the inertial frame.

    u = (linear velocity of the base in root axes, its angular velocity in base axes, joint rates)
    is the choice of [RD] and [Kindr]; v of this package has both in base axes: v = B u.

    Args:
        robot: a robot with a floating base.
        q, v: (..., nq), (..., nv), in the package's convention.

    Returns:
        B (..., nv, nv), orthogonal, so that u = B^T v; and B-dot u (..., nv).

    Raises:
        InvalidArgumentError: the robot has no floating base.
    """
    if robot.model.root_joint_nv != 6:
        raise InvalidArgumentError('robot', 'a base that does not float', 'root_joint="floating"')
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    leading = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    B = np.zeros((*leading, robot.nv, robot.nv))
    B[..., range(robot.nv), range(robot.nv)] = 1.0
    B[..., :3, :3] = robot.rate_map_inverse(q)[..., :3, :3]
    B_rate_u = np.zeros((*leading, robot.nv))
    # d/dt R^T = -[w] R^T.
    B_rate_u[..., :3] = -np.cross(v[..., 3:6], v[..., :3])
    return B, B_rate_u
