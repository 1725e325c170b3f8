# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Expressions fold and share, traces print the same every time, and every back end agrees."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Expression, Kernel, llvm_ir, select, trace
from dynamics_ros.kernels.graph.trace import Graph
from dynamics_ros.kernels.llvm.compiler import typed_pointers
from dynamics_ros.kernels.source import PlainFunction

# Folding reassociates and machine code fuses a*b + c, each an error of some units in the last
# place of the largest intermediate value; the random functions have at most 40 operations.
ROUNDING = 40 * 16 * np.finfo(float).eps


@pytest.fixture
def x():
    return Graph().symbol()


FOLDED = """
x + 0.0 is x        0 + x is x          x - 0 is x          x * 1 is x          1.0 * x is x
x / 1 is x          x**1 is x           +x is x             0.0 * x == 0.0      x - x == 0.0
x + (-x) == 0.0     x / x == 1.0        x * (1 / x) == 1.0  x**0 == 1.0
(x - y) + (y - x) == 0.0                2.0 * (3.0 * x) is 6.0 * x
(x * 2.0) / 2.0 is x
(x + 1.0) + 2.0 is x + 3.0              5.0 - (x + 2.0) is 3.0 - x              (x + 1.0) - 1.0 is x
(x + y) - y is x    x - (x + y) is -y   (x - y) + y is x    x - (x - y) is y    (x - y) - x is -y
x + x is 2.0 * x    3.0 * x - x is 2.0 * x                  2.0 * x - 2.0 * x == 0.0
(-x) * (-y) is x * y                    (-x) * y is -(x * y)                    x - (-y) is x + y
(-x).sin() is -(x.sin())                (-x).cos() is x.cos()                   abs(-x) is abs(x)
x.sqrt() ** 2 is x  x**0.5 is x.sqrt()  abs(x) * abs(x) is x * x
x.minimum(inf) is x                     x.maximum(-inf) is x
x.less(inf) is True                     x.less_equal(-inf) is False
select(True, x, 2.0) is x               select(False, x, 2.0) == 2.0
select(x.less(1.0), x, x) is x
select(x.less(x), 1.0, 3.0) == 3.0      x * y is y * x      x + y is y + x
x.minimum(y) is y.minimum(x)            x.atan2(y) is x.atan2(y)
x.atan2(y) is not y.atan2(x)
"""
"""Neutral elements vanish, what cancels is a number, constants and like terms meet, signs move out
of products and odd functions, equal operations are one node; comparing an expression raises."""


@pytest.mark.parametrize('row', re.split(r'\s{2,}|\n', FOLDED.strip()))
def test_expressions_fold_and_share(row):
    graph = Graph()
    names = {'x': graph.symbol(), 'y': graph.symbol(), 'inf': math.inf, 'select': select}
    assert eval(row, names)


def test_extreme_constants_do_not_meet_in_infinity():
    kernel = Kernel(trace(lambda x: (x * 1e300) * 1e300, {'x': ()}, 'huge'))
    assert kernel(1e-300) == pytest.approx(1e300)


def test_divisions_by_one_number_share_its_reciprocal():
    shared = trace(lambda x: [x[0] / x[2], x[1] / x[2]], {'x': 3}, 'shared')
    alone = trace(lambda x: [x[0] / x[1]], {'x': 2}, 'alone')
    assert shared.operation_counts == {'multiply': 2, 'reciprocal': 1}
    assert alone.operation_counts == {'divide': 1}


