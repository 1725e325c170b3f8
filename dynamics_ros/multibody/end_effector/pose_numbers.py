# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses as in messages: a position and a quaternion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.spatial import Scalar, transform_of_rows

Array = NDArray[np.float64]


def pose_numbers(matrices: Array) -> Array:
    """(7) of a (4, 4) pose, position and quaternion, or (n, 7) of (n, 4, 4)."""
    return _pose_numbers(None if matrices.ndim == 2 else len(matrices))(matrices)


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
