# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The plain iterations of inverse kinematics, as in the books ([RD] 2.9.3): no limits, no restarts.

``solve`` is what finds solutions; these show how parametrizations and steps behave.
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
from dynamics_ros.multibody.end_effector.analytical_jacobian import (
    analytical_jacobian,
    parameters_of_pose,
)
from dynamics_ros.multibody.end_effector.pose_error import pose_error
from dynamics_ros.multibody.linear_systems import pseudo_inverse
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import CARTESIAN, PositionParametrization, RotationParametrization

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Iteration:
    """Where an iteration came to.

    Attributes:
        q: (nq), whatever the limits are.
        error: length of what is missing, in the units of its parts.
        steps: that were taken.
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
    """Bring a frame to a pose by steps of the (analytical) Jacobian ([RD] algorithm 1, eq. 2.244).

    A step is gain J_A^+ (chi* - chi), or with ``transpose`` alpha J_A^T (chi* - chi), where alpha
    is gain times the length that brings the linearized error nearest to zero. It needs no inverse
    and is no problem near singularities, but takes many steps.

    Args:
        robot: the robot.
        target: (4, 4) wanted pose in the root frame.
        frame: what is brought there.
        seed: (nq) where to start.
        rotation: parametrization whose differences are the error ([RD] 2.8.4): Euler angles of
            which one is near pi and the other near -pi are a turn apart, and the steps may lead
            anywhere. None is the rotation vector of what is missing, with the geometric Jacobian
            ([RD] eq. 2.251), which has no such place.
        position: parametrization of the position, where ``rotation`` is given.
        transpose: whether steps are of the transposed Jacobian.
        gain: above 0; below 1 is more careful ([RD] eq. 2.243).
        tolerance: length of the error that is small enough [m and rad, or units of parameters].
        max_steps: at most so many.

    Raises:
        SingularParametrizationError: the pose has no unique rates in these parameters.
        InvalidArgumentError: an argument is of the wrong shape, not finite, or out of range.
    """
    wanted = rigid_pose('target', target)
    q = finite_vector('seed', seed, robot.nq).copy()
    check_positive('gain', gain)
    check_positive('tolerance', tolerance)
    check_count('max_steps', max_steps, least=0)

    def missing(q: Array) -> Array:
        pose = robot.forward_kinematics(q, frame)
        if rotation is None:
            return pose_error(wanted, pose)
        chi_wanted, chi = (parameters_of_pose(X, rotation, position) for X in (wanted, pose))
        return np.asarray(chi_wanted - chi)

    error = missing(q)
    steps = 0
    while steps < max_steps and float(np.linalg.norm(error)) > tolerance:
        if rotation is None:
            J = robot.jacobian(q, frame)
        else:
            J = analytical_jacobian(robot, q, frame, rotation, position)
        if transpose:
            downhill = J.T @ error
            along = J @ downhill
            length = float(along @ along)
            step = downhill * (float(along @ error) / length if length > 0.0 else 0.0)
        else:
            step = pseudo_inverse(J) @ error
        q = robot.integrate(q, gain * step)
        error = missing(q)
        steps += 1
    size = float(np.linalg.norm(error))
    return Iteration(q, size, steps, size <= tolerance)
