# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels take arrays as NumPy does, refuse what is wrong, leak nothing; bound ones, programs."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, c_source, compile, program, trace
from dynamics_ros.kernels import kernel as llvm_backend
from dynamics_ros.kernels import kernel as machine_code
from dynamics_ros.kernels.program import Copy, Program, Step

BACKENDS = ['llvm', 'python']


def affine(A, x, s):
    """Return s * A x and its squared length."""
    y = [s * (row[0] * x[0] + row[1] * x[1]) for row in A]
    return {'y': y, 'length': y[0] * y[0] + y[1] * y[1] + y[2] * y[2]}


def traced_affine():
    return trace(affine, {'A': (3, 2), 'x': 2, 's': ()}, 'affine', 's * A x')


def doubled(backend='llvm', size=3):
    return compile(lambda x: 2.0 * x, {'x': size}, 'doubled', backend=backend)


@pytest.fixture(scope='module', params=BACKENDS)
def kernel(request):
    return Kernel(traced_affine(), request.param)


class TestShapes:
    def test_one_state(self, kernel):
        A, x = np.arange(6.0).reshape(3, 2), np.array([1.0, -2.0])
        y, length = kernel(A, x, 0.5)
        np.testing.assert_allclose(y, 0.5 * A @ x, rtol=1e-15)
        assert type(length) is np.float64
        assert length == pytest.approx(y @ y, rel=1e-15)

    @pytest.mark.parametrize(
        ('shape_A', 'shape_x', 'shape_s'),
        [
            ((4,), (4,), (4,)),
            ((), (4,), ()),
            ((5, 1), (4,), ()),
            ((2, 1, 3), (1, 5, 1), (3,)),
            ((1,), (), ()),
            ((0,), (), ()),
            ((20, 2), (2,), (20, 1)),
        ],
    )
    def test_leading_axes_broadcast(self, kernel, shape_A, shape_x, shape_s):
        rng = np.random.default_rng(1)
        A = rng.normal(size=(*shape_A, 3, 2))
        x = rng.normal(size=(*shape_x, 2))
        s = rng.normal(size=shape_s)
        y, length = kernel(A, x, s)
        expected = s[..., np.newaxis] * np.squeeze(A @ x[..., np.newaxis], -1)
        assert y.shape == expected.shape
        np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(length, np.sum(expected**2, axis=-1), rtol=1e-13)

    def test_views_of_any_layout(self, kernel):
        rng = np.random.default_rng(2)
        views = [
            rng.normal(size=(2, 3)).T,
            rng.normal(size=(6, 4))[::2, ::2],
            rng.normal(size=(3, 2))[::-1, ::-1],
            np.asfortranarray(rng.normal(size=(4, 3, 2))),
            rng.normal(size=(4, 5, 3, 2))[:, 2],
            np.frombuffer(b'\0' + rng.normal(size=6).tobytes(), offset=1).reshape(3, 2),
            rng.normal(size=(3, 2)).astype('>f8'),
        ]
        x = np.array([0.3, -0.7])
        for A in views:
            np.testing.assert_allclose(kernel(A, x, 2.0)[0], 2.0 * A @ x, rtol=1e-14)

    def test_whatever_converts_to_real_numbers(self, kernel):
        A = [[1, 2], [3, 4], [5, 6]]
        for x in ([1, 2], (1.0, 2), np.array([1, 2], np.float32), np.array([1, 2], np.int8)):
            for s in (2, 2.0, np.float32(2), np.array(2), np.float64(2), True + 1):
                np.testing.assert_array_equal(kernel(A, x, s)[0], [10.0, 22.0, 34.0])

    def test_empty_inputs_and_outputs(self):
        for backend in BACKENDS:
            empty = Kernel(trace(lambda x: x, {'x': 0}, 'empty'), backend)
            assert empty(np.zeros((4, 0))).shape == (4, 0)
            assert empty([]).shape == (0,)


