"""How far a pose is from its target, found apart from the search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import ORTHOGONALITY, rigid_pose
from ..kernels import Kernel, trace
from ..spatial import Matrix3, Scalar, log_matrix, transform_of_rows
from ..spatial.scalar import sqrt, where_less


def pose_error(target: NDArray[np.float64], pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is missing to the target, as a small motion at the frame's origin in root axes.

    The rotation part is the rotation vector of the relative rotation, [RD] eq. 2.251, the shortest
    way, which the geometric Jacobian maps from joint space ([RD] eq. 2.255).

    Args:
        target: (4, 4) wanted pose in the root frame.
        pose: (4, 4) present pose in the root frame.

    Returns:
        (6) position error [m], rotation error [rad].
    """
    error: NDArray[np.float64] = _error_kernel().call(target, pose)
    return error


def checked_pose(
    argument: str, value: ArrayLike, *, position_only: bool = False
) -> NDArray[np.float64]:
    """A finite, rigid (4, 4) pose, C-contiguous; without a rotation when only the position counts.

    Raises:
        InvalidArgumentError: naming the argument.
    """
    if position_only:
        pose = np.eye(4)
        pose[:3, 3] = rigid_pose(argument, value, position_only=True)[:3, 3]
        return pose
    # One call in place of ten small NumPy ones; what it does not like is explained by the other.
    if _rigid_defect()(value) <= ORTHOGONALITY:
        return value  # type: ignore[return-value]
    return np.ascontiguousarray(rigid_pose(argument, value))


@cache
def _error_kernel() -> Kernel:
    return Kernel(trace(_pose_error, {'target': (4, 4), 'pose': (4, 4)}, 'pose_error'))


def _pose_error(target: Sequence[Any], pose: Sequence[Any]) -> list[Scalar]:
    X_0T, X_0F = transform_of_rows(target), transform_of_rows(pose)
    rotation = log_matrix(X_0T.rotation @ X_0F.rotation.T)
    return [*(X_0T.translation - X_0F.translation), *rotation]


@cache
def _rigid_defect() -> Callable[[Any], float]:
    """How far a (4, 4) array is from a rigid pose; inf for anything else."""
    kernel = Kernel(trace(_defect, {'pose': (4, 4)}, 'rigid_defect'))
    return cast('Callable[[Any], float]', kernel.bind(lambda _: math.inf))


def _defect(pose: Sequence[Any]) -> Scalar:
    R = transform_of_rows(pose).rotation
    rest = R @ R.T - Matrix3.identity()
    *zeros, one = pose[3]
    bottom = sum((x * x for x in zeros), (one - 1.0) * (one - 1.0))
    worst = where_less(0.0, bottom, 1.0, where_less(R.determinant(), 0.0, 1.0, 0.0))
    for entry in (x for row in rest for x in row):
        worst = where_less(worst, entry * entry, entry * entry, worst)
    return sqrt(worst)