class TestRefusals:
    def test_a_trace_cannot_branch_on_a_value(self, x):
        for branch in (
            lambda: bool(x),
            lambda: bool(x < 1.0),
            lambda: x >= 1.0 and x < 2.0,
            lambda: max(x, 0.0),
            lambda: x == 0.0,
            lambda: x != 0.0,
            lambda: float(x),
            lambda: bool(x.less(1.0)),
        ):
            with pytest.raises(TypeError, match=r'cannot branch|cannot become a float'):
                branch()

    @pytest.mark.parametrize(
        ('function', 'error', 'words'),
        [
            (lambda x: x + math.nan, ValueError, 'constant'),
            (lambda x: x + math.inf, ValueError, 'constant'),
            *((lambda x, y=y: x * y, TypeError, '') for y in (np.ones(2, complex), 'a', None, 1j)),
            *((lambda x, y=y: y * x, TypeError, '') for y in (np.ones(2, complex), 'a', None, 1j)),
            (lambda x: x**1.5, TypeError, 'integer'),
            (lambda x: x + Graph().symbol(), ValueError, 'two different traces'),
            (lambda x: x / 0.0, ZeroDivisionError, ''),
        ],
    )
    def test_what_a_trace_cannot_compute(self, x, function, error, words):
        with pytest.raises(error, match=words or None):
            function(x)

    @pytest.mark.parametrize(
        ('function', 'inputs', 'name', 'words'),
        [
            (lambda x: [[x], [x, x]], {'x': ()}, 'ragged', 'result: rows'),
            *((lambda _, y=y: [y], {'x': ()}, 'odd', 'result') for y in (None, math.nan, 'x')),
            (lambda x: x.less(1.0), {'x': ()}, 'odd', 'condition'),
            (lambda x: x, {'a b': ()}, 'f', 'identifier'),
            (lambda x: x, {'x': ()}, 'lambda', 'identifier'),
        ],
    )
    def test_results_and_names_that_are_none(self, function, inputs, name, words):
        with pytest.raises(InvalidArgumentError, match=words):
            trace(function, inputs, name)


class TestTrace:
    def test_printed_parentheses_keep_the_order_of_operations(self):
        def order(a, b, c):
            return [a - (b - c), (a - b) - c, a * (b + c), -(a * b) / (c * a), 1.0 / (a + b)]

        traced = trace(order, {'a': (), 'b': (), 'c': ()}, 'order')
        assert PlainFunction(traced)(2.0, 3.0, 7.0) == pytest.approx(
            order(2.0, 3.0, 7.0), rel=1e-15
        )

    def test_names_of_inputs_never_clash_with_printed_names(self):
        def clash(t, t0, sin, q, q1, result):
            return [t[0] * t0, sin.sin(), q[1] + q1, result * t[1]]

        inputs = {'t': 2, 't0': (), 'sin': (), 'q': 2, 'q1': (), 'result': ()}
        traced = trace(clash, inputs, 'clash')
        arguments = ([1.0, 2.0], 3.0, 0.5, [5.0, 6.0], 7.0, 8.0)
        assert PlainFunction(traced)(*arguments) == [3.0, math.sin(0.5), 13.0, 16.0]

    def test_a_description_with_quotes_stays_a_comment(self):
        traced = trace(lambda x: x, {'x': ()}, 'quoted', 'a """ and a \\')
        assert PlainFunction(traced)(2.0) == 2.0


def call(name, a, *others):
    """Call a function of a scalar that may be a float or an expression."""
    if isinstance(a, Expression):
        return getattr(a, name)(*others)
    if others and isinstance(others[0], Expression):
        return getattr(others[0], name)(a)
    return {'minimum': min, 'maximum': max}.get(name, getattr(math, name, None))(a, *others)


def where_less(a, b, then, otherwise):
    condition = a.less(b) if isinstance(a, Expression) else a < b
    return select(condition, then, otherwise)


