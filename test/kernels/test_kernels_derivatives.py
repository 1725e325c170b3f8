# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sweeps over a graph give derivatives and pullbacks, only where something depends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from patience import examples
from random_robots import SEEDS, random_robot, random_urdf
from tolerances import EXACT

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.kernels import Kernel, compile, derivative, jacobian, select, trace
from dynamics_ros.kernels.graph.trace import Graph
from dynamics_ros.kernels.source import PlainFunction

MODES = ('forward', 'reverse', 'auto')

ROUNDING = 1e-13
"""Relative: two ways to the same derivative, a few operations each."""


@pytest.fixture
def xy():
    graph = Graph()
    return graph.symbol(), graph.symbol()


def slope(function, x, mode='auto'):
    """The derivative of a traced function of one number."""
    traced = trace(function, {'x': ()}, 'f')
    return PlainFunction(derivative(traced, by='x', mode=mode))(x)


@pytest.mark.parametrize('mode', MODES)
class TestOperations:
    @pytest.mark.parametrize(
        ('function', 'expected'),
        [
            (lambda x: x * x + 3.0 * x - 1.0, lambda x: 2.0 * x + 3.0),
            (lambda x: 2.0 - x * 0.5, lambda x: -0.5),
            (lambda x: (x + 2.0) / (x * x + 1.0), lambda x: (1 - 4 * x - x * x) / (x * x + 1) ** 2),
            (lambda x: x**-3, lambda x: -3.0 * x**-4),
            (
                # The angle of (2 + cos x, sin x).
                lambda x: x.sin().atan2(x.cos() + 2.0),
                lambda x: (1.0 + 2.0 * math.cos(x)) / (5.0 + 4.0 * math.cos(x)),
            ),
            (lambda x: abs(x), lambda x: math.copysign(1.0, x)),
            (lambda x: x.atan2(0.7), lambda x: 0.7 / (x * x + 0.49)),
            (lambda x: x.minimum(x * x), lambda x: 1.0 if x < x * x else 2.0 * x),
            (lambda x: x.maximum(x * x), lambda x: 1.0 if x > x * x else 2.0 * x),
            (lambda x: select(x.less(0.2), x.sin(), 5.0), lambda x: math.cos(x) * (x < 0.2)),
            (lambda x: select((x * x).less_equal(x), 2.0, x * x), lambda x: 2.0 * x * (x * x > x)),
        ],
    )
    @pytest.mark.parametrize('x', [-0.83, -0.1, 0.31, 0.9])
    def test_every_operation_has_its_derivative(self, function, expected, x, mode):
        assert slope(function, x, mode) == pytest.approx(expected(x), rel=ROUNDING, abs=ROUNDING)

    def test_a_guarded_division_has_a_derivative_at_zero(self, mode):
        def sine_ratio(x):
            square = x * x
            small = square.less(1e-4)
            root = select(small, 1.0, square).sqrt()
            return select(small, 1.0 - square / 6.0, root.sin() / root)

        assert slope(sine_ratio, 0.0, mode) == 0.0
        far = math.cos(0.5) / 0.5 - math.sin(0.5) / 0.25
        assert slope(sine_ratio, 0.5, mode) == pytest.approx(far, rel=ROUNDING)

    def test_what_does_not_depend_is_a_plain_zero(self, xy, mode):
        x, y = xy
        matrix = jacobian([x.sin() * 2.0, y, 3.0, x - x], [x, y], mode)
        assert matrix[0][0] is x.cos() * 2.0
        assert [type(value) for row in matrix[1:] for value in row] == [float] * 6
        assert matrix[1:] == [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
        assert matrix[0][1] == 0.0

    def test_derivatives_along_directions(self, mode):
        def function(x, directions):
            y = [x[0] * x[1], x[1].sin() * x[2], x[2].exp()]
            return jacobian(y, x, mode, directions)

        traced = trace(function, {'x': 3, 'directions': (3, 2)}, 'f')
        rng = np.random.default_rng(0)
        x, directions = rng.normal(size=3), rng.normal(size=(3, 2))
        by_x = [
            [x[1], x[0], 0.0],
            [0.0, math.cos(x[1]) * x[2], math.sin(x[1])],
            [0.0, 0.0, math.exp(x[2])],
        ]
        found = np.reshape(PlainFunction(traced)(x.tolist(), directions.ravel().tolist()), (3, 2))
        np.testing.assert_allclose(found, by_x @ directions, rtol=ROUNDING, atol=ROUNDING)


class TestSharing:
    def test_the_gradient_of_a_long_sum_costs_about_as_much_as_the_sum(self):
        def energy(x):
            return sum((x[i] * x[i + 1]).sin() for i in range(99))

        value = trace(energy, {'x': 100}, 'energy').operation_count
        both = trace(
            lambda x: {'g': jacobian([energy(x)], x)[0], 'y': energy(x)}, {'x': 100}, 'both'
        )
        assert both.operation_count <= 4 * value


def newton(x):
    """The square root of x, by a loop."""

    def turn(state, x):
        return [0.5 * (state[0] + x / state[0])], x.less(state[0] * state[0])

    return x.repeat(turn, [x + 1.0], 20, [x])[0]


def named(**names):
    traced = trace(lambda q, v: {'p': q, 'beta': v}, {'q': 2, 'v': 2}, 'f')
    return lambda x, y: derivative(traced, **names)


@pytest.mark.parametrize(
    ('function', 'words'),
    [
        (lambda x, y: jacobian([x], [x, y], 'backward'), r"mode: 'backward'.*reverse"),
        (lambda x, y: jacobian([x], [x * y]), r'xs: .*expected inputs of the trace'),
        (lambda x, y: jacobian([x], [2.0]), r'xs: .*expected inputs of the trace'),
        (lambda x, y: jacobian([x], [x, x]), 'an input given twice'),
        (lambda x, y: jacobian([x], [Graph().symbol()]), 'inputs of another trace'),
        (lambda x, y: jacobian([x], [x, y], along=[[1.0]]), 'along: 1 rows; expected 2 equal rows'),
        (lambda x, y: jacobian([x], [x, y], along=[[1.0], [1.0, 2.0]]), 'expected 2 equal rows'),
        (lambda x, y: jacobian([newton(x)], [x]), 'computed by a loop'),
        (lambda x, y: jacobian([newton(x)], [x], 'forward'), 'computed by a loop'),
        (lambda x, y: derivative(trace(newton, {'x': ()}, 'f'), by='x'), 'computes a loop'),
        (named(by='x', of='p'), "by: 'x'; expected one of q, v"),
        (named(by='q'), "of: 'result'; expected one of p, beta"),
    ],
)
def test_what_has_no_derivative_is_refused(xy, function, words):
    with pytest.raises(InvalidArgumentError, match=words):
        function(*xy)


class TestTraces:
    def test_the_shape_is_that_of_the_output_and_then_of_the_input(self):
        def function(A, s):
            return {'product': [[x * s for x in row] for row in A], 'trace': A[0][0] + A[1][1]}

        traced = trace(function, {'A': (2, 3), 's': ()}, 'f')
        assert derivative(traced, 'A', 'product').outputs[0].shape == (2, 3, 2, 3)
        assert derivative(traced, 's', 'product').outputs[0].shape == (2, 3)
        assert derivative(traced, 'A', 'trace').outputs[0].shape == (2, 3)
        assert derivative(traced, 's', 'trace').outputs[0].shape == ()

    @pytest.mark.parametrize('backend', ['python', 'llvm'])
    def test_a_kernel_of_it_refuses_what_the_trace_refuses(self, backend):
        def singular(_):
            return SingularError('x', 'zero')

        unit, twice = np.full(4, 0.5), np.ones(4)
        traced = trace(
            lambda x, q: x.sqrt() * q[0], {'x': (), 'q': 4}, 'root', 'a root', [(1, 0)], singular
        )
        kernel = Kernel(derivative(traced, by='x'), backend)
        assert kernel(4.0, unit) == pytest.approx(0.125, rel=ROUNDING)
        back = Kernel(traced, backend).pullback()
        assert back(4.0, unit, 1.0)[0] == pytest.approx(0.125, rel=ROUNDING)
        for call in (lambda *x: kernel(*x), lambda *x: back(*x, 1.0)):
            with pytest.raises(InvalidArgumentError, match='quaternion of length 2'):
                call(4.0, twice)
            with pytest.raises(SingularError):
                call(0.0, unit)


def by_derivatives(kernel, arrays, weights):
    """The same from the derivatives of each output by each input."""
    traced = kernel.trace
    gradients = []
    for x in traced.arguments:
        total = np.zeros(x.shape)
        for y, w in zip(traced.outputs, weights, strict=True):
            J = kernel.derivative(x.name, y.name)(*arrays)
            total = total + np.tensordot(w, J, axes=len(y.shape))
        gradients.append(total)
    return gradients


def assert_pulls_back(kernel, arrays, seed):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=x.shape) for x in kernel.trace.outputs]
    found = kernel.pullback()(*arrays, *weights)
    found = found if isinstance(found, tuple) else (found,)
    for one, wanted in zip(found, by_derivatives(kernel, arrays, weights), strict=True):
        scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
        np.testing.assert_allclose(one, wanted, rtol=0.0, atol=100 * EXACT * scale)


