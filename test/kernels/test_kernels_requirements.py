# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trace says what its inputs and results must be like, and every way to call it checks that."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, Requirement, compilation, trace

BACKENDS = ['llvm', 'python']
STATES = [1, 5, compilation.BATCH_STATES + 3]


class NotUnitError(Exception):
    pass


class NoAnswerError(Exception):
    pass


def unit_length(q, *_):
    yield Requirement(
        q[1] * q[1] + q[2] * q[2],
        1.0 - 1e-6,
        1.0 + 1e-6,
        lambda squared: NotUnitError(f'length {math.sqrt(squared):.3g}'),
    )


def small(_, s):
    yield Requirement(s, -10.0, math.inf, lambda value: InvalidArgumentError('s', f'{value}', '..'))


def traced(finite=True):
    return trace(
        lambda q, s: {'x': [q[0] * q[1], q[0] * q[2], 1.0 / s], 'y': s * 2.0},
        {'q': 3, 's': ()},
        'turned',
        requirements=lambda q, s: [*unit_length(q), *small(q, s)],
        finite_results=(lambda _: NoAnswerError('division by zero')) if finite else None,
    )


@pytest.fixture(scope='module', params=BACKENDS)
def kernel(request):
    kernel = Kernel(traced(), request.param)
    assert kernel.backend == request.param
    return kernel


GOOD = np.array([2.0, 0.6, -0.8])


@pytest.mark.parametrize('states', STATES)
def test_an_input_that_is_not_allowed_raises_its_error(kernel, states):
    q, s = np.tile(GOOD, (states, 1)), np.ones(states)
    kernel(q, s)
    q[-1] = [2.0, 3.0, 4.0]
    with pytest.raises(NotUnitError, match='length 5'):
        kernel(q, s)
    q[-1] = GOOD
    s[0] = -10.5
    with pytest.raises(InvalidArgumentError, match=r's: -10\.5'):
        kernel(q, s)


@pytest.mark.parametrize('states', [(), *((n,) for n in STATES)])
def test_an_attempt_returns_that_a_result_is_not_finite(kernel, states):
    q, s = np.broadcast_to(GOOD, (*states, 3)).copy(), np.full(states, 4.0)
    for found, expected in zip(kernel.attempt(q, s), kernel(q, s), strict=True):
        np.testing.assert_array_equal(found, expected)
    s[(-1,) if states else ()] = 0.0
    assert kernel.attempt(q, s) is NotImplemented
    with pytest.raises(NoAnswerError):
        kernel(q, s)


def test_an_attempt_refuses_wrong_inputs_like_a_call(kernel):
    for q, s, error in (
        (GOOD * np.nan, 1.0, InvalidArgumentError),
        ([2.0, 3.0, 4.0], 1.0, NotUnitError),
        (GOOD[:2], 1.0, InvalidArgumentError),
    ):
        for call in (kernel.attempt, kernel):
            with pytest.raises(error):
                call(q, s)
    with pytest.raises(TypeError, match='takes 2 arrays'):
        kernel.attempt(GOOD)


def test_what_is_not_finite_is_named_first(kernel):
    with pytest.raises(InvalidArgumentError, match='q: nan'):
        kernel(np.array([1.0, math.nan, 0.0]), 1.0)
    with pytest.raises(InvalidArgumentError, match='s: inf'):
        kernel(np.array([1.0, 3.0, 0.0]), math.inf)


@pytest.mark.parametrize('states', STATES)
def test_a_result_that_is_not_finite_raises_its_error(kernel, states):
    q, s = np.tile(GOOD, (states, 1)), np.ones(states)
    s[states // 2] = 0.0
    with pytest.raises(NoAnswerError, match='division'):
        kernel(q, s)
    if states == 1:
        with pytest.raises(NoAnswerError):
            kernel(GOOD, 0.0)


@pytest.mark.parametrize('backend', BACKENDS)
def test_results_need_not_be_finite_unless_that_is_wanted(backend):
    x, _ = Kernel(traced(finite=False), backend)(GOOD, 0.0)
    assert x[2] == np.inf


def test_the_entry_point_hands_on_what_is_not_allowed():
    notes = []

    def slow_path(*arguments, **named):
        notes.append((arguments, named))
        return 'slow'

    call = Kernel(traced(), 'llvm').bind(slow_path)
    assert call(GOOD, 1.0)[1] == 2.0
    assert not notes
    for q, s in ((2.0 * GOOD, 1.0), (GOOD, -11.0), (GOOD, 0.0), (np.full(3, np.nan), 1.0)):
        assert call(q, s) == 'slow'
    assert len(notes) == 4


def test_out_is_refused_like_results():
    kernel = Kernel(
        trace(
            lambda x: [1.0 / e for e in x],
            {'x': 2},
            'inverse',
            finite_results=lambda _: NoAnswerError(),
        ),
        'llvm',
    )
    out = np.zeros(2)
    assert kernel.call(np.array([2.0, 4.0]), out=out) is out
    with pytest.raises(NoAnswerError):
        kernel.call(np.array([2.0, 0.0]), out=out)


def test_a_requirement_that_never_holds_is_an_error_of_the_trace():
    with pytest.raises(NotUnitError):
        trace(
            lambda x: x,
            {'x': ()},
            'never',
            requirements=lambda x: [Requirement(x - x, 1.0, 2.0, NotUnitError)],
        )


def test_what_no_input_meets_runs_as_plain_python():
    kernel = Kernel(
        trace(
            lambda x: x,
            {'x': ()},
            'impossible',
            requirements=lambda x: [Requirement(x * x, -2.0, -1.0, NotUnitError)],
        )
    )
    assert kernel.backend == 'python'
    with pytest.raises(NotUnitError):
        kernel(1.0)
