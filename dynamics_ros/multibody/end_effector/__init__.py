# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Quantities of one frame: its pose as numbers, pose errors, manipulability.

``pose_parameters`` is chi_e(q) ([RD] eq. 2.137), ``analytical_jacobian`` its derivative; both take
any parametrization of ``dynamics_ros.spatial``. May import ``multibody``.
"""

from .analytical_jacobian import (
    analytical_jacobian,
    analytical_jacobian_derivative,
    parameters_of_pose,
    pose_parameters,
)
from .manipulability import manipulability
from .pose_error import pose_error
from .pose_numbers import pose_numbers

__all__ = [
    'analytical_jacobian',
    'analytical_jacobian_derivative',
    'manipulability',
    'parameters_of_pose',
    'pose_error',
    'pose_numbers',
    'pose_parameters',
]