@examples(5)
@given(SEEDS)
def test_of_the_dynamics_of_random_robots(seed):
    robot = random_robot(seed, joints=4)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    v, a = rng.normal(size=(2, robot.nv))
    assert_pulls_back(robot.kernel('inverse_dynamics'), (q, v, a), seed)
    assert_pulls_back(robot.kernel('jacobian', robot.frame_names[-1], 'world'), (q,), seed)


def test_of_a_batch_and_of_a_pullback():
    kernel = compile(lambda x: np.sin(x) * x[0], {'x': 3}, 'function')
    twice = kernel.pullback().pullback()
    assert [x.name for x in twice.trace.arguments] == ['x', 'w_result', 'w_d_x']
    assert_pulls_back(kernel.pullback(), (np.array([0.3, -0.2, 0.7]), np.ones(3)), 1)
    x, w = np.random.default_rng(0).normal(size=(2, 40, 3))
    rows = [kernel.pullback()(*row) for row in zip(x, w)]
    np.testing.assert_allclose(kernel.pullback()(x, w), rows, rtol=1e-13)


def test_payload_and_quaternions_count_as_in_the_kernel():
    robot = Robot.from_urdf(random_urdf(5), root_joint='floating').adjustable('link_5')
    loaded = robot.with_payload('link_5', 2.0)
    q = robot.random_configuration(np.random.default_rng(0))
    kernel = loaded.kernel('gravity')
    w = np.ones(robot.nv)
    assert np.abs(kernel.pullback()(q, w) - robot.kernel('gravity').pullback()(q, w)).max() > 1e-3
    assert_pulls_back(kernel, (q,), 3)
    q[3] += 0.1
    with pytest.raises(InvalidArgumentError, match='unit quaternion'):
        kernel.pullback()(q, w)
