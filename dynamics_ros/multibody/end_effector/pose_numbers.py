# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses as in messages: a position and a quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.spatial import Scalar, quaternion_to_matrix, transform_of_rows

Array = NDArray[np.float64]


def pose_numbers(matrices: Array) -> Array:
    """(7) of a (4, 4) pose, position and quaternion, or (n, 7) of (n, 4, 4)."""
    return _pose_numbers(None if matrices.ndim == 2 else len(matrices))(matrices)


def pose_of_numbers(numbers: Array) -> Array:
    """(4, 4) of a pose given by position and unit quaternion (7), the inverse of `pose_numbers`."""
    pose: Array = _pose_of_numbers()(numbers)
    return pose


@cache
def _pose_of_numbers() -> Kernel:
    def pose(numbers: Sequence[Scalar]) -> list[list[Scalar]]:
        x, y, z, *quaternion = numbers
        R = quaternion_to_matrix(tuple(quaternion))
        rows = [[*row, place] for row, place in zip(R, (x, y, z), strict=True)]
        return [*rows, [0.0, 0.0, 0.0, 1.0]]

    return Kernel(trace(pose, {'numbers': (7,)}, 'pose_of_numbers', 'pose of its numbers'))


@cache
def _pose_numbers(count: int | None) -> Kernel:
    """Kernel for (7), or (count, 7) at once, traced from the library's rotation."""

    def numbers(X: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        return transform_of_rows(X).position_and_quaternion()

    def all_numbers(X: Sequence[Sequence[Sequence[Scalar]]]) -> list[list[Scalar]]:
        return [numbers(one) for one in X]

    if count is None:
        return Kernel(trace(numbers, {'X': (4, 4)}, 'pose_numbers', 'numbers of a pose'))
    return Kernel(
        trace(all_numbers, {'X': (count, 4, 4)}, 'pose_numbers', f'numbers of {count} poses')
    )
