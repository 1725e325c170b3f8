# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""End effectors: poses as numbers, their errors, manipulability, dynamics, and the tree of links.

``parameters_of_pose`` is chi_e(q) ([RD] eq. 2.137), ``analytical_jacobian`` its derivative; both
take any parametrization of ``dynamics_ros.spatial``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.constrained import INDEPENDENT
from dynamics_ros.algorithms.quantity import ALL_ROWS as EVERY_ROW
from dynamics_ros.errors import InvalidArgumentError, RankDeficientError, SingularError
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.multibody.arguments import pose_matrices, real_array, refuse_overflow
from dynamics_ros.multibody.linear_systems import RANK_TOLERANCE
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import (
    CARTESIAN,
    PositionParametrization,
    RotationParametrization,
    Scalar,
    log_matrix,
    quaternion_to_matrix,
    transform_of_rows,
)

Array = NDArray[np.float64]


def parameters_of_pose(
    pose: Array,
    rotation: RotationParametrization,
    position: PositionParametrization = CARTESIAN,
) -> Array:
    """chi (..., m) of poses (..., 4, 4), parameters of the position first ([RD] 2.8.3).

    Its time derivative is J_A v, with J_A from ``analytical_jacobian``. It never fails: at
    a singularity it is one of the vectors that give the pose (docs/spatial.md).

    Args:
        pose: homogeneous matrices with valid rotations, which are not checked.
        rotation, position: parametrizations of ``dynamics_ros.spatial``.
    """
    return np.concatenate(_parts(pose, rotation, position), axis=-1)


def analytical_jacobian(
    robot: RigidBodySystem,
    q: ArrayLike,
    frame: str,
    rotation: RotationParametrization,
    position: PositionParametrization = CARTESIAN,
) -> Array:
    """J_A (..., m, nv) with chi-dot = J_A v: E^-1 times the geometric Jacobian ([RD] eq. 2.192).

    Args:
        robot: the robot.
        q: (..., nq).
        frame: name of the frame.
        rotation, position: parametrizations of ``dynamics_ros.spatial``: position first in chi.

    Raises:
        SingularParametrizationError: the pose has no unique rates in these parameters.
    """
    chi_P, chi_R = _parts(robot.forward_kinematics(q, frame), rotation, position)
    J = robot.jacobian(q, frame)
    rows = [
        position.rate_map_inverse(chi_P) @ J[..., :3, :],
        rotation.rate_map_inverse(chi_R) @ J[..., 3:, :],
    ]
    return np.concatenate(rows, axis=-2)


def _parts(
    pose: Array, rotation: RotationParametrization, position: PositionParametrization
) -> tuple[Array, Array]:
    """chi_P (..., 3) of a position and chi_R (..., n) of a rotation."""
    return position.from_cartesian(pose[..., :3, 3]), rotation.from_matrix(pose[..., :3, :3])


def manipulability(jacobian: ArrayLike) -> Any:
    """Yoshikawa's manipulability, the product of the singular values; 0 at a singularity.

    It is sqrt(det(J J^T)), or sqrt(det(J^T J)) for a robot with fewer joints than rows [Yoshikawa].

    Args:
        jacobian: (..., 6, nv).

    Returns:
        A number, or numbers (...).

    Raises:
        InvalidArgumentError: not a matrix of finite numbers.
    """
    matrix = real_array('jacobian', jacobian, 'a matrix (6, nv)')
    if matrix.ndim < 2 or not np.isfinite(matrix).all():
        problem = f'shape {matrix.shape}' if matrix.ndim < 2 else 'NaN or infinite entries'
        raise InvalidArgumentError('jacobian', problem, 'a matrix (6, nv) of finite numbers')
    values = np.prod(np.linalg.svd(matrix, compute_uv=False), axis=-1)
    return values if matrix.ndim > 2 else float(values)


def pose_error(target: ArrayLike, pose: ArrayLike) -> NDArray[np.float64]:
    """Error from a pose to its target, as a small motion in root axes ([RD] eq. 2.251, 2.256).

    The rotation part is the rotation vector of the shortest rotation, which the geometric Jacobian
    maps from joint space ([RD] eq. 2.255); it is not a difference of parameters.

    Args:
        target, pose: (..., 4, 4) in the root frame, or in another form of ``pose_matrices``.

    Returns:
        (..., 6) position error [m], then rotation error [rad], of length at most pi.

    Raises:
        InvalidArgumentError: a shape is wrong, or a number is not finite.
    """
    error: Array = _pose_error()(target, pose)
    return error


def pose_numbers(matrices: Array) -> Array:
    """(..., 7) of poses (..., 4, 4), position and quaternion."""
    numbers: Array = _compiled(_numbers, X=(4, 4))(matrices)
    return numbers


def pose_of_numbers(numbers: Array) -> Array:
    """(4, 4) of a pose given by position and unit quaternion (7), the inverse of `pose_numbers`."""
    pose: Array = _compiled(_of_numbers, numbers=(7,))(numbers)
    return pose


@cache
def _compiled(function: Callable[..., Any], **inputs: tuple[int, ...]) -> Kernel:
    return Kernel(trace(function, inputs, f'pose{function.__name__}'))


@cache
def _pose_error() -> Callable[[Any, Any], Any]:
    kernel = _compiled(_error, target=(4, 4), pose=(4, 4))

    def of_other_forms(target: ArrayLike, pose: ArrayLike) -> Any:
        return kernel(pose_matrices('target', target), pose_matrices('pose', pose))

    return kernel.bind(of_other_forms)


