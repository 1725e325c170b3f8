# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets as a user gives them, checked in one call of machine code."""

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
