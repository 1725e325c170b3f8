# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Jacobians of the parameters of a pose, instead of its twist ([RD] 2.8.4, 2.8.6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import CARTESIAN, PositionParametrization, RotationParametrization


def analytical_jacobian(
    robot: RigidBodySystem,
    q: ArrayLike,
    frame: str,
    rotation: RotationParametrization,
    position: PositionParametrization = CARTESIAN,
) -> NDArray[np.float64]:
    """J_A (..., m, nv) with chi-dot = J_A v: E^-1 times the geometric Jacobian ([RD] eq. 2.192).

    Args:
        robot: whose Jacobian.
        q: (..., nq).
        frame: whose pose is parametrized.
        rotation, position: parametrizations of ``dynamics_ros.spatial``: position first in chi.

    Raises:
        SingularParametrizationError: the pose has no unique rates in these parameters.
    """
    pose = robot.forward_kinematics(q, frame)
    J = robot.jacobian(q, frame)
    E_P = position.rate_map_inverse(position.from_cartesian(pose[..., :3, 3]))
    E_R = rotation.rate_map_inverse(rotation.from_matrix(pose[..., :3, :3]))
    return np.concatenate([E_P @ J[..., :3, :], E_R @ J[..., 3:, :]], axis=-2)
