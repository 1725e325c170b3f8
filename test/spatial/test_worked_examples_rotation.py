# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Worked examples and printed matrices of the references, number by number, entry by entry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dual_numbers import Dual, rates, values
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from spatial_samples import angles, units
from tolerances import GROUP

from dynamics_ros import spatial
from dynamics_ros.spatial import (
    ANGLE_AXIS,
    EULER_XYZ,
    EULER_ZXZ,
    EULER_ZYX,
    EULER_ZYZ,
    ROTATION_VECTOR,
    Matrix3,
    Transform,
    Vector3,
)

ROOT_3 = math.sqrt(3.0)
X, Y, Z = np.eye(3)


def assert_equal(ours, printed, tolerance=10 * GROUP):
    assert np.shape(ours) == np.shape(printed)
    assert np.abs(np.subtract(ours, printed)).max() <= tolerance


def skew(v):
    return Matrix3.skew(Vector3.of(v)).array()


def cs(angle):
    return math.cos(angle), math.sin(angle)


# [RD] example 2.4.1


def test_example_2_4_1_rotation_with_quaternion_multiplication():
    """B is turned by pi/3 about x; (0, 1, 0) of A is (0, 1/2, -sqrt(3)/2) in B."""
    q_AB = spatial.quaternion_about(X, math.pi / 3)
    assert_equal(q_AB, [0.5, 0.0, 0.0, 0.5 * ROOT_3])  # eq. 2.65, real part last
    q_BA = spatial.quaternion_conjugate(q_AB)
    assert_equal(q_BA, [-0.5, 0.0, 0.0, 0.5 * ROOT_3])  # eq. 2.66

    # eq. 2.69, its rows and columns ordered (x, y, z, w) instead of (w, x, y, z).
    order = np.array([1, 2, 3, 0])
    left = 0.5 * np.array(
        [[ROOT_3, 1, 0, 0], [-1, ROOT_3, 0, 0], [0, 0, ROOT_3, 1], [0, 0, -1, ROOT_3]]
    )
    right = 0.5 * np.array(
        [[ROOT_3, -1, 0, 0], [1, ROOT_3, 0, 0], [0, 0, ROOT_3, 1], [0, 0, -1, ROOT_3]]
    )
    assert_equal(spatial.quaternion_left_matrix(q_BA), left[np.ix_(order, order)])
    assert_equal(spatial.quaternion_right_matrix(q_AB), right[np.ix_(order, order)])

    B_r = np.array([0.0, 0.5, -0.5 * ROOT_3])
    pure = np.array([*Y, 0.0])
    product = spatial.quaternion_product(spatial.quaternion_product(q_BA, pure), q_AB)
    assert_equal(product, [*B_r, 0.0])
    assert_equal(spatial.quaternion_rotate(q_BA, Y), B_r)
    assert_equal(spatial.quaternion_rotate_inverse(q_AB, Y), B_r)


# [RD] example 2.5.1


@given(alpha=angles, rate=angles)
def test_example_2_5_1_angular_velocity_from_rotation_matrix(alpha, rate):
    """C_x(alpha(t)) turns with (alpha-dot, 0, 0)."""
    C = spatial.rotation_about(Vector3(1.0, 0.0, 0.0), Dual(alpha, rate))
    C_value, C_rate = np.array(values(C)), np.array(rates(C))
    c, s = cs(alpha)
    assert_equal(C_value, [[1, 0, 0], [0, c, -s], [0, s, c]])  # eq. 2.77
    assert_equal(C_rate @ C_value.T, [[0, 0, 0], [0, 0, -rate], [0, rate, 0]])  # eq. 2.80
    assert_equal(spatial.angular_velocity(C_value, C_rate), [rate, 0.0, 0.0])  # eq. 2.81


# [RD] example 2.6.1


