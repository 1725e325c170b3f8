# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One implementation for floats, arrays and symbols: all three give the same numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from spatial_samples import vectors
from tolerances import EXACT

from dynamics_ros import spatial
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import trace
from dynamics_ros.kernels.source import PlainFunction
from dynamics_ros.spatial import (
    POSITIONS,
    ROTATIONS,
    Inertia,
    Motion,
    Transform,
    Vector3,
    scalar,
    stack,
)


def nested(value):
    """What a function of the algebra returns, as nested lists."""
    return [nested(x) for x in value] if hasattr(value, '__iter__') else value


# name: (function of flat lists, flat inputs); the same for floats, arrays and symbols.
CASES = {
    'quaternion_to_matrix': (lambda q: spatial.quaternion_to_matrix(tuple(q)), 'q'),
    'matrix_to_quaternion': (
        lambda q: spatial.matrix_to_quaternion(spatial.quaternion_to_matrix(tuple(q))),
        'q',
    ),
    'quaternion_rotate': (lambda q, v: spatial.quaternion_rotate(tuple(q), Vector3.of(v)), 'qv'),
    'quaternion_exp': (lambda v: spatial.quaternion_exp(Vector3.of(v)), 'v'),
    'quaternion_log': (lambda q: spatial.quaternion_log(tuple(q)), 'q'),
    'exp_matrix': (lambda v: spatial.exp_matrix(Vector3.of(v)), 'v'),
    'exp_left_jacobian': (lambda v: spatial.exp_left_jacobian(Vector3.of(v)), 'v'),
    'log_left_jacobian': (lambda v: spatial.log_left_jacobian(Vector3.of(v)), 'v'),
    'box_plus': (lambda q, v: spatial.box_plus(tuple(q), Vector3.of(v)), 'qv'),
    'slerp': (lambda q, p: spatial.slerp(tuple(q), tuple(p), 0.3), 'qq'),
    'transform exp log': (
        lambda v, w: Transform.exp(Motion(Vector3.of(v), Vector3.of(w))).log().components(),
        'vv',
    ),
}
for name, kind in ROTATIONS.items():
    CASES[f'{name} from_quaternion'] = (lambda q, k=kind: k.from_quaternion(tuple(q)), 'q')
    CASES[f'{name} to_matrix'] = (
        lambda q, k=kind: k.to_matrix(k.from_quaternion(tuple(q))),
        'q',
    )
    CASES[f'{name} rate_map'] = (lambda q, k=kind: k.rate_map(k.from_quaternion(tuple(q))), 'q')
    CASES[f'{name} body_rate_map_inverse'] = (
        lambda q, k=kind: k.body_rate_map_inverse(k.from_quaternion(tuple(q))),
        'q',
    )
for name, kind in POSITIONS.items():
    CASES[f'{name} from_cartesian'] = (lambda v, k=kind: k.from_cartesian(Vector3.of(v)), 'v')
    CASES[f'{name} rate_map_inverse'] = (
        lambda v, k=kind: k.rate_map_inverse(k.from_cartesian(Vector3.of(v))),
        'v',
    )


@pytest.mark.parametrize(('function', 'kinds'), CASES.values(), ids=CASES)
@examples(10)
@given(data=st.data())
def test_floats_arrays_and_traces_agree(function, kinds, data):
    # Regular rotations: what happens at singularities is tested by name elsewhere.
    sample = {
        'q': st.tuples(*[st.floats(0.2, 0.5)] * 3).map(np.array).map(spatial.quaternion_exp),
        'v': st.tuples(*[st.floats(0.1, 1.0)] * 3).map(np.array),
    }
    states = [[data.draw(sample[kind]) for kind in kinds] for _ in range(2)]
    expected = [nested(function(*(list(map(float, x)) for x in state))) for state in states]

    batches = [np.stack([state[i] for state in states]) for i in range(len(kinds))]
    over_arrays = stack(function(*(list(batch.T) for batch in batches)), (2,))
    scale = EXACT * max(1.0, np.abs(expected).max())
    assert np.abs(over_arrays - np.array(expected)).max() <= scale

    inputs = {f'x{i}': len(batch.T) for i, batch in enumerate(batches)}
    traced = trace(lambda *x: nested(function(*x)), inputs, 'traced')
    for state, value in zip(states, expected, strict=True):
        ours = PlainFunction(traced)(*(x.tolist() for x in state))
        assert np.abs(np.array(ours) - np.ravel(value)).max() <= scale


