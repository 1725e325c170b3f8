# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Many states side by side, in double and in single precision, and their sines and cosines."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from patience import examples
from random_robots import SEEDS, random_urdf

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel, compilation, select, trace
from dynamics_ros.kernels.graph.trace import BATCH_PART_STEPS, PART_STEPS
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm import sincos as llvm_sincos
from dynamics_ros.kernels.llvm import source as llvm_source
from dynamics_ros.kernels.llvm.line import sincos_name

LANES = llvm_compiler.platform().lanes


def everything(q, A, s):
    """Use every operation, with several shapes of inputs and outputs."""
    return {
        'angles': [
            q[0].sin() + q[1].cos() * s,
            (0.5 * q[0].sin()).asin() + (0.5 * q[1].cos()).acos(),
            q[2].tan() + q[3].atan2(s),
            (q[4] * q[4] + 0.5).log() + q[0].exp(),
            (q[1] * q[1] + 1.0).sqrt() * abs(q[2]),
            q[3].minimum(q[4]) - q[0].maximum(0.25),
            select(q[0].less(q[1]), q[2], 3.0) + select(q[3].less_equal(s), 1.0, q[4]),
            1.0 / (q[0] * q[0] + 3.0) - q[1] / (s * s + 2.0),
        ],
        'product': [[sum(A[i][k] * A[k][j] for k in range(3)) for j in range(3)] for i in range(3)],
        'same': [q[4], q[0].sin(), 2.5],
        's': s * s - 1.0,
    }


@pytest.fixture(scope='module')
def kernel():
    return Kernel(trace(everything, {'q': 5, 'A': (3, 3), 's': ()}, 'everything'), 'llvm')


def inputs(states, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(states, 5)),
        rng.normal(size=(states, 3, 3)),
        rng.normal(size=states),
    )


def state_by_state(kernel, arrays):
    rows = [kernel.call(*[x if x.ndim else float(x) for x in row]) for row in zip(*arrays)]
    return [np.array(column) for column in zip(*rows)]