def test_example_2_6_1_homogeneous_transformation():
    """eq. 2.113 and 2.114."""
    T_AB = Transform(
        Matrix3.from_array(spatial.rotation_about(X, math.pi / 2)), Vector3(0.0, 3.0, 1.0)
    )
    assert_equal(T_AB.array(), [[1, 0, 0, 0], [0, 0, -1, 3], [0, 1, 0, 1], [0, 0, 0, 1]])
    assert_equal(T_AB.act(Vector3(0.0, 1.0, 1.0)).array(), [0.0, 2.0, 2.0])
    assert_equal(T_AB.inverse_act(Vector3(0.0, 2.0, 2.0)).array(), [0.0, 1.0, 1.0])
    assert_equal((T_AB.inverse() @ T_AB).array(), np.eye(4))


# [RD] 2.4.3 and [RBM]: elementary rotations


# [RD] 2.4.5: matrices of Euler angles


def euler_matrices(a, b, c):
    """[RD] eq. 2.33, 2.37, 2.41 (also the roll-pitch-yaw R_z R_y R_x of [RBM]) and 2.44."""
    (c1, s1), (c2, s2), (c3, s3) = cs(a), cs(b), cs(c)
    return {
        EULER_ZYZ: [
            [c2 * c1 * c3 - s1 * s3, -c3 * s1 - c2 * c1 * s3, c1 * s2],
            [c1 * s3 + c2 * c3 * s1, c1 * c3 - c2 * s1 * s3, s2 * s1],
            [-c3 * s2, s2 * s3, c2],
        ],
        EULER_ZXZ: [
            [c1 * c3 - c2 * s1 * s3, -c1 * s3 - c2 * c3 * s1, s2 * s1],
            [c3 * s1 + c2 * c1 * s3, c2 * c1 * c3 - s1 * s3, -c1 * s2],
            [s2 * s3, c3 * s2, c2],
        ],
        EULER_ZYX: [
            [c2 * c1, c1 * s3 * s2 - c3 * s1, s3 * s1 + c3 * c1 * s2],
            [c2 * s1, c3 * c1 + s3 * s2 * s1, c3 * s2 * s1 - c1 * s3],
            [-s2, c2 * s3, c3 * c2],
        ],
        EULER_XYZ: [
            [c2 * c3, -c2 * s3, s2],
            [c1 * s3 + c3 * s1 * s2, c1 * c3 - s1 * s2 * s3, -c2 * s1],
            [s1 * s3 - c1 * c3 * s2, c3 * s1 + c1 * s2 * s3, c1 * c2],
        ],
    }


@given(p=st.tuples(angles, angles, angles))
def test_matrices_of_euler_angles(p):
    for kind, printed in euler_matrices(*p).items():
        assert_equal(kind.to_matrix(np.array(p)), printed)


# [RD] 2.4.5: angle-axis and quaternion


@given(n=units, theta=angles)
def test_matrix_of_angle_and_axis(n, theta):
    """[RD] eq. 2.48."""
    (x, y, z), (c, s) = n, cs(theta)
    d = 1.0 - c
    printed = [
        [x * x * d + c, x * y * d - z * s, x * z * d + y * s],
        [x * y * d + z * s, y * y * d + c, y * z * d - x * s],
        [x * z * d - y * s, y * z * d + x * s, z * z * d + c],
    ]
    assert_equal(ANGLE_AXIS.to_matrix(np.array([theta, *n])), printed)
    assert_equal(ROTATION_VECTOR.to_matrix(theta * n), printed)


# [RD] 2.5.1 and [Kindr]: rates of Euler angles