class TestOut:
    @pytest.mark.parametrize('backend', BACKENDS)
    def test_is_filled_and_returned(self, backend):
        kernel = doubled(backend)
        x, out = np.array([1.0, 2.0, 3.0]), np.empty(3)
        assert kernel(x, out=out) is out
        np.testing.assert_array_equal(out, 2.0 * x)
        many = np.empty((2, 5, 3))
        assert kernel(np.ones((5, 3)), out=many[0]) is not many
        np.testing.assert_array_equal(many[0], 2.0)

    @pytest.mark.parametrize('backend', BACKENDS)
    def test_may_be_the_input_or_overlap_it(self, backend):
        def rotated(x):
            return [x[1], x[2], x[0]]

        kernel = Kernel(trace(rotated, {'x': 3}, 'rotated'), backend)
        x = np.array([1.0, 2.0, 3.0])
        kernel(x, out=x)
        np.testing.assert_array_equal(x, [2.0, 3.0, 1.0])
        row = np.arange(5.0)
        kernel(row[:3], out=row[1:4])
        np.testing.assert_array_equal(row, [0.0, 1.0, 2.0, 0.0, 4.0])

    @pytest.mark.parametrize('backend', BACKENDS)
    def test_that_does_not_fit_is_refused(self, backend):
        frozen = np.empty(3)
        frozen.flags.writeable = False
        for out in (np.empty(4), np.empty(3, np.float32), [0.0] * 3, frozen, np.empty((1, 3)), 1):
            with pytest.raises(InvalidArgumentError, match='out'):
                doubled(backend)(np.ones(3), out=out)
        both = Kernel(trace(lambda x: {'y': x, 'z': x}, {'x': 3}, 'both'), backend)
        memory = np.zeros(6)
        with pytest.raises(InvalidArgumentError, match='out: arrays that share memory'):
            both(np.ones(3), out=(memory[:3], memory[2:5]))
        both(np.ones(3), out=(memory[3:], memory[:3]))
        np.testing.assert_array_equal(memory, 1.0)


class TestRefusals:
    @pytest.mark.parametrize(
        ('arguments', 'message'),
        [
            (
                (np.ones((2, 3)), np.ones(2), 1.0),
                r'A: shape \(2, 3\); expected shape \(..., 3, 2\)',
            ),
            ((np.ones(2), np.ones(2), 1.0), r'A: shape \(2,\)'),
            ((np.ones((3, 2)), 1.0, 1.0), r'x: shape \(\); expected shape \(..., 2\)'),
            ((np.ones((3, 2)), np.ones(2) * 1j, 1.0), 'x: dtype complex128'),
            ((np.ones((3, 2)), ['a', 'b'], 1.0), 'x: text'),
            ((np.ones((3, 2)), np.ones(2), None), r's: a NoneType; expected shape'),
            (
                (np.ones((3, 2)), [[1.0, 2.0], [1.0]], 1.0),
                'x: (rows of different lengths|dtype object)',
            ),
            ((np.ones((3, 2)), np.array(['NaT', 'NaT'], 'M8[s]'), 1.0), 'x: dtype'),
            ((np.ones((3, 2)), [1.0, math.nan], 1.0), r'x: nan at \[1\]; expected finite'),
            ((np.ones((3, 2)), np.ones(2), math.inf), 's: inf; expected finite'),
            ((np.ones((3, 2)), np.ones(2), np.float64('nan')), 's: nan; expected finite'),
            ((np.full((3, 2), -np.inf), np.ones(2), 1.0), r'A: -inf at \[0, 0\]'),
            ((np.ones((3, 3, 2)), np.ones((4, 2)), 1.0), 'leading axes'),
        ],
    )
    def test_name_the_argument(self, kernel, arguments, message):
        with pytest.raises(InvalidArgumentError, match=message):
            kernel(*arguments)

    def test_a_wrong_number_of_arguments(self, kernel):
        for arguments in ((), (1.0,), (1.0, 1.0, 1.0, 1.0)):
            with pytest.raises(TypeError, match=r'affine\(\) takes 3 arrays \(A, x, s\)'):
                kernel(*arguments)
        with pytest.raises(TypeError):
            kernel.call(1.0, 1.0, 1.0, outt=None)

    @pytest.mark.parametrize('backend', BACKENDS)
    @pytest.mark.parametrize('size', [1, 7, 8, 9, 17])
    def test_of_one_bad_number_wherever_it_is(self, backend, size):
        kernel = doubled(backend, size)
        for bad in (math.nan, math.inf, -math.inf):
            for place in range(size):
                x = np.ones((3, size))
                x[1, place] = bad
                for argument in (x, x[1]):
                    with pytest.raises(InvalidArgumentError, match=f'x: {bad}'):
                        kernel(argument)

    def test_an_unknown_backend(self):
        with pytest.raises(InvalidArgumentError, match='backend'):
            Kernel(traced_affine(), 'fortran')