def assert_equal(results, expected):
    for result, wanted in zip(results, expected):
        # A compiler may fuse a*b + c in one of the two.
        np.testing.assert_allclose(result, wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize('states', [compilation.BATCH_STATES + i for i in range(10)] + [1, 7, 1000])
def test_a_batch_of_any_size_is_what_its_states_are_alone(kernel, states):
    arrays = inputs(states)
    assert_equal(kernel(*arrays), state_by_state(kernel, arrays))


@pytest.mark.parametrize('columns', range(1, 14))
def test_rows_of_any_length(columns):
    kernel = Kernel(trace(lambda x: [e + 1.0 for e in x], {'x': columns}, 'next'), 'llvm')
    x = np.arange(45.0 * columns).reshape(45, columns)
    np.testing.assert_array_equal(kernel(x), x + 1.0)


def test_nothing_is_written_or_read_beyond_a_batch():
    kernel = Kernel(trace(lambda x: [e + 1.0 for e in x], {'x': 3}, 'next'), 'llvm')
    states = compilation.BATCH_STATES + 1
    room = np.full((states + 2 * LANES, 3), np.nan)
    x = room[LANES:-LANES]
    x[:] = 0.0
    out = np.full_like(room, 7.0)
    kernel(x, out=out[LANES:-LANES])
    np.testing.assert_array_equal(out[LANES:-LANES], 1.0)
    np.testing.assert_array_equal(out[:LANES], 7.0)
    np.testing.assert_array_equal(out[-LANES:], 7.0)


def test_inputs_broadcast_and_may_have_any_stride(kernel):
    q, A, s = inputs(80)
    wide = np.zeros((80, 11))
    wide[:, 3:8] = q
    expected = state_by_state(kernel, (q, A[:1].repeat(80, axis=0), s))
    assert_equal(kernel(wide[:, 3:8], A[0], s), expected)
    assert_equal(kernel(q[::-1], A[0], s[::-1]), [x[::-1] for x in expected])
    grid = kernel(q[:, np.newaxis], A[0], s)
    assert_equal([x[5, 7] for x in grid], [x[7] for x in kernel(q[5], A[0], s)])


@pytest.mark.parametrize('place', [0, 3, 31, 32, 40, 44])
def test_one_bad_number_is_found_wherever_it_is(kernel, place):
    for argument, name in enumerate('qAs'):
        arrays = inputs(45)
        arrays[argument].reshape(45, -1)[place, -1] = math.nan
        with pytest.raises(InvalidArgumentError, match=f'{name}: nan'):
            kernel(*arrays)


def test_long_traces_are_compiled_in_parts():
    def long(x):
        values = list(x)
        for i in range(900):
            a, b = values[(7 * i) % len(values)], values[-1]
            values.append(select(x[0].less(x[1]), a, b) * 0.5 + (a * 0.3 + b).sin() * x[i % 4])
        return values[-40:]

    kernel = Kernel(trace(long, {'x': 4}, 'long'), 'llvm')
    assert kernel.operation_count > 2 * max(PART_STEPS, BATCH_PART_STEPS)
    # Small enough that an error fades from step to step.
    x = np.random.default_rng(1).uniform(-0.4, 0.4, size=(50, 4))
    expected = Kernel(kernel.trace, 'python')(x)
    np.testing.assert_allclose(kernel(x), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(x[0]), expected[0], rtol=1e-12, atol=1e-13)


def test_parts_of_a_long_trace_may_have_nothing_in_common():
    # As the quaternions of many frames, each of which is computed by itself.
    count = 2 * max(PART_STEPS, BATCH_PART_STEPS)
    traced = trace(lambda x: [x[k] * x[k + 1] for k in range(count)], {'x': count + 1}, 'apart')
    x = np.random.default_rng(2).uniform(-1.0, 1.0, size=(50, count + 1))
    kernel = Kernel(traced, 'llvm')
    assert kernel.backend == 'llvm'
    np.testing.assert_array_equal(kernel(x[0]), x[0, :-1] * x[0, 1:])
    np.testing.assert_array_equal(kernel(x), x[:, :-1] * x[:, 1:])


ROUNDING = 3e-5
"""Of the largest result: the rounding unit is 6e-8, sums of some hundred terms cancel in part."""

SOLVED = 2e-3
"""Of the largest result, where a mass matrix with a condition number of 1e4 and more is solved."""

ULPS = 1.7
"""Rounding the angle's rest, the polynomial and the result takes half a unit each."""

WIDE = pytest.mark.skipif(LANES == 1, reason='this processor has no such vectors')


def everything_float32(q, A, s):
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
def kernel_float32():
    return Kernel(trace(everything_float32, {'q': 5, 'A': (3, 3), 's': ()}, 'everything'), 'llvm')


def inputs_float32(states, dtype=np.float32):
    rng = np.random.default_rng(states)
    shapes = ((states, 5), (states, 3, 3), (states,))
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def assert_close(single, double, tolerance=ROUNDING):
    assert single.dtype == np.float32
    scale = max(1.0, float(np.abs(double).max(initial=0.0)))
    np.testing.assert_allclose(single, double, rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize('states', [compilation.BATCH_STATES + i for i in range(17)] + [0, 1, 1000])
def test_a_batch_of_any_size_is_that_of_double_precision_rounded(kernel_float32, states):
    arrays = inputs_float32(states)
    for single, double in zip(
        kernel_float32.float32(*arrays), kernel_float32(*arrays), strict=True
    ):
        assert single.shape == double.shape
        assert_close(single, double)


@WIDE
def test_large_batches_are_computed_in_single_precision(kernel_float32):
    arrays = inputs_float32(1000)
    rounded = [x.astype(np.float32) for x in kernel_float32(*arrays)]
    computed = kernel_float32.float32(*arrays)
    assert any((x != y).any() for x, y in zip(computed, rounded))


def test_arguments_broadcast_and_are_converted(kernel_float32):
    q, A, _ = inputs_float32(64, np.float64)
    shared = kernel_float32.float32(q.reshape(8, 8, 5), A[0], 0.5)
    for single, double in zip(shared, kernel_float32(q.reshape(8, 8, 5), A[0], 0.5), strict=True):
        assert single.shape == double.shape
        assert_close(single, double)


def test_out_is_filled_and_has_to_be_of_single_precision(kernel_float32):
    arrays = inputs_float32(40)
    wanted = kernel_float32.float32(*arrays)
    out = [np.full_like(x, np.nan) for x in wanted]
    filled = kernel_float32.float32(*arrays, out=out)
    for x, y, z in zip(filled, out, wanted, strict=True):
        assert x is y
        np.testing.assert_array_equal(y, z)
    with pytest.raises(InvalidArgumentError, match='writeable float32 array'):
        kernel_float32.float32(*arrays, out=[x.astype(np.float64) for x in wanted])


@pytest.mark.parametrize('states', [1, 40])
def test_a_number_that_is_none_is_refused_by_name(kernel_float32, states):
    q, A, s = inputs_float32(states)
    A[-1, 1, 2] = np.nan
    with pytest.raises(InvalidArgumentError, match=r'A: nan at \[.*1, 2\]'):
        kernel_float32.float32(q, A, s)


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


SINCOS_ULPS = 0.85
"""Rounding the result takes half a unit in the last place; the polynomials and the last sum take
some of the rest, and 0.75 is the largest that was ever seen."""


def sines_and_cosines(angles, width):
    """Compute with the function of so many angles at once, which a trace of so many uses."""

    def circle(x):
        return {'s': [e.sin() for e in x], 'c': [e.cos() for e in x]}

    kernel = Kernel(trace(circle, {'x': width}, 'circle'), 'llvm')
    assert f'@{sincos_name(width)}(' in llvm_source.emit(kernel.trace, llvm_compiler.platform())
    rows = np.resize(angles, (-(-len(angles) // width), width))
    results = [kernel.call(row) for row in rows]
    return [np.concatenate([x[i] for x in results])[: len(angles)] for i in (0, 1)]


def errors_in_ulps(computed, function, angles):
    with mpmath.workprec(250):
        exact = [function(mpmath.mpf(float(x))) for x in angles]
        return [
            float(abs(mpmath.mpf(float(y)) - e) / math.ulp(float(e)))
            for y, e in zip(computed, exact)
        ]


def angles_of(kind):
    rng = np.random.default_rng(0)
    if kind == 'of a joint':
        return rng.uniform(-2 * np.pi, 2 * np.pi, 1500)
    if kind == 'after many turns':
        return rng.uniform(-llvm_sincos.LIMIT, llvm_sincos.LIMIT, 1000)
    if kind == 'beyond the limit':
        return np.concatenate(
            [rng.uniform(1.0, 100.0, 200) * llvm_sincos.LIMIT, 10.0 ** rng.uniform(7, 60, 100)]
        )
    if kind == 'tiny':
        return np.concatenate([10.0 ** rng.uniform(-307, -3, 500), [5e-324, 0.0]])
    turns = np.concatenate([np.arange(-40, 41), rng.integers(-660_000, 660_000, 400)])
    middle = turns * (np.pi / 2)
    return np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])


KINDS = ['of a joint', 'after many turns', 'beyond the limit', 'tiny', 'near a quarter turn']


@pytest.mark.parametrize('kind', KINDS)
def test_are_exact_for_angles(kind):
    angles = angles_of(kind)
    sines, cosines = sines_and_cosines(angles, LANES)
    # Beyond the limit it is the mathematical library, which promises one unit.
    allowed = 1.0 if kind == 'beyond the limit' else SINCOS_ULPS
    assert max(errors_in_ulps(sines, mpmath.sin, angles)) <= allowed
    assert max(errors_in_ulps(cosines, mpmath.cos, angles)) <= allowed
