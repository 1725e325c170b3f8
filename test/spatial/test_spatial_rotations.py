# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""SO(3): group laws, exp and log, their Jacobians, steps; within 1e-7 of zero and of pi too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dual_numbers import moving, rates
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation, Slerp
from spatial_samples import quaternions, rotation_vectors, turns, units, vectors
from tolerances import GROUP, RATES

from dynamics_ros import spatial
from dynamics_ros.errors import InvalidArgumentError, SingularParametrizationError
from dynamics_ros.spatial import Matrix3, Vector3


def skew(v):
    return Matrix3.skew(Vector3.of(v)).array()


def assert_close(ours, theirs, tolerance=10 * GROUP):
    assert np.shape(ours) == np.shape(theirs)
    assert np.abs(np.subtract(ours, theirs)).max() <= tolerance


def assert_same_rotation(a, b, tolerance=10 * GROUP):
    """Quaternions up to their common sign."""
    assert min(np.abs(a - b).max(), np.abs(a + b).max()) <= tolerance


# Group laws


@given(q=quaternions)
def test_the_conjugate_is_the_inverse_and_one_is_neutral(q):
    one = np.array([0.0, 0.0, 0.0, 1.0])
    assert_close(spatial.quaternion_product(q, spatial.quaternion_conjugate(q)), one)
    assert_close(spatial.quaternion_product(spatial.quaternion_conjugate(q), q), one)
    assert_close(spatial.quaternion_product(one, q), q)
    assert_close(spatial.quaternion_product(q, one), q)


@given(q=quaternions, v=vectors)
def test_acting_with_a_quaternion_is_acting_with_its_matrix(q, v):
    R = spatial.quaternion_to_matrix(q)
    assert_close(spatial.quaternion_rotate(q, v), R @ v, 100 * GROUP)
    assert_close(spatial.quaternion_rotate_inverse(q, v), R.T @ v, 100 * GROUP)


@given(a=quaternions, b=quaternions)
def test_a_product_is_the_left_and_the_right_matrix(a, b):
    """[RD] eq. 2.58 to 2.61."""
    product = spatial.quaternion_product(a, b)
    assert_close(spatial.quaternion_left_matrix(a) @ b, product)
    assert_close(spatial.quaternion_right_matrix(b) @ a, product)


@given(q=quaternions)
def test_a_quaternion_comes_back_from_its_matrix(q):
    back = spatial.matrix_to_quaternion(spatial.quaternion_to_matrix(q))
    assert back[3] >= 0.0
    assert_same_rotation(back, q)


@given(a=quaternions, b=quaternions)
def test_scipy_composes_and_converts_alike(a, b):
    peer = Rotation.from_quat(a) * Rotation.from_quat(b)
    ours = spatial.quaternion_product(a, b)
    assert_same_rotation(ours, peer.as_quat())
    assert_close(spatial.quaternion_to_matrix(ours), peer.as_matrix())
    assert_same_rotation(spatial.matrix_to_quaternion(peer.as_matrix()), peer.as_quat())


@given(unit=units, turn=turns)
def test_a_turn_about_an_axis_is_rodrigues_formula(unit, turn):
    """[RBM]: 1 + sin K + (1 - cos) K^2."""
    K = skew(unit)
    formula = np.eye(3) + math.sin(turn) * K + (1.0 - math.cos(turn)) * K @ K
    assert_close(spatial.rotation_about(unit, turn), formula)
    q = spatial.quaternion_about(unit, turn)
    assert_close(spatial.quaternion_to_matrix(q), formula)


# Exponential and logarithm


@given(v=rotation_vectors)
def test_the_exponential_is_the_matrix_exponential(v):
    assert_close(spatial.exp_matrix(v), expm(skew(v)))
    assert_close(spatial.quaternion_to_matrix(spatial.quaternion_exp(v)), expm(skew(v)))


@given(v=rotation_vectors)
def test_the_logarithm_undoes_the_exponential(v):
    """Up to the sign of the axis where both turn by pi within rounding."""
    for back in (
        spatial.quaternion_log(spatial.quaternion_exp(v)),
        spatial.quaternion_log(-spatial.quaternion_exp(v)),
        spatial.log_matrix(spatial.exp_matrix(v)),
    ):
        errors = [np.abs(back - v).max()]
        if np.linalg.norm(v) > math.pi - 1e-15:
            errors.append(np.abs(back + v).max())
        assert min(errors) <= 10 * GROUP
        assert np.linalg.norm(back) <= math.pi + 10 * GROUP


@given(unit=units, turn=st.floats(1e-17, 1e-7))
def test_near_the_identity_the_logarithm_keeps_all_digits(unit, turn):
    """Relative, not absolute: an arccosine of the trace would lose all below 1e-8."""
    v = unit * turn
    assert_close(spatial.log_matrix(spatial.exp_matrix(v)) / turn, unit)
    assert_close(spatial.quaternion_log(spatial.quaternion_exp(v)) / turn, unit)


