# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Spatial algebra over any scalar: positions, SO(3), SE(3), motions, forces, inertias.

Works on floats, NumPy arrays and symbolic scalars; imports no other room of this package.
"""

from .arrays import stack
from .exponential import (
    exp_left_jacobian,
    exp_matrix,
    exp_right_jacobian,
    log_left_jacobian,
    log_matrix,
    log_right_jacobian,
    quaternion_exp,
    quaternion_log,
)
from .inertia import Inertia
from .motion import Force, Motion, matrix_of, shift_matrix
from .moving_body import (
    euler_derivative,
    moving_point_acceleration,
    moving_point_velocity,
    point_acceleration,
    point_velocity,
)
from .over_arrays import Parameters, Quaternion
from .position import CARTESIAN, CYLINDRICAL, POSITIONS, SPHERICAL, PositionParametrization
from .rotation import (
    angular_velocity,
    body_angular_velocity,
    body_matrix_rate,
    matrix_rate,
    matrix_to_quaternion,
    quaternion_about,
    quaternion_conjugate,
    quaternion_left_matrix,
    quaternion_normalized,
    quaternion_product,
    quaternion_right_matrix,
    quaternion_rotate,
    quaternion_rotate_inverse,
    quaternion_to_matrix,
    rotation_about,
)
from .rotation_parametrizations import (
    ANGLE_AXIS,
    DIRECTION_COSINES,
    EULER_XYZ,
    EULER_ZXZ,
    EULER_ZYX,
    EULER_ZYZ,
    QUATERNION,
    ROTATION_VECTOR,
    ROTATIONS,
    EulerAngles,
    RotationParametrization,
)
from .rotation_steps import (
    box_minus,
    box_plus,
    differentiate_body_rotation,
    differentiate_rotation,
    integrate_body_rotation,
    integrate_rotation,
    slerp,
)
from .scalar import Scalar
from .transform import Transform, transform_of_rows
from .vector import Matrix3, Vector3

__all__ = [
    'ANGLE_AXIS',
    'CARTESIAN',
    'CYLINDRICAL',
    'DIRECTION_COSINES',
    'EULER_XYZ',
    'EULER_ZXZ',
    'EULER_ZYX',
    'EULER_ZYZ',
    'POSITIONS',
    'QUATERNION',
    'ROTATIONS',
    'ROTATION_VECTOR',
    'SPHERICAL',
    'EulerAngles',
    'Force',
    'Inertia',
    'Matrix3',
    'Motion',
    'Parameters',
    'PositionParametrization',
    'Quaternion',
    'RotationParametrization',
    'Scalar',
    'Transform',
    'Vector3',
    'angular_velocity',
    'body_angular_velocity',
    'body_matrix_rate',
    'box_minus',
    'box_plus',
    'differentiate_body_rotation',
    'differentiate_rotation',
    'euler_derivative',
    'exp_left_jacobian',
    'exp_matrix',
    'exp_right_jacobian',
    'integrate_body_rotation',
    'integrate_rotation',
    'log_left_jacobian',
    'log_matrix',
    'log_right_jacobian',
    'matrix_of',
    'matrix_rate',
    'matrix_to_quaternion',
    'moving_point_acceleration',
    'moving_point_velocity',
    'point_acceleration',
    'point_velocity',
    'quaternion_about',
    'quaternion_conjugate',
    'quaternion_exp',
    'quaternion_left_matrix',
    'quaternion_log',
    'quaternion_normalized',
    'quaternion_product',
    'quaternion_right_matrix',
    'quaternion_rotate',
    'quaternion_rotate_inverse',
    'quaternion_to_matrix',
    'rotation_about',
    'shift_matrix',
    'slerp',
    'stack',
    'transform_of_rows',
]
