# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check of target poses from the user, by one call of machine code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.multibody.arguments import ORTHOGONALITY, rigid_pose
from dynamics_ros.spatial import Matrix3, Scalar, transform_of_rows
from dynamics_ros.spatial.scalar import sqrt, where_less


def checked_pose(
    argument: str, value: ArrayLike, *, position_only: bool = False
) -> NDArray[np.float64]:
    """Check a pose, and return it as a C-contiguous array (4, 4).

    Args:
        argument: name of the argument in error messages.
        value: the pose.
        position_only: check only the position; the result has no rotation.

    Raises:
        InvalidArgumentError: the pose is not finite or not rigid; the error names the argument.
    """
    if position_only:
        pose = np.eye(4)
        pose[:3, 3] = rigid_pose(argument, value, position_only=True)[:3, 3]
        return pose
    # Fast path: one call instead of ten NumPy calls. `rigid_pose` explains what is wrong otherwise.
    if _rigid_defect()(value) <= ORTHOGONALITY:
        return value  # type: ignore[return-value]
    return np.ascontiguousarray(rigid_pose(argument, value))


@cache
def _rigid_defect() -> Callable[[Any], float]:
    """Function for the deviation of a (4, 4) array from a rigid pose; inf for other arguments."""
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
