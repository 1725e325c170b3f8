"""How far a pose is from its target, as a vector that a Jacobian can act on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel, trace
from ..spatial import Scalar, log_matrix, transform_of_rows


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
    error: NDArray[np.float64] = _kernel().call(target, pose)
    return error


@cache
def _kernel() -> Kernel:
    return Kernel(trace(_pose_error, {'target': (4, 4), 'pose': (4, 4)}, 'pose_error'))


def _pose_error(target: Sequence[Any], pose: Sequence[Any]) -> list[Scalar]:
    X_0T, X_0F = transform_of_rows(target), transform_of_rows(pose)
    rotation = log_matrix(X_0T.rotation @ X_0F.rotation.T)
    return [*(X_0T.translation - X_0F.translation), *rotation]