# Arguments of partial functions are brought into their domains smoothly. Only inputs are compared,
# since rounding may turn a comparison of computed values around.
STEPS = {
    'negate': lambda a, b, c, x: -a,
    'absolute': lambda a, b, c, x: abs(a),
    'cube': lambda a, b, c, x: call('sin', a) ** 3,
    'inverse': lambda a, b, c, x: (2.0 + call('cos', a)) ** -2,
    'sin': lambda a, b, c, x: call('sin', a),
    'cos': lambda a, b, c, x: call('cos', a),
    'tan': lambda a, b, c, x: call('tan', call('sin', a)),
    'asin': lambda a, b, c, x: call('asin', 0.9 * call('sin', a)),
    'acos': lambda a, b, c, x: call('acos', 0.9 * call('cos', a)),
    'exp': lambda a, b, c, x: call('exp', call('sin', a)),
    'log': lambda a, b, c, x: call('log', 1.5 + call('sin', a)),
    'sqrt': lambda a, b, c, x: call('sqrt', 1.5 + call('sin', a)),
    'atan2': lambda a, b, c, x: call('atan2', x[0], 2.0 + call('cos', b)),
    'scale': lambda a, b, c, x: c * a,
    'shift': lambda a, b, c, x: a + c,
    'shift from': lambda a, b, c, x: c - a,
    'add': lambda a, b, c, x: a + b,
    'subtract': lambda a, b, c, x: a - b,
    'multiply': lambda a, b, c, x: call('sin', a) * b,
    'divide': lambda a, b, c, x: a / (2.0 + call('cos', b)),
    'minimum': lambda a, b, c, x: call('minimum', a, b),
    'maximum': lambda a, b, c, x: call('maximum', a, b),
    'bound': lambda a, b, c, x: call('maximum', a, c),
    'select': lambda a, b, c, x: where_less(x[0], x[1], a, b),
    'select by a constant': lambda a, b, c, x: where_less(x[2], c, a, b),
}


numbers = st.floats(-2.0, 2.0, allow_subnormal=False)
places = st.integers(0, 60)


class TestAgreement:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(list(STEPS)), places, places, numbers),
            min_size=1,
            max_size=40,
        ),
        inputs=st.lists(numbers, min_size=3, max_size=3),
    )
    def test_of_random_functions_in_python_machine_code_and_arrays(self, steps, inputs):
        def function(x):
            values = list(x)
            for name, i, j, constant in steps:
                a, b = values[i % len(values)], values[j % len(values)]
                values.append(STEPS[name](a, b, constant, x))
            return values

        traced = trace(function, {'x': 3}, 'random')
        expected = np.array(function(inputs))
        tolerance = ROUNDING * np.abs(expected).max(initial=1.0)
        plain, machine = Kernel(traced, 'python'), Kernel(traced, 'llvm')
        assert machine.backend == 'llvm'
        many = np.tile(inputs, (20, 1))
        for result in (
            plain(inputs),
            machine(inputs),
            machine.call(np.array(inputs)),
            plain(many)[-1],
            machine(many)[-1],
        ):
            np.testing.assert_allclose(result, expected, rtol=0.0, atol=tolerance)

    @pytest.mark.parametrize('backend', ['llvm', 'python'])
    @pytest.mark.parametrize('states', [1, 3, 40])
    def test_of_what_has_no_answer(self, backend, states):
        def function(x):
            return [x.sqrt(), 1.0 / x, x.log(), x * 2.0, select(x.less(0.0), 7.0, x)]

        kernel = Kernel(trace(function, {'x': ()}, 'partial'), backend)
        np.testing.assert_array_equal(
            kernel(np.full(states, -4.0)), np.tile([np.nan, -0.25, np.nan, -8.0, 7.0], (states, 1))
        )
        np.testing.assert_array_equal(
            kernel(np.zeros(states)), np.tile([0.0, np.inf, -np.inf, 0.0, 0.0], (states, 1))
        )


def test_before_version_16_llvm_reads_typed_pointers():
    traced = trace(lambda x: [e.sin() for e in x], {'x': 3}, 'sines')
    text = typed_pointers(llvm_ir(traced))
    accesses = re.findall(r'= load (?:volatile )?(.+?), (.+?)\* %', text)
    assert accesses and all(kind == pointee for kind, pointee in accesses)
    assert ' ptr ' in llvm_ir(traced) and ' ptr ' not in text
