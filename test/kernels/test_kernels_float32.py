# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Many states in single precision: results as in double precision to some digits, or its errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from patience import examples
from random_robots import SEEDS, random_urdf

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel, compilation, select, trace
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm import sincos as llvm_sincos

ROUNDING = 3e-5
"""Of the largest result: the rounding unit is 6e-8, sums of some hundred terms cancel in part."""

SOLVED = 2e-3
"""Of the largest result, where a mass matrix with a condition number of 1e4 and more is solved."""

ULPS = 1.7
"""Rounding the angle's rest, the polynomial and the result takes half a unit each."""

WIDE = pytest.mark.skipif(
    llvm_compiler.platform().processor.lanes == 1, reason='this processor has no such vectors'
)


def everything(q, A, s):
    """Use every operation, with several shapes of inputs and outputs."""
    return {
        'angles': [
            q[0].sin() + q[1].cos() * s,
            (0.5 * q[0].sin()).asin() + (0.5 * q[1].cos()).acos(),
            (0.5 * q[2].sin()).tan() + q[3].atan2(s * s + 0.5),
            (q[4] * q[4] + 0.5).log() + q[0].exp() + q[1].tanh(),
            q[2].erfc(),
            (q[1] * q[1] + 1.0).sqrt() * abs(q[2]),
            q[3].minimum(q[4]) - q[0].maximum(0.25),
            select(q[0].less(q[1]), 2.0, 3.0) + select(q[3].less_equal(s), 1.0, 4.0),
            1.0 / (q[0] * q[0] + 3.0) - q[1] / (s * s + 2.0),
        ],
        'product': [[sum(A[i][k] * A[k][j] for k in range(3)) for j in range(3)] for i in range(3)],
        'same': [q[4], q[0].sin(), 2.5],
        's': s * s - 1.0,
    }


@pytest.fixture(scope='module')
def kernel():
    return Kernel(trace(everything, {'q': 5, 'A': (3, 3), 's': ()}, 'everything'), 'llvm')


def inputs(states, dtype=np.float32):
    rng = np.random.default_rng(states)
    shapes = ((states, 5), (states, 3, 3), (states,))
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def assert_close(single, double, tolerance=ROUNDING):
    assert single.dtype == np.float32
    scale = max(1.0, float(np.abs(double).max(initial=0.0)))
    np.testing.assert_allclose(single, double, rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize('states', [compilation.BATCH_STATES + i for i in range(17)] + [0, 1, 1000])
def test_a_batch_of_any_size_is_that_of_double_precision_rounded(kernel, states):
    arrays = inputs(states)
    for single, double in zip(kernel.float32(*arrays), kernel(*arrays), strict=True):
        assert single.shape == double.shape
        assert_close(single, double)


@WIDE
def test_large_batches_are_computed_in_single_precision(kernel):
    arrays = inputs(1000)
    rounded = [x.astype(np.float32) for x in kernel(*arrays)]
    computed = kernel.float32(*arrays)
    assert any((x != y).any() for x, y in zip(computed, rounded))


def test_arguments_broadcast_and_are_converted(kernel):
    q, A, _ = inputs(64, np.float64)
    shared = kernel.float32(q.reshape(8, 8, 5), A[0], 0.5)
    for single, double in zip(shared, kernel(q.reshape(8, 8, 5), A[0], 0.5), strict=True):
        assert single.shape == double.shape
        assert_close(single, double)


def test_out_is_filled_and_has_to_be_of_single_precision(kernel):
    arrays = inputs(40)
    wanted = kernel.float32(*arrays)
    out = [np.full_like(x, np.nan) for x in wanted]
    filled = kernel.float32(*arrays, out=out)
    for x, y, z in zip(filled, out, wanted, strict=True):
        assert x is y
        np.testing.assert_array_equal(y, z)
    with pytest.raises(InvalidArgumentError, match='writeable float32 array'):
        kernel.float32(*arrays, out=[x.astype(np.float64) for x in wanted])


@pytest.mark.parametrize('states', [1, 40])
def test_a_number_that_is_none_is_refused_by_name(kernel, states):
    q, A, s = inputs(states)
    A[-1, 1, 2] = np.nan
    with pytest.raises(InvalidArgumentError, match=r'A: nan at \[.*1, 2\]'):
        kernel.float32(q, A, s)


def test_what_single_precision_cannot_hold_is_computed_in_double_precision():
    ratio = Kernel(trace(lambda x: [x[0] / x[1]], {'x': 2}, 'ratio'), 'llvm')
    np.testing.assert_allclose(ratio.float32(np.full((64, 2), [3e200, 1e200]))[:, 0], 3.0)


@pytest.mark.slow
@examples(2)
@given(SEEDS)
def test_dynamics_of_random_robots(seed):
    robot = Robot.from_urdf(random_urdf(seed), backend='llvm')
    rng = np.random.default_rng(seed)
    q = np.array([robot.random_configuration(rng) for _ in range(48)])
    v, a = rng.normal(size=(2, 48, robot.nv))
    frame = robot.frame_names[-1]
    for tolerance, name, arrays in (
        (ROUNDING, ('inverse_dynamics',), (q, v, a)),
        (ROUNDING, ('mass_matrix',), (q,)),
        (ROUNDING, ('forward_kinematics', frame), (q,)),
        (ROUNDING, ('jacobian', frame, 'local'), (q,)),
        (SOLVED, ('forward_dynamics',), (q, v, a)),
    ):
        kernel = robot.kernel(*name)
        # Of the same numbers, as rounding the inputs is another question.
        rounded = [x.astype(np.float32).astype(np.float64) for x in arrays]
        assert_close(kernel.float32(*rounded), kernel(*rounded), tolerance)


def test_singular_ones_are_told_as_in_double_precision():
    weightless = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    robot = Robot.from_urdf(weightless, backend='llvm')
    with pytest.raises(SingularError):
        robot.kernel('forward_dynamics').float32(*np.zeros((3, 64, 1)))


@pytest.mark.parametrize(
    'angles',
    [
        np.random.default_rng(0).uniform(-2 * np.pi, 2 * np.pi, 4000),
        np.random.default_rng(1).uniform(-1.0, 1.0, 4000) * llvm_sincos.OF_SINGLES.limit,
        np.random.default_rng(2).uniform(1.0, 1e6, 4000) * llvm_sincos.OF_SINGLES.limit,
        np.arange(-200, 200) * np.pi / 2,
    ],
    ids=['of a joint', 'after many turns', 'beyond the limit', 'multiples of a quarter turn'],
)
def test_sine_and_cosine_are_right_to_the_last_bits(angles):
    circle = Kernel(trace(lambda x: [x.sin(), x.cos()], {'x': ()}, 'circle'), 'llvm')
    angles = angles.astype(np.float32)
    found = circle.float32(angles).astype(np.float64)
    exact = np.array([[math.sin(x), math.cos(x)] for x in angles.astype(np.float64)])
    units = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    assert (np.abs(found - exact) / units).max() < ULPS
