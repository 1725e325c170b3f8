# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torque control of an end effector: motion, and motion with force ([RD] 3.9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.quantity import ALL_ROWS as EVERY_ROW
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import boolean_mask, finite_arrays
from dynamics_ros.multibody.end_effector import ALL_ROWS, check_rank, row_digits
from dynamics_ros.multibody.linear_systems import Array, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


def check_fixed_base(robot: RigidBodySystem) -> None:
    """Raise an error if the base of the robot moves.

    Raises:
        InvalidArgumentError: the first entries of tau would be torques on the base.
    """
    count = robot.model.root_joint_nv
    if count:
        raise InvalidArgumentError(
            'robot',
            f'a base with {count} velocities and no motor',
            'a fixed base; WholeBodyProblem controls what stands on feet',
        )


def motion_torques(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    acceleration: ArrayLike,
    rows: Sequence[int] = ALL_ROWS,
) -> Array:
    """Torques (..., nv) that accelerate a frame: J^T (Lambda w-dot + mu + p), [RD] eq. 3.90.

    The null-space motion of a redundant robot is not controlled; damp it with torques N^T tau_0, N
    of ``support_projector``.

    Args:
        robot: the robot, with a fixed base.
        q, v: (..., nq), (..., nv).
        frame: the end effector.
        acceleration: (..., m) desired in the chosen rows, in root axes [m/s^2, rad/s^2].
        rows: controlled components of x y z, rx ry rz.

    Raises:
        RankDeficientError: the joints cannot move the frame in all rows.
        InvalidArgumentError: the base moves, or another argument is wrong.
    """
    check_fixed_base(robot)
    kernel = robot.kernel('motion_torques', frame, row_digits(rows))
    tau, pivots = kernel.call(q, v, acceleration)
    check_rank(frame, pivots)
    return np.asarray(tau)


def _selection(free: Sequence[bool]) -> Array:
    """Six numbers, 0 or 1, from booleans or the binary numbers of [RD] eq. 3.98."""
    numbers = np.asarray(free)
    is_binary = numbers.dtype.kind in 'iuf' and np.isin(numbers, (0, 1)).all()
    mask = boolean_mask('free', numbers.astype(np.bool_) if is_binary else free, 6)
    return mask.astype(float)


def selection_matrices(free: Sequence[bool], rotation: ArrayLike) -> tuple[Array, Array]:
    """S_M of the motion directions and S_F of the force directions (..., 6, 6), [RD] eq. 3.99.

    Args:
        free: six booleans, or 0 and 1, in the axes of the contact: along x y z, around x y z.
        rotation: (..., 3, 3) axes of the contact in root axes; the transpose of C in [RD].
    """
    moving = _selection(free)
    R = finite_arrays('rotation', rotation, (3, 3))
    S_M = np.zeros((*R.shape[:-2], 6, 6))
    S_M[..., :3, :3] = R * moving[:3] @ transposed(R)
    S_M[..., 3:, 3:] = R * moving[3:] @ transposed(R)
    return S_M, np.asarray(np.eye(6) - S_M)


def operational_space_torques(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    acceleration: ArrayLike,
    wrench: ArrayLike,
    free: Sequence[bool],
    rotation: ArrayLike,
    rows: Sequence[int] = ALL_ROWS,
) -> Array:
    """Hybrid control torques (..., nv): motion in free directions, force in others, [RD] eq. 3.97.

    Args:
        robot, q, v, frame, rows: as for ``motion_torques``.
        acceleration: (..., m) of the chosen rows in root axes, used in the free directions.
        wrench: (..., m) that the environment shall exert on the frame in the chosen rows, in root
            axes at its origin, used in the other directions; the opposite of F_c in [RD].
        free, rotation: as for ``selection_matrices``.

    Raises:
        RankDeficientError: the joints cannot move the frame in all rows.
        InvalidArgumentError: the base moves, directions of the contact are partly outside the
            rows, or another argument is wrong.
    """
    check_fixed_base(robot)
    moving, digits = _selection(free), row_digits(rows)
    if digits != EVERY_ROW:
        S = selection_matrices(free, rotation)[0]
        others = [row for row in ALL_ROWS if row not in rows]
        if np.abs(S[..., list(rows), :][..., others]).max(initial=0.0) > 1e-9:
            expected = 'axes of the contact such that each free direction is within the rows'
            raise InvalidArgumentError('rows', repr(tuple(rows)), expected)
    kernel = robot.kernel('operational_space_torques', frame, digits)
    tau, pivots = kernel.call(q, v, acceleration, wrench, moving, rotation)
    check_rank(frame, pivots)
    return np.asarray(tau)