def euler_rates(a, b):
    """E and its inverse, [RD] eq. 2.86 to 2.93."""
    (c1, s1), (c2, s2) = cs(a), cs(b)
    return {
        EULER_ZYX: (
            [[0, -s1, c2 * c1], [0, c1, c2 * s1], [1, 0, -s2]],
            [[c1 * s2 / c2, s2 * s1 / c2, 1], [-s1, c1, 0], [c1 / c2, s1 / c2, 0]],
        ),
        EULER_XYZ: (
            [[1, 0, s2], [0, c1, -c2 * s1], [0, s1, c1 * c2]],
            [[1, s1 * s2 / c2, -c1 * s2 / c2], [0, c1, s1], [0, -s1 / c2, c1 / c2]],
        ),
        EULER_ZYZ: (
            [[0, -s1, c1 * s2], [0, c1, s1 * s2], [1, 0, c2]],
            [[-c2 * c1 / s2, -c2 * s1 / s2, 1], [-s1, c1, 0], [c1 / s2, s1 / s2, 0]],
        ),
        EULER_ZXZ: (
            [[0, c1, s1 * s2], [0, s1, -c1 * s2], [1, 0, c2]],
            [[-c2 * s1 / s2, c2 * c1 / s2, 1], [c1, s1, 0], [s1 / s2, -c1 / s2, 0]],
        ),
    }


@given(p=st.tuples(angles, angles, angles))
def test_rates_of_euler_angles(p):
    """Printed for the angular velocity in A; that in B is its other side ([Kindr] eq. 7 and 8)."""
    assume(min(map(abs, cs(p[1]))) > 1e-6)
    p = np.array(p)
    for kind, (E, inverse) in euler_rates(*p[:2]).items():
        R = kind.to_matrix(p)
        assert_equal(kind.rate_map(p), E)
        assert_equal(kind.body_rate_map(p), R.T @ np.array(E))
        scale = np.abs(inverse).max()
        assert_equal(kind.rate_map_inverse(p), inverse, 10 * GROUP * scale**2)
        assert_equal(kind.body_rate_map_inverse(p), np.array(inverse) @ R, 10 * GROUP * scale**2)
    (_, _), (cy, sy), (cx, sx) = map(cs, p)
    # [Kindr] prints those of ZYX in B, too.
    assert_equal(EULER_ZYX.body_rate_map(p), [[-sy, 0, 1], [cy * sx, cx, 0], [cx * cy, -sx, 0]])
    assert_equal(
        EULER_ZYX.body_rate_map_inverse(p),
        [[0, sx / cy, cx / cy], [0, cx, -sx], [1, sx * sy / cy, cx * sy / cy]],
        10 * GROUP / cy**2,
    )


# [RD] 2.5.1 and [Kindr]: rates of the others


# [Kindr] figures


def degrees(*angles):
    return np.radians(angles)


@pytest.mark.parametrize(
    ('kind', 'axes', 'printed'),
    [
        (
            EULER_ZYX,
            (Z, Y, X),
            [[0.5826, -0.5276, 0.6183], [0.6943, 0.7185, -0.0410], [-0.4226, 0.4532, 0.7849]],
        ),
        (
            EULER_XYZ,
            (X, Y, Z),
            [[0.7849, -0.4532, 0.4226], [0.6018, 0.3948, -0.6943], [0.1478, 0.7992, 0.5826]],
        ),
    ],
    ids=['1', '2'],
)
def test_kindr_figures_1_and_2_from_A_to_D(kind, axes, printed):
    """By 50, 25, 30 degrees: each turn is about an axis of the frame turned so far."""
    p = degrees(50, 25, 30)
    R_AD = np.eye(3)
    for axis, angle in zip(axes, p, strict=True):
        R_AD = spatial.rotation_about(R_AD @ axis, angle) @ R_AD
    assert_equal(kind.to_matrix(p), R_AD)
    assert_equal(kind.from_matrix(R_AD), p)
    assert np.round(R_AD, 4).tolist() == printed
    sequence = kind.name[-3:]
    assert_equal(R_AD, Rotation.from_euler(sequence.upper(), p).as_matrix())
    # Turns about fixed axes in the opposite order are the same rotation.
    assert_equal(R_AD, Rotation.from_euler(sequence[::-1], p[::-1]).as_matrix())


# [Kindr] 1, 2 and 4: active and passive
