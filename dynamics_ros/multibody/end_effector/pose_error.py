# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Error between two poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.multibody.arguments import pose_matrices
from dynamics_ros.spatial import Scalar, log_matrix, transform_of_rows


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
    error: NDArray[np.float64] = _call()(target, pose)
    return error


@cache
def _call() -> Callable[[Any, Any], Any]:
    kernel = Kernel(trace(_error, {'target': (4, 4), 'pose': (4, 4)}, 'pose_error'))

    def of_other_forms(target: ArrayLike, pose: ArrayLike) -> Any:
        return kernel(pose_matrices('target', target), pose_matrices('pose', pose))

    return kernel.bind(of_other_forms)


def _error(target: Sequence[Any], pose: Sequence[Any]) -> list[Scalar]:
    X_0T, X_0F = transform_of_rows(target), transform_of_rows(pose)
    rotation = log_matrix(X_0T.rotation @ X_0F.rotation.T)
    return [*(X_0T.translation - X_0F.translation), *rotation]
