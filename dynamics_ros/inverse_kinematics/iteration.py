# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Textbook iterations of inverse kinematics ([RD] 2.9.3), without limits and restarts.

They show how parametrizations and steps behave; use ``solve`` to find solutions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.arguments import (
    check_count,
    check_positive,
    finite_vector,
    rigid_pose,
)
from dynamics_ros.multibody.end_effector import analytical_jacobian, parameters_of_pose, pose_error
from dynamics_ros.multibody.linear_systems import pseudo_inverse
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import CARTESIAN, PositionParametrization, RotationParametrization

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Iteration:
    """Result of an iteration.

    Attributes:
        q: (nq) last configuration; joint limits are ignored.
        error: norm of the error, in mixed units of its components.
        steps: number of steps.
        converged: whether the error is within the tolerance.
    """

    q: Array
    error: float
    steps: int
    converged: bool


def iterate(
    robot: RigidBodySystem,
    target: ArrayLike,
    frame: str,
    seed: ArrayLike,
    *,
    rotation: RotationParametrization | None = None,
    position: PositionParametrization = CARTESIAN,
    transpose: bool = False,
    gain: float = 1.0,
    tolerance: float = 1e-8,
    max_steps: int = 100,
) -> Iteration:
    """Move a frame to a pose by steps with the (analytical) Jacobian ([RD] algorithm 1, eq. 2.244).

    A step is gain J_A^+ (chi* - chi), or with ``transpose`` alpha J_A^T (chi* - chi), where alpha
    is gain times the length that minimizes the linearized error. The transpose needs no inverse and
    works near singularities, but converges slowly.

    Args:
        robot: the robot.
        target: (4, 4) desired pose in the root frame.
        frame: name of the frame that is moved.
        seed: (nq) start.
        rotation: parametrization whose differences are the error ([RD] 2.8.4). Differences of Euler
            angles near pi and -pi are about a full turn, so the iteration may diverge. None for
            the rotation vector of the relative rotation, with the geometric Jacobian
            ([RD] eq. 2.251), which does not have this problem.
        position: parametrization of the position, used if ``rotation`` is given.
        transpose: use the transposed Jacobian instead of its pseudoinverse.
        gain: above 0; smaller gains make smaller steps ([RD] eq. 2.243).
        tolerance: norm of the error at convergence [m and rad, or units of the parameters].
        max_steps: largest number of steps.

    Raises:
        SingularParametrizationError: the pose has no unique rates in these parameters.
        InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range.
    """
    wanted = rigid_pose('target', target)
    q = finite_vector('seed', seed, robot.nq).copy()
    check_positive('gain', gain)
    check_positive('tolerance', tolerance)
    check_count('max_steps', max_steps, least=0)

    def error_at(q: Array) -> Array:
        pose = robot.forward_kinematics(q, frame)
        if rotation is None:
            return pose_error(wanted, pose)
        chi_wanted, chi = (parameters_of_pose(X, rotation, position) for X in (wanted, pose))
        return np.asarray(chi_wanted - chi)

    error = error_at(q)
    steps = 0
    while steps < max_steps and float(np.linalg.norm(error)) > tolerance:
        if rotation is None:
            J = robot.jacobian(q, frame)
        else:
            J = analytical_jacobian(robot, q, frame, rotation, position)
        if transpose:
            gradient = J.T @ error
            displacement = J @ gradient
            length = float(displacement @ displacement)
            step = gradient * (float(displacement @ error) / length if length > 0.0 else 0.0)
        else:
            step = pseudo_inverse(J) @ error
        q = robot.integrate(q, gain * step)
        error = error_at(q)
        steps += 1
    size = float(np.linalg.norm(error))
    return Iteration(q, size, steps, size <= tolerance)