class TestEntryPoint:
    """The compiled entry point takes exactly what it is made for and leaves the rest alone."""

    def test_hands_on_everything_else_as_it_came(self):
        class Subclass(np.ndarray):
            pass

        notes = []

        def slow_path(*values, **named):
            notes.append((values, named))
            return 'slow'

        call = doubled().bind(slow_path)
        x, frozen = np.ones(3), np.ones(3)
        frozen.flags.writeable = False
        unaligned = np.frombuffer(b'\0' * 25, offset=1)
        unusual = [
            ((), {}),
            ((x, x), {}),
            ((1.0,), {}),
            ((None,), {}),
            (([1.0, 1.0, 1.0],), {}),
            ((np.ones(4),), {}),
            ((np.ones((1, 3)),), {}),
            ((np.float64(1.0),), {}),
            ((np.ones(6)[::2],), {}),
            ((unaligned,), {}),
            ((x.astype(np.float32),), {}),
            ((x.astype('>f8'),), {}),
            ((x.view(Subclass),), {}),
            ((np.full(3, np.nan),), {}),
            ((np.array([1.0, 2.0, np.inf]),), {}),
            ((x,), {'out': None}),
            ((x,), {'out': x}),
            ((x,), {'out': frozen}),
            ((x,), {'out': np.ones(4)}),
            ((x,), {'other': np.ones(3)}),
            ((x,), {'out': np.ones(3), 'other': 1}),
            ((), {'x': x}),
        ]
        for values, named in unusual:
            assert call(*values, **named) == 'slow'
        assert len(notes) == len(unusual)
        for (values, named), (noted_values, noted_named) in zip(unusual, notes):
            assert all(a is b for a, b in zip(values, noted_values))
            assert len(values) == len(noted_values)
            assert named.keys() == noted_named.keys()
            assert all(named[key] is noted_named[key] for key in named)


class TestReferences:
    """A million calls leave every count where it was."""

    def test_of_a_million_calls(self):
        kernel = Kernel(traced_affine(), 'llvm')
        double = doubled()
        call, into = kernel.call, double.call
        A, x, s, v, out = np.ones((3, 2)), np.ones(2), 1.5, np.ones(3), np.empty(3)
        watched = [A, x, s, v, out, np.dtype(float), np.ndarray, np.float64, float, None]
        watched += [call, into]

        def counts():
            gc.collect()
            return [sys.getrefcount(item) for item in watched]

        call(A, x, s), into(v), into(v, out=out)
        before, blocks = counts(), sys.getallocatedblocks()
        for _ in range(400_000):
            call(A, x, s)
        for _ in range(300_000):
            into(v)
            into(v, out=out)
        after = counts()
        assert all(abs(b - a) <= 10 for a, b in zip(before, after)), (before, after)
        assert sys.getallocatedblocks() - blocks < 100


@pytest.mark.parametrize('backend', BACKENDS)
def test_several_threads_may_call_one_kernel(backend):
    kernel = Kernel(traced_affine(), backend)
    A = np.arange(6.0).reshape(3, 2)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            x, many = rng.normal(size=2), rng.normal(size=(17, 2))
            for values in (x, many):
                y, _ = kernel(A, values, 2.0)
                if not np.allclose(y, 2.0 * values @ A.T, rtol=1e-12, atol=1e-12):
                    wrong.append(values)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


