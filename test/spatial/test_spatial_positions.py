# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions in Cartesian, cylindrical and spherical coordinates, and their rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dual_numbers import moving, rates
from hypothesis import given
from hypothesis import strategies as st
from spatial_samples import angles, vectors
from tolerances import GROUP, RATES

from dynamics_ros.errors import SingularError, SingularParametrizationError
from dynamics_ros.spatial import CYLINDRICAL, POSITIONS, SPHERICAL, Vector3

ALL = pytest.mark.parametrize('kind', POSITIONS.values(), ids=POSITIONS)

lengths = st.floats(0.01, 10.0)
polar_angles = st.floats(0.01, math.pi - 0.01)


def parameters_of(kind):
    """Parameters off the singular axis."""
    third = polar_angles if kind is SPHERICAL else st.floats(-10.0, 10.0)
    return st.tuples(lengths, angles, third).map(np.array)


@ALL
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


@ALL
@given(data=st.data(), rate=vectors)
def test_the_rate_map_is_the_derivative_of_the_position(kind, data, rate):
    p = data.draw(parameters_of(kind))
    exact = rates(kind.to_cartesian(Vector3.of(moving(p, rate))))
    assert np.abs(kind.rate_map(p) @ rate - exact).max() <= RATES * 100


@ALL
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
