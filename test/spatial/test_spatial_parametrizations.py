# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parametrizations of rotations and positions, and products of exponentials."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from dual_numbers import moving, rates, values
from hypothesis import assume, given
from hypothesis import strategies as st
from spatial_samples import angles, quaternions, rotation_vectors, tiny, vectors
from tolerances import GROUP, RATES

from dynamics_ros import spatial
from dynamics_ros.errors import InvalidArgumentError, SingularError, SingularParametrizationError
from dynamics_ros.spatial import (
    ANGLE_AXIS,
    CYLINDRICAL,
    POSITIONS,
    QUATERNION,
    ROTATION_VECTOR,
    ROTATIONS,
    SPHERICAL,
    EulerAngles,
    Vector3,
)

ALL = pytest.mark.parametrize('kind', ROTATIONS.values(), ids=ROTATIONS)
EULER = {name: kind for name, kind in ROTATIONS.items() if isinstance(kind, EulerAngles)}
ALL_EULER = pytest.mark.parametrize('kind', EULER.values(), ids=EULER)

ANGLE_TOLERANCE = 20 * GROUP
"""Three elementary rotations and their product."""


def assert_close(ours, theirs, tolerance=ANGLE_TOLERANCE):
    assert np.shape(ours) == np.shape(theirs)
    assert np.abs(np.subtract(ours, theirs)).max() <= tolerance


def regular(kind, q):
    """How far from its singularity a rotation is, as the sine that vanishes there."""
    p = kind.from_quaternion(q)
    if isinstance(kind, EulerAngles):
        proper = kind.name in ('euler_zyz', 'euler_zxz')
        return abs(math.sin(p[1]) if proper else math.cos(p[1]))
    return math.sin(0.5 * p[0]) if kind is ANGLE_AXIS else 1.0


gimbal = st.one_of(st.just(0.0), tiny, tiny.map(lambda x: -x))


def euler_samples(kind):
    """Angles with the second one at, near and far from the singularity."""
    proper = kind.name in ('euler_zyz', 'euler_zxz')
    where = (0.0, math.pi) if proper else (-0.5 * math.pi, 0.5 * math.pi)
    near = st.builds(lambda at, off: at + off, st.sampled_from(where), gimbal)
    return st.tuples(angles, st.one_of(angles, near), angles).map(np.array)


# Conversions


@ALL
@given(q=quaternions)
def test_a_rotation_survives_the_way_there_and_back(kind, q):
    R = spatial.quaternion_to_matrix(q)
    assert_close(kind.to_matrix(kind.from_quaternion(q)), R)
    assert_close(kind.to_matrix(kind.from_matrix(R)), R)
    back = kind.to_quaternion(kind.from_quaternion(q))
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) <= ANGLE_TOLERANCE


@given(q=quaternions, order=st.permutations([*ROTATIONS.values()]))
def test_a_chain_through_all_of_them_keeps_the_rotation(q, order):
    p = order[0].from_quaternion(q)
    for source, target in itertools.pairwise(order):
        p = source.to(p, target)
    final = order[-1].to_matrix(p)
    assert_close(final, spatial.quaternion_to_matrix(q), len(order) * ANGLE_TOLERANCE)


@ALL_EULER
@given(data=st.data())
def test_euler_angles_reproduce_the_rotation_at_the_singularity_too(kind, data):
    R = kind.to_matrix(data.draw(euler_samples(kind)))
    back = kind.from_matrix(R)
    assert_close(kind.to_matrix(back), R)
    assert (back[::2] >= -math.pi).all() and (back[::2] < math.pi).all()
    if kind.name in ('euler_zyz', 'euler_zxz'):
        assert 0.0 <= back[1] <= math.pi
    else:
        assert abs(back[1]) <= 0.5 * math.pi


# Rates


@ALL
@given(q=quaternions, w=vectors)
def test_the_inverse_rate_map_makes_the_rotation_turn_with_w_in_A(kind, q, w):
    check_turning(kind, q, w, kind.rate_map_inverse, lambda R: w)


