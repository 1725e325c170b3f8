# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Many states side by side, and their sines and cosines."""

from __future__ import annotations

import math
import threading

import mpmath
import numpy as np
import pytest
from c_library import everything

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, select, trace
from dynamics_ros.kernels import kernel as compilation
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm import runtime as llvm_runtime
from dynamics_ros.kernels.llvm import source as llvm_source
from dynamics_ros.kernels.llvm.line import BATCH_PART_STEPS, PART_STEPS, sincos_name

LANES = llvm_compiler.platform().lanes


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


def test_a_batch_needs_little_of_the_stack_of_a_thread():
    kernel = Kernel(trace(lambda x: [x[0] + x[-1]], {'x': 20_000}, 'long'), 'llvm')
    x, before, sums = np.ones((2 * compilation.BATCH_STATES, 20_000)), threading.stack_size(), []
    threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: sums.append(kernel(x)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    np.testing.assert_array_equal(sums[0], 2.0)


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
        return rng.uniform(-llvm_runtime.LIMIT, llvm_runtime.LIMIT, 1000)
    if kind == 'beyond the limit':
        return np.concatenate(
            [rng.uniform(1.0, 100.0, 200) * llvm_runtime.LIMIT, 10.0 ** rng.uniform(7, 60, 100)]
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