X = np.array([0.5, -1.0, 2.0])
LIGHT, HEAVY = np.array([2.0, 0.25]), np.array([30.0, -1.0])


def affine_bound(x, p):
    return [e * p[0] + p[1] for e in x]


def traced(function=affine_bound, **options):
    return trace(function, {'x': 3, 'p': 2}, 'affine', bound=True, **options)


def expected(p, x=X):
    return x * p[0] + p[1]


@pytest.fixture(params=['llvm', 'through ctypes', 'python'])
def kernel_bound(request, monkeypatch):
    if request.param == 'through ctypes':
        for module in (machine_code, program):
            monkeypatch.setattr(module, 'native', None)
    return Kernel(traced(), 'python' if request.param == 'python' else 'llvm')


def test_each_has_its_own_numbers_and_nothing_is_compiled(kernel_bound, monkeypatch):
    compiled = []
    monkeypatch.setattr(llvm_backend.llvm_compiler, 'object_code', lambda *x: compiled.append(x))
    light, heavy = kernel_bound.bound_to(LIGHT), kernel_bound.bound_to(HEAVY)
    for _ in range(2):
        np.testing.assert_allclose(light(X), expected(LIGHT), rtol=1e-15)
        np.testing.assert_allclose(heavy.call(X), expected(HEAVY), rtol=1e-15)
    np.testing.assert_array_equal(kernel_bound(X), np.zeros(3))
    assert not compiled


def test_what_it_is_bound_to_is_copied_and_stays(kernel_bound):
    values = LIGHT.copy()
    light = kernel_bound.bound_to(values)
    for wrong in (np.zeros(3), 1.0, np.zeros((1, 2))):
        with pytest.raises(InvalidArgumentError, match='values'):
            kernel_bound.bound_to(wrong)
    values[:] = HEAVY
    np.testing.assert_allclose(light(X), expected(LIGHT))
    with pytest.raises(ValueError, match='read-only'):
        light.bound[0] = 1.0


def test_steps_of_a_program_read_their_own_numbers(kernel_bound):
    light, heavy = kernel_bound.bound_to(LIGHT), kernel_bound.bound_to(HEAVY)
    middle, result = np.empty(3), np.empty(3)
    program = Program([Step(light, (X,), (middle,)), Step(heavy, (middle,), (result,))])
    del light, heavy
    gc.collect()
    assert program.run()
    np.testing.assert_allclose(result, expected(HEAVY, expected(LIGHT)))


def test_numbers_that_are_not_finite_are_refused(kernel_bound):
    with pytest.raises(InvalidArgumentError, match='p: inf'):
        kernel_bound.bound_to(np.array([np.inf, 0.0]))(X)


A, x = np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0])


def test_masked_entries_are_refused_and_an_empty_mask_is_none(kernel):
    with pytest.raises(InvalidArgumentError, match='x: masked entries'):
        kernel(A, np.ma.masked_array(x, [0, 1]), 1.0)
    assert_array_equal(kernel(A, np.ma.masked_array(x), 1.0)[0], A @ x)


