# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trace exported as C compiles without a warning and computes the same."""

from __future__ import annotations

import ctypes
import math
import re

import numpy as np
import pytest
from c_library import VECTOR, compiled, needs_compiler

from dynamics_ros.kernels import PlainFunction, c_source, select, trace
from dynamics_ros.kernels.source import PART_STEPS


def everything(q, A, s, double):
    """Use every operation, and names that mean something in C."""
    return {
        'result': [
            q[0] + q[1] * s - 0.25,
            -(q[0] * q[1]) / (s + 2.0),
            q[0] - (q[1] - s),
            (q[0].sin() - q[1].cos()).tan(),
            (0.5 * q[0].sin()).asin() + (0.5 * q[1].cos()).acos(),
            (q[0] * q[0] + 1.0).sqrt() * abs(q[1]),
            q[0].exp() + (q[1] * q[1] + 0.5).log(),
            q[0].atan2(s),
            q[0].minimum(q[1]) + q[1].maximum(0.5),
            select(q[0].less(s), q[1], 3.0),
            select(q[0].less_equal(-1e300), q[1], 1e-300),
            1.0 / (q[0] * q[0] + 3.0) * (1.0 / (q[0] * q[0] + 3.0) + s),
            2.0,
        ],
        'int': [[A[i][0] * double[j] + A[i][1] for j in range(3)] for i in range(2)],
        's': s * s,
    }


@pytest.fixture(scope='module')
def traced():
    inputs = {'q': 2, 'A': (2, 2), 's': (), 'double': 3}
    return trace(everything, inputs, 'everything', 'all operations /* and a comment */')


@needs_compiler
def test_exported_c_agrees_with_the_plain_trace(traced, tmp_path):
    function = compiled(c_source(traced), tmp_path).everything
    function.argtypes = [VECTOR, VECTOR, ctypes.c_double, VECTOR, VECTOR, VECTOR, VECTOR]
    function.restype = None
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, A, double = rng.normal(size=2), rng.normal(size=(2, 2)), rng.normal(size=3)
        s = float(rng.uniform(0.1, 2.0))
        results = [np.full(13, math.nan), np.full((2, 3), math.nan), np.full(1, math.nan)]
        function(q, A, s, double, *results)
        expected = PlainFunction(traced)(q.tolist(), A.ravel().tolist(), s, double.tolist())
        for result, value in zip(results, expected):
            # Both use libm; the C compiler may fuse a*b + c.
            np.testing.assert_allclose(result.ravel(), value, rtol=1e-13, atol=1e-14)


def long_way(q, memory, s):
    """More steps than one function of C has; the first ones are needed in the last ones."""
    near = q[0].less(s)

    def turn(state, x):
        return [0.5 * (state[0] + x / state[0])], x.less(0.999 * state[0] * state[0])

    root = s.repeat(turn, [s + 1.0], 20, [s])[0]
    x, y = q[0], memory[0]
    for k in range(2 * PART_STEPS):
        x, y = (x * 1.5 - y * y + 0.01 * k).sin(), (x + y * memory[1]).cos() * 0.9
        if k % 97 == 0:
            x = select(near, x, x * root)
    return {'x': [x, select(near, y, root), q[1]], 'memory': [memory[0] + 1.0]}


@needs_compiler
def test_a_long_trace_is_several_functions_that_agree_too(tmp_path):
    traced = trace(long_way, {'q': 2, 'memory': 2, 's': ()}, 'long_way')
    text = c_source(traced)
    parts = re.findall(r'^static void (long_way_part_\d+)\(', text, re.MULTILINE)
    assert len(parts) > 2
    for part in parts:
        (body,) = re.findall(rf'^static void {part}\(.*?^}}', text, re.MULTILINE | re.DOTALL)
        assert body.count('\n') < 3 * PART_STEPS
    function = compiled(text, tmp_path, '-O0').long_way
    function.argtypes = [VECTOR, VECTOR, ctypes.c_double, VECTOR, VECTOR]
    function.restype = None
    for q, s in (([0.3, 2.0], 0.7), ([0.9, 2.0], 0.7)):
        results = [np.full(3, math.nan), np.full(1, math.nan)]
        function(np.array(q), np.array([0.2, 0.4]), s, *results)
        expected = PlainFunction(traced)(q, [0.2, 0.4], s)
        for result, value in zip(results, expected):
            # Both use libm, and nothing is fused without optimization.
            np.testing.assert_allclose(result, value, rtol=1e-12)
