# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for positions, rotations and motions, the delicate places included."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from dynamics_ros.spatial import quaternion_exp

components = st.floats(-10.0, 10.0, allow_subnormal=False)
vectors = st.tuples(components, components, components).map(np.array)
sixes = st.tuples(*[components] * 6).map(np.array)
angles = st.floats(-math.pi, math.pi)

# Within 1e-7, down to where the difference to zero or pi is the last bit or nothing.
tiny = st.one_of(
    st.just(0.0),
    st.integers(-17, -7).flatmap(lambda k: st.floats(1.0, 10.0).map(lambda x: x * 10.0 ** (k - 1))),
)


def _unit(v):
    return v / np.linalg.norm(v)


units = st.one_of(
    vectors.filter(lambda v: np.linalg.norm(v) > 1e-3).map(_unit),
    st.sampled_from([*np.eye(3), *-np.eye(3)]),
)

turns = st.one_of(
    st.floats(0.0, math.pi),
    tiny,
    tiny.map(lambda x: math.pi - x),
    # Around the two switches between series and closed form, and every size between.
    st.floats(0.49, 0.51),
    st.floats(1.9e-4, 2.1e-4),
    st.floats(-7.0, 0.0).map(lambda exponent: 10.0**exponent),
)
"""Angles in [0, pi], many within 1e-7 of zero and of pi."""

rotation_vectors = st.builds(lambda unit, turn: unit * turn, units, turns)
quaternions = st.builds(
    lambda v, sign: quaternion_exp(v) * sign, rotation_vectors, st.sampled_from([-1.0, 1.0])
)
