# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Loops in traces: every back end makes the same turns and ends in the same state."""

from __future__ import annotations

import numpy as np
import pytest
from c_library import assert_c_agrees, needs_compiler

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.spatial.scalar import repeat, sin, sqrt, where_less

BACKENDS = ('llvm', 'python')

# Newton's method ends within rounding of the root; a fused a*b + c moves it by as little.
ROUNDING = 1e-14

TURNS = 60
CLOSE = 1e-24
"""Square of the relative step that ends the search for a root."""


def root(a, first=1.0):
    """The third root of a and the number of turns, by Newton's method."""

    def turn(state, a):
        x, count = state
        step = (a - x * x * x) / (3.0 * x * x)
        x = x + step
        return [x, count + 1.0], step * step - CLOSE * x * x

    return repeat(turn, [first, 0.0], TURNS, a)


@pytest.fixture(scope='module', params=BACKENDS)
def root_kernel(request):
    return Kernel(trace(root, {'a': ()}, 'root'), request.param)


@pytest.mark.parametrize('states', [3, 40, 203])
def test_each_lane_of_a_batch_ends_when_it_is_done(root_kernel, states):
    a = 10.0 ** np.random.default_rng(states).uniform(-3.0, 9.0, states)
    x, turns = root_kernel(a).T
    assert len(set(turns)) > 2
    assert x == pytest.approx(np.cbrt(a), rel=ROUNDING)
    assert turns.tolist() == [root(float(value))[1] for value in a]


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('go_on', [True, 1.0, False, 0.0, -1.0])
def test_it_ends_at_the_limit_or_after_one_turn(backend, go_on):
    def function(x):
        return repeat(lambda state: ([state[0] + x0], go_on), [x], 7)[0]

    x0 = 0.5
    kernel = Kernel(trace(function, {'x': ()}, 'function'), backend)
    turns = 7 if go_on > 0 else 1
    assert kernel(1.0) == 1.0 + turns * 0.5 == function(1.0)
    assert kernel(np.arange(40.0)).tolist() == (np.arange(40.0) + turns * 0.5).tolist()


def orbit(x, A, shift):
    """A trace with a straight line, a loop with captured values, and a straight line."""
    s = sin(x[0]) + x[1]

    def turn(state, A, shift, s):
        a, b, count = state
        a, b = (
            0.3 * sin(A[0][0] * a + A[0][1] * b) + shift[0] * s,
            0.3 * sin(A[1][0] * a + A[1][1] * b) + shift[1] * s,
        )
        return [a, b, count + 1.0], where_less(count, 3.0 + 5.0 * (s * s), 1.0, 0.0)

    a, b, count = repeat(turn, [s, -s, 0.0], 50, A, shift, s)
    return {'point': [a + s, sqrt(b * b + 1.0)], 'count': count, 'angle': sin(a)}


ORBIT = {'x': 2, 'A': (2, 2), 'shift': 2}


def orbit_inputs(states):
    rng = np.random.default_rng(states)
    return rng.normal(size=(states, 2)), rng.normal(size=(states, 2, 2)), rng.normal(size=(2,))


@pytest.mark.parametrize('backend', BACKENDS)
def test_straight_lines_before_and_after_it(backend):
    kernel = Kernel(trace(orbit, ORBIT, 'orbit'), backend)
    assert kernel.backend == backend
    x, A, shift = orbit_inputs(50)
    batch = kernel(x, A, shift)
    assert len(set(batch[1])) > 5
    for i in range(50):
        wanted = orbit(x[i].tolist(), A[i].tolist(), shift.tolist())
        one = kernel(x[i], A[i], shift)
        for result, many, value in zip(one, batch, wanted.values()):
            assert result == pytest.approx(value, abs=1e-13)
            assert many[i] == pytest.approx(value, abs=1e-13)


