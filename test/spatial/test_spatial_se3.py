# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""SE(3), motions, forces and inertias against their 4x4 and 6x6 matrices ([SE3], [RBM], [Lie])."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dual_numbers import moving, rates
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from spatial_samples import components, quaternions, rotation_vectors, sixes, vectors
from tolerances import EXACT, GROUP, RATES

from dynamics_ros import spatial
from dynamics_ros.spatial import Force, Inertia, Matrix3, Motion, Transform, Vector3, stack
from dynamics_ros.spatial.articulated import ArticulatedInertia


def skew(v):
    return Matrix3.skew(Vector3.of(v)).array()


def transform(q, p):
    return Transform(Matrix3.from_array(spatial.quaternion_to_matrix(q)), Vector3.from_array(p))


transforms = st.builds(transform, quaternions, vectors)
twists = st.builds(lambda v, w: Motion.from_array([*v, *w]), vectors, rotation_vectors)
motions = sixes.map(Motion.from_array)
forces = sixes.map(Force.from_array)


def inertia(mass, center, spread, q):
    """A body whose points lie within +-spread along turned axes: principal inertias like theirs."""
    x, y, z = np.square(spread)
    R = spatial.quaternion_to_matrix(q)
    rotational = mass * R @ np.diag([y + z, x + z, x + y]) @ R.T
    return Inertia(mass, Vector3.from_array(center), Matrix3.from_array(rotational))


inertias = st.builds(
    inertia,
    st.floats(0.01, 100.0),
    vectors,
    st.tuples(*[st.floats(0.01, 1.0)] * 3),
    quaternions,
)


def assert_close(ours, theirs, tolerance=EXACT, scale=1.0):
    """Relative to the larger of a scale and the largest entry."""
    theirs = np.asarray(theirs)
    assert np.shape(ours) == theirs.shape
    assert np.abs(ours - theirs).max() <= tolerance * max(scale, np.abs(theirs).max())


def size(*factors):
    """Largest sum in a product of matrices before anything cancels: the scale of its rounding."""
    product = np.abs(factors[0])
    for factor in factors[1:]:
        product = product @ np.abs(factor)
    return max(1.0, product.max())


def motion_matrix(X):
    """^A X_B of [SE3] 3, block by block."""
    R, p = X.rotation.array(), X.translation.array()
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])


def force_matrix(X):
    """^A X_B^* of [SE3] 4, block by block."""
    R, p = X.rotation.array(), X.translation.array()
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def inertia_matrix(Y):
    """Y of [SE3] 5.1, block by block."""
    m, C = Y.mass, skew(Y.center.array())
    return np.block(
        [[m * np.eye(3), m * C.T], [m * C, Y.rotational.array() + m * C @ C.T]],
    )


# The group


@given(X=transforms, Y=transforms, Z=transforms)
def test_composition_is_that_of_homogeneous_matrices(X, Y, Z):
    """[SE3] 2."""
    assert_close((X @ Y).array(), X.array() @ Y.array())
    assert_close(((X @ Y) @ Z).array(), (X @ (Y @ Z)).array())
    assert_close(X.inverse_compose(Y).array(), np.linalg.inv(X.array()) @ Y.array())


@given(X=transforms)
def test_the_inverse_undoes_a_transform(X):
    """[SE3] 1, [RD] eq. 2.111."""
    assert_close((X @ X.inverse()).array(), np.eye(4))
    assert_close((X.inverse() @ X).array(), np.eye(4))
    assert_close((Transform.identity() @ X).array(), X.array())
    assert_close((X @ Transform.identity()).array(), X.array())


@given(X=transforms, r=vectors)
def test_points_are_transformed_by_the_homogeneous_matrix(X, r):
    """[RD] eq. 2.110."""
    point = Vector3.from_array(r)
    assert_close(X.act(point).array(), (X.array() @ [*r, 1.0])[:3])
    assert_close(X.inverse_act(X.act(point)).array(), r)


# Exponential and logarithm


@given(twist=twists)
def test_the_logarithm_undoes_the_exponential(twist):
    back = Transform.exp(twist).log()
    if np.linalg.norm(twist.angular.array()) < math.pi - 1e-12:
        assert_close(back.array(), twist.array())
    assert_close(Transform.exp(back).array(), Transform.exp(twist).array())