# Jacobians


@given(v=rotation_vectors, rate=vectors)
def test_the_jacobians_of_exp_are_its_derivatives(v, rate):
    """d/dt exp(v) = (J_l rate) x exp(v) = exp(v) (J_r rate) x."""
    R = spatial.exp_matrix(v)
    R_rate = np.array(rates(spatial.exp_matrix(Vector3.of(moving(v, rate)))))
    assert_close(skew(spatial.exp_left_jacobian(v) @ rate) @ R, R_rate, 100 * RATES)
    assert_close(R @ skew(spatial.exp_right_jacobian(v) @ rate), R_rate, 100 * RATES)


@given(q=quaternions, w=vectors)
def test_the_jacobian_of_log_is_its_derivative(q, w):
    """[Kindr]: d log = Gamma^-1 (log)."""
    assume(abs(q[3]) > 1e-6)  # the logarithm jumps at half a turn
    q_rate = 0.5 * spatial.quaternion_product(np.array([*w, 0.0]), q)
    exact = rates(spatial.quaternion_log(tuple(moving(q, q_rate))))
    v = spatial.quaternion_log(q)
    assert_close(spatial.log_left_jacobian(v) @ w, exact, 100 * RATES)


@given(v=rotation_vectors)
def test_the_jacobians_of_log_are_the_inverses(v):
    assert_close(spatial.exp_left_jacobian(v) @ spatial.log_left_jacobian(v), np.eye(3))
    assert_close(spatial.exp_right_jacobian(v) @ spatial.log_right_jacobian(v), np.eye(3))
    assert_close(spatial.exp_right_jacobian(v), spatial.exp_left_jacobian(v).T)


@given(unit=units, turns=st.integers(1, 3))
def test_full_turns_have_no_jacobian_of_log_and_say_so(unit, turns):
    with pytest.raises(SingularParametrizationError, match='full turn') as caught:
        spatial.log_left_jacobian(unit * (2.0 * math.pi * turns))
    assert caught.value.parametrization == 'rotation_vector'


@given(q=quaternions, w=vectors)
def test_a_matrix_rate_and_its_angular_velocity(q, w):
    """[RD] eq. 2.72, 2.74, 2.75, [Kindr]."""
    R = spatial.quaternion_to_matrix(q)
    R_rate = spatial.matrix_rate(R, w)
    assert_close(R_rate, skew(w) @ R, 100 * GROUP)
    assert_close(R_rate, R @ skew(R.T @ w), 100 * GROUP)
    assert_close(spatial.angular_velocity(R, R_rate), w, 100 * GROUP)
    # [Kindr]: the same by the angular velocity in B.
    assert_close(spatial.body_matrix_rate(R, R.T @ w), R_rate, 100 * GROUP)
    assert_close(spatial.body_angular_velocity(R, R_rate), R.T @ w, 100 * GROUP)


# Steps


@given(q=quaternions, v=rotation_vectors)
def test_box_plus_and_box_minus_undo_each_other(q, v):
    there = spatial.box_plus(q, v)
    back = spatial.box_minus(there, q)
    assert_same_rotation(spatial.box_plus(q, back), there)
    if np.linalg.norm(v) < math.pi - 1e-14:
        assert_close(back, v)


@given(q=quaternions, w=vectors, duration=st.floats(1e-3, 0.1))
def test_integration_and_differentiation_undo_each_other_in_both_frames(q, w, duration):
    after = spatial.integrate_rotation(q, w, duration)
    assert_close(spatial.differentiate_rotation(q, after, duration), w, 100 * GROUP / duration)
    body = spatial.integrate_body_rotation(q, w, duration)
    found = spatial.differentiate_body_rotation(q, body, duration)
    assert_close(found, w, 100 * GROUP / duration)


@given(a=quaternions, b=quaternions, t=st.floats(0.0, 1.0))
def test_slerp_is_that_of_scipy(a, b, t):
    # Half a turn apart both ways are equally short.
    assume(np.linalg.norm(spatial.box_minus(b, a)) < math.pi - 1e-6)
    peer = Slerp([0.0, 1.0], Rotation.from_quat(np.stack([a, b])))(t).as_quat()
    assert_same_rotation(spatial.slerp(a, b, t), peer)


# What is no rotation


@pytest.mark.parametrize(
    'matrix',
    [np.diag([1.0, 1.0, -1.0]), np.zeros((3, 3)), 1.1 * np.eye(3), np.ones((3, 3))],
    ids=['reflection', 'zero', 'scaled', 'singular'],
)
def test_a_matrix_that_is_no_rotation_is_refused(matrix):
    with pytest.raises(InvalidArgumentError, match='rotation matrix'):
        spatial.matrix_to_quaternion(matrix)
    with pytest.raises(InvalidArgumentError, match='rotation matrix'):
        spatial.log_matrix(np.stack([np.eye(3), matrix]))
