# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inputs and results that a trace refuses, at every way to call it, and its C."""

from __future__ import annotations

import re

import numpy as np
import pytest
from c_library import assert_c_agrees, everything, needs_compiler

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, c_source, select, trace
from dynamics_ros.kernels import kernel as compilation
from dynamics_ros.kernels.source import PART_STEPS

BACKENDS = ['llvm', 'python']
STATES = [1, 5, compilation.BATCH_STATES + 3]


class NoAnswerError(Exception):
    pass


def traced():
    return trace(
        lambda s, q: {'x': [q[0] * q[1], q[0] * q[2], 1.0 / s], 'y': s * 2.0},
        {'s': (), 'q': 5},
        'turned',
        unit_quaternions=[(1, 1)],
        finite_results=lambda _: NoAnswerError('division by zero'),
    )


@pytest.fixture(scope='module', params=BACKENDS)
def kernel(request):
    kernel = Kernel(traced(), request.param)
    assert kernel.backend == request.param
    return kernel


GOOD = np.array([2.0, 0.0, 0.6, 0.0, -0.8])


@pytest.mark.parametrize('states', STATES)
def test_a_quaternion_that_is_not_of_length_1_raises_its_error(kernel, states):
    q, s = np.tile(GOOD, (states, 1)), np.ones(states)
    kernel(s, q)
    for wrong, length in (
        ([3.0, 0.0, 4.0, 0.0], '5'),
        (GOOD[1:] * (1.0 + 1e-6), '1'),
        ([0.0] * 4, '0'),
        ([1e200] * 4, 'inf'),
    ):
        q[-1, 1:] = wrong
        with pytest.raises(InvalidArgumentError, match=f'q: quaternion of length {length};'):
            kernel(s, q)
    q[-1] = GOOD
    q[-1, 1:] *= 1.0 + 4e-7
    kernel(s, q)


@pytest.mark.parametrize('states', STATES)
def test_a_result_that_is_not_finite_raises_its_error(kernel, states):
    q, s = np.tile(GOOD, (states, 1)), np.ones(states)
    s[states // 2] = 0.0
    with pytest.raises(NoAnswerError, match='division'):
        kernel(s, q)
    if states == 1:
        with pytest.raises(NoAnswerError):
            kernel(0.0, GOOD)


def test_the_entry_point_hands_on_what_is_not_allowed():
    notes = []
    call = Kernel(traced(), 'llvm').bind(lambda *x, **named: notes.append((x, named)) or 'slow')
    assert call(1.0, GOOD)[1] == 2.0
    assert not notes
    for q, s in ((2.0 * GOOD, 1.0), (GOOD, 0.0), (np.full(5, np.nan), 1.0)):
        assert call(s, q) == 'slow'
    assert len(notes) == 3
    out = np.zeros(3), np.zeros(())
    with pytest.raises(NoAnswerError):
        Kernel(traced(), 'llvm').call(0.0, GOOD, out=out)


@needs_compiler
def test_exported_c_agrees_with_the_plain_trace(tmp_path):
    def named_as_in_c(q, A, s, double):
        inverse = 1.0 / (q[0] * q[0] + 3.0) * (1.0 / (q[0] * q[0] + 3.0) + s)
        more = [-(q[0] * q[1]) / (s + 2.0), q[0] - (q[1] - s), inverse, double[0]]
        return {**everything(q, A, s), 'int': [more, [*double[1:], 2.0, 1e-300]]}

    inputs, rng = {'q': 5, 'A': (3, 3), 's': (), 'double': 3}, np.random.default_rng(3)
    traced = trace(named_as_in_c, inputs, 'everything', 'all operations /* and a comment */')
    states = [
        [rng.normal(size=x) if x else float(rng.uniform(0.1, 2.0)) for x in inputs.values()]
        for _ in range(20)
    ]
    assert_c_agrees(traced, tmp_path, states)


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
    states = [(np.array([x, 2.0]), np.array([0.2, 0.4]), 0.7) for x in (0.3, 0.9)]
    # Nothing is fused without optimization.
    assert_c_agrees(traced, tmp_path, states, '-O0', 1e-12)