# Motions and forces


@given(X=transforms, m=motions)
def test_motions_are_transformed_by_the_adjoint(X, m):
    """[SE3] 3."""
    A = motion_matrix(X)
    assert_close(stack(X.motion_matrix()), A)
    assert_close(X.act(m).array(), A @ m.array(), scale=size(A, m.array()))
    assert_close(X.inverse_act(m).array(), np.linalg.inv(A) @ m.array(), scale=size(A, m.array()))


@given(X=transforms, f=forces)
def test_forces_are_transformed_by_the_dual_adjoint(X, f):
    """[SE3] 4."""
    A = force_matrix(X)
    assert_close(stack(X.force_matrix()), A)
    assert_close(A, np.linalg.inv(motion_matrix(X)).T)
    assert_close(X.act(f).array(), A @ f.array(), scale=size(A, f.array()))
    assert_close(X.inverse_act(f).array(), np.linalg.inv(A) @ f.array(), scale=size(A, f.array()))


@given(X=transforms, m=motions, f=forces)
def test_power_is_the_same_in_every_frame(X, m, f):
    """[SE3] 4."""
    power = m.array() @ f.array()
    scale = np.abs(m.array()).max() * np.abs(f.array()).max() * 1e3
    assert m.dot(f) == pytest.approx(power, abs=GROUP * 1e3)
    assert f.dot(m) == m.dot(f)
    assert X.act(m).dot(X.act(f)) == pytest.approx(power, abs=EXACT * max(1.0, scale))


@given(a=motions, b=motions, f=forces)
def test_cross_products_are_their_matrices(a, b, f):
    """[SE3] 6, block by block."""
    v, w = skew(a.linear.array()), skew(a.angular.array())
    motion = np.block([[w, v], [np.zeros((3, 3)), w]])
    assert_close(stack(a.cross_matrix()), motion)
    assert_close(stack(a.cross_force_matrix()), -motion.T)
    assert_close(a.cross(b).array(), motion @ b.array())
    assert_close(a.cross(f).array(), -motion.T @ f.array())


@given(twist=twists, m=motions)
def test_the_cross_product_is_the_derivative_of_the_transform(twist, m):
    """d/dt exp(t v) m = v x exp(t v) m."""
    components = moving(twist.array(), np.zeros(6))
    time = moving([1.0], [1.0])[0]
    moved = Transform.exp(Motion.of(components) * time).act(m)
    expected = twist.cross(Transform.exp(twist).act(m)).array()
    scale = size(stack(twist.cross_matrix()), motion_matrix(Transform.exp(twist)), m.array())
    assert_close(rates(moved.components()), expected, 10 * RATES, scale)


# Inertia


@given(Y=inertias, m=motions)
def test_momentum_is_the_inertia_matrix_times_the_twist(Y, m):
    """[SE3] 5.1."""
    M = inertia_matrix(Y)
    assert_close(stack(Y.matrix()), M)
    assert_close((Y @ m).array(), M @ m.array(), scale=size(M, m.array()))
    assert_close(Y.about_origin().array(), M[3:, 3:])


@given(Y=inertias, X=transforms)
def test_inertia_changes_its_frame(Y, X):
    """[SE3] 5.1: ^A Y = X^* Y X^-1, and back."""
    factors = force_matrix(X), inertia_matrix(Y), np.linalg.inv(motion_matrix(X))
    scale = size(*factors)
    assert_close(inertia_matrix(X.act(Y)), np.linalg.multi_dot(factors), scale=scale)
    assert_close(inertia_matrix(X.inverse_act(X.act(Y))), inertia_matrix(Y), scale=scale)


@given(Y=inertias, Z=inertias)
def test_inertias_add_as_their_matrices(Y, Z):
    """[SE3] 5.2."""
    assert_close(inertia_matrix(Y + Z), inertia_matrix(Y) + inertia_matrix(Z))


@given(Y=inertias)
def test_inertia_comes_back_from_its_ten_parameters(Y):
    back = Inertia.from_array(Y.array())
    assert Y.array().shape == (10,)
    assert back.mass == Y.mass
    assert_close(back.center.array(), Y.center.array())
    # About the origin it was larger by m c^2, whose rounding remains.
    scale = size(inertia_matrix(Y))
    assert_close(back.rotational.array(), Y.rotational.array(), scale=scale)
    assert_close(inertia_matrix(back), inertia_matrix(Y))