def _error(target: Sequence[Any], pose: Sequence[Any]) -> list[Scalar]:
    X_0T, X_0F = transform_of_rows(target), transform_of_rows(pose)
    rotation = log_matrix(X_0T.rotation @ X_0F.rotation.T)
    return [*(X_0T.translation - X_0F.translation), *rotation]


def _numbers(X: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    return transform_of_rows(X).position_and_quaternion()


def _of_numbers(numbers: Sequence[Scalar]) -> list[list[Scalar]]:
    x, y, z, *quaternion = numbers
    R = quaternion_to_matrix(tuple(quaternion))
    rows = [[*row, place] for row, place in zip(R, (x, y, z), strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


ALL_ROWS = (0, 1, 2, 3, 4, 5)


def operational_space(
    robot: RigidBodySystem, q: ArrayLike, v: ArrayLike, frame: str, rows: Sequence[int] = ALL_ROWS
) -> tuple[Array, Array, Array]:
    """Lambda, mu and p of Lambda w-dot + mu + p = F at a frame ([RD] eq. 3.86 to 3.89).

    Args:
        robot: the robot.
        q, v: (..., nq), (..., nv).
        frame: the end effector; its twist is at its origin, in axes of the root frame.
        rows: m of the six components x y z, rx ry rz; fewer than six if the robot cannot move in
            all directions.

    Returns:
        Task inertia Lambda (..., m, m), Coriolis and centrifugal force mu (..., m), gravity force p
        (..., m).

    Raises:
        RankDeficientError: the joints cannot move the frame in all rows, so Lambda does not exist.
        SingularError: a joint moves nothing that has mass or inertia.
    """
    kernel = robot.kernel('operational_space', frame, row_digits(rows))
    Lambda, mu, p, pivots = kernel.call(q, v)
    check_rank(frame, pivots)
    refuse_overflow(mu, q=q, v=v)
    return Lambda, mu, p


def row_digits(rows: Sequence[int]) -> str:
    """Rows of a Jacobian as a string of digits, the option of a kernel.

    Raises:
        InvalidArgumentError: there is no row, a row does not exist, or a row is repeated.
    """
    if rows is ALL_ROWS:
        return EVERY_ROW
    chosen = list(rows) if isinstance(rows, Iterable) else []
    digits = ''.join(str(row) for row in chosen if isinstance(row, (int, np.integer)))
    if not 0 < len({*digits} & {*EVERY_ROW}) == len(digits) == len(chosen):
        raise InvalidArgumentError('rows', repr(rows), f'different numbers of {ALL_ROWS}')
    return digits


def check_rank(frame: str, pivots: Array) -> None:
    """Check that the rows of a Jacobian are independent.

    Args:
        frame: name of the frame, for the error.
        pivots: (..., m) lengths of the orthogonalized rows in the metric of M^-1.

    Raises:
        RankDeficientError: a row depends on the rows before it.
        SingularError: a length is not finite.
    """
    if are_independent(pivots, RANK_TOLERANCE):
        return
    if not np.isfinite(pivots).all():
        raise SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    needed = pivots.shape[-1]
    independent = pivots > RANK_TOLERANCE * pivots.max(axis=-1, keepdims=True)
    smallest_rank = int(independent.sum(axis=-1).min(initial=needed))
    advice = 'move away from the singularity or choose fewer rows'
    raise RankDeficientError(f'Jacobian of {frame!r}', smallest_rank, needed, advice)


def are_independent(pivots: Array, tolerance: float = INDEPENDENT) -> bool:
    """Whether rows are independent, from pivots (..., rows) of their orthogonalization.

    A pivot is the length of a row after orthogonalization with respect to the rows before it. Each
    has to be above the tolerance times the largest one; none is if one is not finite.
    """
    if pivots.ndim == 1:  # a single state, in a loop of a controller
        lengths = pivots.tolist()
        if lengths and not min(lengths) > tolerance * max(lengths):
            return False
        return math.isfinite(sum(lengths))
    largest = pivots.max(axis=-1, initial=0.0, keepdims=True)
    return bool((pivots > tolerance * largest).all())


Links = tuple[tuple[str, str], ...]
"""Pairs of parent and child link."""


class LinkTree(NamedTuple):
    """Link tree of a robot.

    Attributes:
        moving: links that joints move; a base that moves in the world has the parent ''.
        transforms: the kernel of their poses in their parents; None if no link moves.
        fixed: links that are fixed to their parents.
        poses: (n, 4, 4) poses of the fixed links.
    """

    moving: Links
    transforms: Kernel | None
    fixed: Links
    poses: Array

    @classmethod
    def of(cls, robot: RigidBodySystem, *, base: bool) -> LinkTree:
        """Return the tree of a robot.

        Args:
            robot: the robot; locked joints are fixed.
            base: whether a moving base is part of it.
        """
        model = robot.model
        links = [model.frame(name) for name in model.body_names]
        moving = tuple((link.parent, link.name) for link in links if base or link.parent)
        poses = [link.origin.array() for link in model.fixed_frames]
        return cls(
            moving,
            robot.kernel('link_transforms', 'base' if base else '') if moving else None,
            tuple((link.parent, link.name) for link in model.fixed_frames),
            np.reshape(poses, (-1, 4, 4)),
        )
