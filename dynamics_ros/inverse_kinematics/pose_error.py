"""How far a pose is from its target, as a vector that a Jacobian can act on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

NEARLY_SYMMETRIC = 1e-6
"""Below this 2 sin(angle) the skew part no longer gives the axis of a turn near pi."""


def rotation_vector(rotation: NDArray[np.float64]) -> tuple[float, float, float]:
    """Rotation vector [rad] of a rotation matrix, of length at most pi, [RD] eq. 2.49, 2.50.

    The angle comes from atan2 of the skew and the symmetric part: an arccosine of the trace alone
    loses half the digits at small angles, where a solver converges.

    Args:
        rotation: (3, 3) R_AB.

    Returns:
        The axis times the angle, the same in A and B ([RD] eq. 2.250).
    """
    # Python floats: nine of them are quicker than any array operation.
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    x, y, z = zy - yz, xz - zx, yx - xy
    double_sine = math.sqrt(x * x + y * y + z * z)
    double_cosine = xx + yy + zz - 1.0
    if double_sine > NEARLY_SYMMETRIC:
        scale = math.atan2(double_sine, double_cosine) / double_sine
        return scale * x, scale * y, scale * z
    if double_cosine > 0.0:
        return 0.5 * x, 0.5 * y, 0.5 * z
    # A half turn: R + 1 = 2 n n^T, whose longest column gives the axis best.
    columns = ((xx + 1.0, yx, zx), (xy, yy + 1.0, zy), (xz, yz, zz + 1.0))
    x, y, z = max(columns, key=lambda column: sum(c * c for c in column))
    scale = math.pi / math.sqrt(x * x + y * y + z * z)
    return scale * x, scale * y, scale * z


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
    position = target[:3, 3] - pose[:3, 3]
    rotation = target[:3, :3] @ pose[:3, :3].T
    return np.array([*position.tolist(), *rotation_vector(rotation)])