@given(Y=inertias, Z=inertias, X=transforms, m=motions, f=forces, factor=components)
def test_articulated_inertia_is_its_matrix(Y, Z, X, m, f, factor):
    A = ArticulatedInertia.of(Y) + ArticulatedInertia.of(Z)
    M = inertia_matrix(Y) + inertia_matrix(Z)
    assert_close(stack(A.matrix()), M)
    assert_close((A @ m).array(), M @ m.array(), scale=size(M, m.array()))
    U = f.array()
    assert_close(stack(A.without(f, factor).matrix()), M - factor * np.outer(U, U))
    factors = force_matrix(X), M, np.linalg.inv(motion_matrix(X))
    expected = np.linalg.multi_dot(factors)
    assert_close(stack(A.seen_from(X).matrix()), expected, scale=size(*factors))


# Moving bodies


@given(twist=motions, a=vectors, w_rate=vectors, r=vectors)
def test_the_velocity_of_a_point_is_that_of_the_shifted_twist(twist, a, w_rate, r):
    """[RD] eq. 2.121: a frame at the point, with the same axes, sees it as its linear part."""
    v, w = twist.linear.array(), twist.angular.array()
    shifted = Transform(Matrix3.identity(), Vector3.from_array(r)).inverse_act(twist)
    velocity = spatial.point_velocity(v, w, r)
    assert_close(velocity, shifted.linear.array())
    assert_close(velocity, v + np.cross(w, r))
    expected = a + np.cross(w_rate, r) + np.cross(w, np.cross(w, r))
    assert_close(spatial.point_acceleration(a, w, w_rate, r), expected)


@given(q=quaternions, w=vectors, r=vectors, r_rate=vectors)
def test_eulers_rule_differentiates_in_a_moving_frame(q, w, r, r_rate):
    """[RD] eq. 2.125: C_BA d/dt (C_AB r)."""
    q_rate = spatial.QUATERNION.body_rate_map_inverse(q) @ w
    R_AB = spatial.quaternion_to_matrix(q)
    in_A = spatial.quaternion_rotate(tuple(moving(q, q_rate)), Vector3.of(moving(r, r_rate)))
    assert_close(spatial.euler_derivative(r, r_rate, w), R_AB.T @ rates(in_A), 100 * RATES)


@given(q=quaternions, w=vectors, a=vectors, w_rate=vectors, r=vectors, u=vectors, b=vectors)
def test_a_point_that_moves_in_a_moving_body(q, w, a, w_rate, r, u, b):
    """[RD] eq. 2.118 and its derivative, along p(t) + R(t) r(t) by differences of second order."""
    q_rate = spatial.QUATERNION.body_rate_map_inverse(q) @ w
    R = spatial.quaternion_to_matrix(q)
    in_A = spatial.quaternion_rotate(tuple(moving(q, q_rate)), Vector3.of(moving(r, u)))
    velocity = spatial.moving_point_velocity(R @ a, R @ w, R @ r, R @ u)
    assert_close(velocity, R @ a + rates(in_A), 100 * RATES)
    # The velocity itself, differentiated: R turns with w, r moves with u, w and u change.
    turning = spatial.quaternion_rotate(
        tuple(moving(q, q_rate)),
        Vector3.of(moving(w, w_rate)).cross(Vector3.of(moving(r, u))) + Vector3.of(moving(u, b)),
    )
    acceleration = spatial.moving_point_acceleration(R @ a, R @ w, R @ w_rate, R @ r, R @ u, R @ b)
    assert_close(acceleration, R @ a + rates(turning), 100 * RATES)


# Twists as matrices


@given(twist=twists, X=transforms)
def test_the_exponential_of_a_hat_is_the_displacement(twist, X):
    hat = stack(twist.hat())
    assert_close(expm(hat), Transform.exp(twist).array(), 1e-13)
    assert_close(Motion.vee(hat).array(), twist.array())
    assert_close(Motion.vee(twist.hat()).array(), twist.array())
    # The adjoint is a similarity of hats ([RBM]): body to spatial twist.
    similar = X.array() @ hat @ X.inverse().array()
    assert_close(stack(X.act(twist).hat()), similar, scale=size(X.array(), hat, X.array()))