@pytest.mark.parametrize('backend', BACKENDS)
def test_loops_inside_loops(backend):
    def power_sum(x, n):
        """The sum of x^k for k = 1 ... n, each power by multiplication."""

        def outer(state, x, n):
            total, k = state

            def inner(state, x, k):
                product, count = state
                return [product * x, count + 1.0], where_less(count + 1.0, k, 1.0, 0.0)

            product, _ = repeat(inner, [1.0, 0.0], 20, x, k)
            return [total + product, k + 1.0], n - k

        return repeat(outer, [0.0, 1.0], 20, x, n)[0]

    kernel = Kernel(trace(power_sum, {'x': (), 'n': ()}, 'power_sum'), backend)
    x, n = np.linspace(0.1, 1.3, 64), np.arange(64.0) % 9 + 1
    wanted = [sum(a**k for k in range(1, int(b) + 1)) for a, b in zip(x, n)]
    assert kernel(x, n) == pytest.approx(np.array(wanted), rel=1e-14)
    assert kernel(1.2, 8.0) == pytest.approx(power_sum(1.2, 8.0), rel=1e-14)


def test_long_loops_are_compiled_in_parts():
    def turn(state, x):
        a, b = state
        for i in range(700):
            a, b = b, 0.5 * a - 0.25 * b * b + x / (2.0 + i)
        return [a, b], where_less(a * a, 0.04, 1.0, 0.0)

    def function(x):
        before = x
        for _ in range(600):
            before = 0.5 * before * before - 0.25
        a, b = repeat(turn, [before, 0.1], 5, x)
        after = a
        for _ in range(600):
            after = after * b - 0.5 * after + before
        return after

    kernel = Kernel(trace(function, {'x': ()}, 'long'), 'llvm')
    x = np.linspace(0.0, 1.0, 50)
    # A contraction: rounding stays as small as it is in one turn.
    assert kernel(x) == pytest.approx(np.array([function(float(y)) for y in x]), abs=1e-13)
    assert kernel(0.3) == pytest.approx(function(0.3), abs=1e-13)


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('states', [(), (3,), (40,)])
def test_results_that_are_not_finite_may_come_out_of_it(backend, states):
    traced = trace(
        lambda a: 1.0 / (root(a)[0] - 1.0),
        {'a': ()},
        'f',
        finite_results=lambda _: ValueError('!'),
    )
    kernel = Kernel(traced, backend)
    a = np.full(states, 8.0)
    assert kernel(a) == pytest.approx(np.ones(states), rel=1e-13)
    np.atleast_1d(a)[-1:] = 1.0
    with pytest.raises(ValueError, match='!'):
        kernel(a)


@needs_compiler
def test_exported_c_agrees_with_the_plain_trace(tmp_path):
    x, A, shift = orbit_inputs(20)
    assert_c_agrees(trace(orbit, ORBIT, 'orbit'), tmp_path, [(*row, shift) for row in zip(x, A)])


def held(body, limit=3):
    """A function that repeats a body that may read y without capturing it."""
    return lambda x, y: repeat(lambda state: body(state, y), [x], limit)


@pytest.mark.parametrize(
    ('function', 'error', 'words'),
    [
        (held(lambda s, y: ([s[0] * y], True)), ValueError, 'values of two different traces'),
        (held(lambda s, y: ([y], True)), InvalidArgumentError, 'body'),
        (held(lambda s, y: ([*s, 1.0], True)), ValueError, 'next state'),
        (held(lambda s, y: (s, True), 0), ValueError, '0 turns'),
        *((held(lambda s, y: (s, True), limit), TypeError, '') for limit in (1.5, None, '3')),
    ],
)
def test_wrong_loops_are_refused(function, error, words):
    with pytest.raises(error, match=words or None):
        trace(function, {'x': (), 'y': ()}, 'function')
    if words not in ('values of two different traces', 'body'):
        with pytest.raises(error, match=words or None):
            function(1.0, 2.0)