def test_a_turn_about_an_axis_of_the_frame_folds_to_an_elementary_rotation():
    """[RD] eq. 2.26 to 2.28: one sine and one cosine, nothing else to compute."""
    for axis in np.eye(3):
        traced = trace(
            lambda angle, k=axis: nested(spatial.rotation_about(Vector3.of(k.tolist()), angle)),
            {'angle': ()},
            'elementary',
        )
        assert set(traced.operation_counts) <= {'sin', 'cos', 'negate'}


# Arrays


def test_leading_axes_broadcast():
    q = spatial.quaternion_exp(np.random.default_rng(0).normal(size=(5, 1, 3)))
    v = np.random.default_rng(1).normal(size=(4, 3))
    assert spatial.quaternion_rotate(q, v).shape == (5, 4, 3)
    assert spatial.quaternion_to_matrix(q).shape == (5, 1, 3, 3)
    assert spatial.slerp(q, q, np.linspace(0.0, 1.0, 7)).shape == (5, 7, 4)
    assert spatial.rotation_about(np.array([0.0, 0.0, 1.0]), np.zeros((2, 3))).shape == (2, 3, 3, 3)
    assert spatial.ROTATIONS['euler_zyx'].rate_map(np.zeros((2, 6, 3))).shape == (2, 6, 3, 3)
    for kind in POSITIONS.values():
        assert kind.rate_map(np.ones((2, 6, 3))).shape == (2, 6, 3, 3)


@pytest.mark.parametrize(
    'call',
    [
        lambda: spatial.quaternion_exp(np.zeros(4)),
        lambda: spatial.quaternion_to_matrix(np.zeros((2, 3))),
        lambda: spatial.log_matrix(np.zeros((4, 4))),
        lambda: spatial.quaternion_rotate(np.zeros(4), np.array(1.0)),
        lambda: Motion.from_array(np.zeros(5)),
        lambda: Transform.from_array(np.eye(3)),
        lambda: Inertia.from_array(np.zeros(6)),
    ],
)
def test_a_wrong_shape_is_refused_with_the_right_one(call):
    with pytest.raises(InvalidArgumentError, match=r'expected an array of shape \(\.\.\., '):
        call()


# Elementary functions


@given(a=st.floats(-2.0, 2.0), b=st.floats(-2.0, 2.0))
def test_either_side_of_a_comparison_may_be_an_array_or_a_symbol(a, b):
    expected = 1.0 if a < b else 2.0
    assert scalar.where_less(a, b, 1.0, 2.0) == expected
    assert scalar.where_less(np.array([a]), b, 1.0, 2.0) == expected
    assert scalar.where_less(a, np.array([b]), 1.0, 2.0) == expected
    left = trace(lambda x: scalar.where_less(x, b, 1.0, 2.0), {'x': ()}, 'left')
    right = trace(lambda x: scalar.where_less(a, x, 1.0, 2.0), {'x': ()}, 'right')
    assert PlainFunction(left)(a) == PlainFunction(right)(b) == expected


@given(v=vectors)
def test_no_number_warns_on_the_way(v):
    """Both branches of a choice are computed; neither may divide by zero."""
    batch = np.stack([v, np.zeros(3), 1e-200 * v])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        q = spatial.quaternion_exp(batch)
        for kind in ROTATIONS.values():
            kind.to_matrix(kind.from_quaternion(q))
        spatial.log_matrix(spatial.quaternion_to_matrix(q))
        spatial.exp_left_jacobian(batch)
