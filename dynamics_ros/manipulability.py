"""How well a frame can be moved in every direction from a configuration."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def manipulability(jacobian: ArrayLike) -> float:
    """Yoshikawa's measure, the product of the singular values; 0 at a singularity.

    It is sqrt(det(J J^T)), and sqrt(det(J^T J)) of a robot with fewer joints than rows [Yoshikawa].

    Args:
        jacobian: (6, nv).
    """
    return float(np.prod(np.linalg.svd(np.asarray(jacobian, dtype=float), compute_uv=False)))