@pytest.mark.parametrize(
    'again', [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_kernels_are_copied_and_pickled(kernel, again):
    other = again(kernel)
    for ours, theirs in zip(other(A, x, 2.0), kernel(A, x, 2.0), strict=True):
        assert_array_equal(ours, theirs)
    assert other.backend == kernel.backend


@pytest.mark.parametrize('name', ['sin', 'double', 'main', 'memory'])
def test_c_has_no_function_of_a_name_that_is_taken(name):
    trace = compile(lambda x: 2.0 * x, {'x': 2}, name, backend='python').trace
    with pytest.raises(InvalidArgumentError, match=f"name: '{name}' is a word of C"):
        c_source(trace)


@pytest.mark.parametrize(
    ('inputs', 'function', 'problem'),
    [
        (None, abs, 'inputs: a NoneType'),
        ([('x', 3)], abs, 'inputs: a list'),
        ({'x': -1}, abs, 'inputs: -1 as the shape of x'),
        ({'x': 2.5}, abs, 'inputs: 2.5 as the shape of x'),
        ({'x': (2, 'a')}, abs, 'the shape of x; expected a whole number'),
        ({'x': None}, abs, 'inputs: None as the shape of x'),
        ({3: 3}, abs, 'name: 3 given'),
        ({'x y': 3}, abs, 'name: .x y. given'),
        ({'x': ()}, 3, 'function: a int; expected a function'),
        ({'x': ()}, lambda x: {}, 'outputs: none'),
        ({'x': ()}, lambda x: x * 10**400, 'constant inf'),
        ({'x': ()}, lambda x: doubled('python', ())(x), 'x: traced values'),
        ({'x': ()}, lambda x: x < 0.0, 'condition is no output'),
        ({'x': ()}, lambda x: None, 'NoneType'),
        ({'x': ()}, lambda x: {0: x}, '0 given; expected Python identifiers'),
        ({'x': ()}, lambda x: {'y': [[x], [x, x]]}, 'equal rows'),
    ],
)
def test_inputs_and_functions_that_are_none(inputs, function, problem):
    with pytest.raises(ValueError, match=problem):
        compile(function, inputs)


RNG = np.random.default_rng(11)


@pytest.mark.parametrize('backend', BACKENDS)
def test_what_one_step_writes_the_next_one_reads(backend):
    twice, inputs = doubled(backend), {'a': 3, 's': ()}
    split = compile(lambda a, s: {'moved': a + s, 'total': a.sum()}, inputs, 'f', backend=backend)
    a, b, s, moved, total = np.zeros(3), np.zeros(3), np.zeros(1), np.zeros((1, 3)), np.zeros(1)
    program = Program([Step(twice, (a,), (b,)), Step(split, (b, s), (moved, total))])
    assert program.final
    for _ in range(3):
        a[:], s[:] = RNG.normal(size=3), RNG.normal()
        assert program.run() is True
        assert_array_equal(moved[0], 2.0 * a + s)
        assert total[0] == pytest.approx(2.0 * a.sum(), abs=1e-15)


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_where_a_number_is_none_it_stops_and_can_say_why(backend, bad):
    plus = compile(lambda a: a + 1.0, {'a': 2}, backend=backend)
    a, b, c = np.zeros(2), np.zeros(2), np.full(2, 7.0)
    program = Program([Step(plus, (a,), (b,)), Step(plus, (b,), (c,))])
    a[1] = bad
    assert program.run() is False
    assert_array_equal(c, [7.0, 7.0])
    with pytest.raises(InvalidArgumentError, match='a'):
        program.explain()
    a[1] = 3.0
    assert program.run() is True
    assert_array_equal(c, [2.0, 5.0])


def test_arrays_that_do_not_fit_are_refused():
    plus, fitting, four = compile(lambda a: a + 1.0, {'a': 2}), np.zeros(2), np.zeros(4)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    wrong = {'of 2 numbers': np.zeros(3), 'float64 array': np.zeros(2, np.float32)}
    wrong['C-contiguous'] = four[::2]
    refused = [(text, Step(plus, (array,), (fitting,))) for text, array in wrong.items()]
    refused += [(text, Step(plus, (fitting,), (array,))) for text, array in wrong.items()]
    refused += [
        ('writeable', Step(plus, (fitting,), (frozen,))),
        ('shares memory', Step(plus, (fitting,), (fitting,))),
        ('1 arrays', Step(plus, (fitting,), ())),
        ('of 4 numbers', Copy(four, np.zeros(3))),
        ('C-contiguous', Copy(four[::2], np.zeros(2))),
        ('float64 array', Copy(four, np.zeros(4, np.float32))),
        ('float64 array', Copy(np.zeros(4, np.uint8), four)),
        ('shares memory', Copy(four[:2], four[1:3])),
        ('C-contiguous', Copy(four, np.broadcast_to(np.zeros(1), 4))),
    ]
    for text, step in refused:
        with pytest.raises(InvalidArgumentError, match=text):
            Program([step])