@ALL
@given(q=quaternions, w=vectors)
def test_the_inverse_body_rate_map_makes_the_rotation_turn_with_w_in_B(kind, q, w):
    check_turning(kind, q, w, kind.body_rate_map_inverse, lambda R: R @ w)


def check_turning(kind, q, w, inverse_map, expected):
    """The rates move the parameters; the matrix of the moving parameters turns with w."""
    sine = regular(kind, q)
    assume(sine > 1e-6)
    p = kind.from_quaternion(q)
    moved = kind.to_matrix(moving(p, inverse_map(p) @ w))
    R, R_rate = np.array(values(moved)), np.array(rates(moved))
    found = spatial.angular_velocity(R, R_rate)
    # Rates of the size 1 / sine cancel to a velocity of order ten.
    assert_close(found, expected(R), 100 * RATES / sine)


@ALL
@given(q=quaternions)
def test_the_rate_maps_are_left_inverses(kind, q):
    sine = regular(kind, q)
    assume(sine > 1e-6)
    p = kind.from_quaternion(q)
    assert_close(kind.rate_map(p) @ kind.rate_map_inverse(p), np.eye(3), RATES / sine)
    assert_close(kind.body_rate_map(p) @ kind.body_rate_map_inverse(p), np.eye(3), RATES / sine)
    assert kind.rate_map(p).shape == (3, kind.size)
    assert kind.rate_map_inverse(p).shape == (kind.size, 3)


@pytest.mark.parametrize(
    'kind', [*EULER.values(), ROTATION_VECTOR], ids=[*EULER, 'rotation_vector']
)
@given(data=st.data(), rate=vectors)
def test_the_rate_maps_are_the_derivative_at_the_singularity_too(kind, data, rate):
    """A velocity always follows from rates; only the way back is singular."""
    samples = euler_samples(kind) if isinstance(kind, EulerAngles) else rotation_vectors
    p = data.draw(samples)
    moved = kind.to_matrix(moving(p, rate))
    R, R_rate = np.array(values(moved)), np.array(rates(moved))
    w = spatial.angular_velocity(R, R_rate)
    assert_close(kind.rate_map(p) @ rate, w, 100 * RATES)
    assert_close(kind.body_rate_map(p) @ rate, R.T @ w, 100 * RATES)


# Singularities


@ALL_EULER
@given(data=st.data(), off=gimbal)
def test_parallel_axes_are_refused_by_name(kind, data, off):
    assume(abs(off) < 9e-9)
    proper = kind.name in ('euler_zyz', 'euler_zxz')
    at = data.draw(st.sampled_from((0.0, math.pi) if proper else (-math.pi / 2, math.pi / 2)))
    p = np.array([data.draw(angles), at + off, data.draw(angles)])
    for inverse_map in (kind.rate_map_inverse, kind.body_rate_map_inverse):
        with pytest.raises(SingularParametrizationError, match='use a quaternion') as caught:
            inverse_map(p)
        assert caught.value.parametrization == kind.name


def test_parameters_that_are_no_rotation_are_refused():
    with pytest.raises(InvalidArgumentError, match='length is not 1'):
        QUATERNION.to_matrix((0.0, 0.0, 0.0, 0.0))
    with pytest.raises(InvalidArgumentError, match='length is not 1'):
        ANGLE_AXIS.to_matrix(np.array([0.3, 1.0, 1.0, 0.0]))
    with pytest.raises(InvalidArgumentError, match='rotation matrix'):
        ROTATIONS['direction_cosines'].to_matrix(1.1 * np.eye(3).ravel())


# Operations that [Kindr] gives to all


@ALL
@given(a=quaternions, b=quaternions, v=vectors)
def test_every_parametrization_composes_inverts_and_acts(kind, a, b, v):
    p, q = kind.from_quaternion(a), kind.from_quaternion(b)
    R_a, R_b = spatial.quaternion_to_matrix(a), spatial.quaternion_to_matrix(b)
    assert_close(kind.to_matrix(kind.compose(p, q)), R_a @ R_b, 2 * ANGLE_TOLERANCE)
    assert_close(kind.to_matrix(kind.inverse(p)), R_a.T, 2 * ANGLE_TOLERANCE)
    assert_close(kind.rotate(p, v), R_a @ v, 20 * ANGLE_TOLERANCE)
    assert_close(kind.rotate_inverse(p, v), R_a.T @ v, 20 * ANGLE_TOLERANCE)


