"""Spatial algebra over any scalar: SO(3), SE(3), motions, forces, inertias.

Works on floats and on symbolic scalars alike; imports nothing else of this package.
"""

from .inertia import Inertia
from .motion import Force, Motion
from .rotation import (
    exp_left_jacobian,
    exp_matrix,
    log_left_jacobian,
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalized,
    quaternion_product,
    quaternion_to_matrix,
    rotation_about,
)
from .scalar import Scalar
from .transform import Transform, transform_of_rows
from .vector import Matrix3, Vector3

__all__ = [
    'Force',
    'Inertia',
    'Matrix3',
    'Motion',
    'Scalar',
    'Transform',
    'Vector3',
    'exp_left_jacobian',
    'exp_matrix',
    'log_left_jacobian',
    'quaternion_conjugate',
    'quaternion_exp',
    'quaternion_log',
    'quaternion_normalized',
    'quaternion_product',
    'quaternion_to_matrix',
    'rotation_about',
    'transform_of_rows',
]
