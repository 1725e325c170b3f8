# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manipulability of a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import real_array


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