@ALL
@given(a=quaternions, v=rotation_vectors, t=st.floats(0.0, 1.0))
def test_every_parametrization_steps_and_interpolates(kind, a, v, t):
    p = kind.from_quaternion(a)
    there = kind.box_plus(p, v)
    expected = spatial.exp_matrix(v) @ spatial.quaternion_to_matrix(a)
    assert_close(kind.to_matrix(there), expected, 2 * ANGLE_TOLERANCE)
    assume(np.linalg.norm(v) < math.pi - 1e-6)
    assert_close(kind.box_minus(there, p), v, 4 * ANGLE_TOLERANCE)
    between = kind.to_matrix(kind.interpolate(p, there, t))
    expected = spatial.exp_matrix(t * v) @ spatial.quaternion_to_matrix(a)
    assert_close(between, expected, 4 * ANGLE_TOLERANCE)


POSITIONS_ALL = pytest.mark.parametrize('kind', POSITIONS.values(), ids=POSITIONS)

lengths = st.floats(0.01, 10.0)
polar_angles = st.floats(0.01, math.pi - 0.01)


def parameters_of(kind):
    """Parameters off the singular axis."""
    third = polar_angles if kind is SPHERICAL else st.floats(-10.0, 10.0)
    return st.tuples(lengths, angles, third).map(np.array)


@POSITIONS_ALL
@given(r=vectors)
def test_a_position_survives_the_way_there_and_back(kind, r):
    back = kind.to_cartesian(kind.from_cartesian(r))
    assert np.abs(back - r).max() <= GROUP * 20


def test_coordinates_are_those_of_the_lecture_notes():
    """[RD] eq. 2.6 and 2.8."""
    assert CYLINDRICAL.to_cartesian(np.array([2.0, math.pi / 6, 3.0])) == pytest.approx(
        [math.sqrt(3.0), 1.0, 3.0]
    )
    assert SPHERICAL.to_cartesian(np.array([2.0, math.pi / 2, math.pi / 3])) == pytest.approx(
        [0.0, math.sqrt(3.0), 1.0]
    )
    assert SPHERICAL.parameters == ('r', 'theta', 'phi')


@POSITIONS_ALL
@given(data=st.data(), rate=vectors)
def test_the_rate_map_is_the_derivative_of_the_position(kind, data, rate):
    p = data.draw(parameters_of(kind))
    exact = rates(kind.to_cartesian(Vector3.of(moving(p, rate))))
    assert np.abs(kind.rate_map(p) @ rate - exact).max() <= RATES * 100


@POSITIONS_ALL
@given(data=st.data())
def test_the_inverse_rate_map_is_the_inverse(kind, data):
    p = data.draw(parameters_of(kind))
    E, inverse = kind.rate_map(p), kind.rate_map_inverse(p)
    scale = np.abs(E).max() * np.abs(inverse).max()
    assert np.abs(E @ inverse - np.eye(3)).max() <= GROUP * scale
    assert np.abs(inverse @ E - np.eye(3)).max() <= GROUP * scale


@pytest.mark.parametrize(
    ('kind', 'p'),
    [
        (CYLINDRICAL, (0.0, 0.3, 1.0)),
        (SPHERICAL, (1.0, 0.3, 0.0)),
        (SPHERICAL, (1.0, 0.3, math.pi)),
        (SPHERICAL, (0.0, 0.3, 1.0)),
    ],
)
def test_on_the_axis_the_rates_are_refused_by_name(kind, p):
    with pytest.raises(SingularParametrizationError, match='z axis') as caught:
        kind.rate_map_inverse(Vector3(*p))
    assert caught.value.parametrization == kind.name
    batch = np.stack([(1.0, 0.2, 0.4), p])
    with pytest.raises(SingularError, match=kind.name):
        kind.rate_map_inverse(batch)
