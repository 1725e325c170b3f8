# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels take arrays as NumPy does, refuse what is wrong, and leak nothing."""

from __future__ import annotations

import gc
import math
import sys
import threading

import numpy as np
import pytest

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, trace

BACKENDS = ['llvm', 'python']


def affine(A, x, s):
    """Return s * A x and its squared length."""
    y = [s * (row[0] * x[0] + row[1] * x[1]) for row in A]
    return {'y': y, 'length': y[0] * y[0] + y[1] * y[1] + y[2] * y[2]}


def traced_affine():
    return trace(affine, {'A': (3, 2), 'x': 2, 's': ()}, 'affine', 's * A x')


def doubled(backend='llvm', size=3):
    return Kernel(trace(lambda x: [2.0 * e for e in x], {'x': size}, 'doubled'), backend)


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

    def test_of_several_outputs_is_a_sequence(self, kernel):
        out = (np.empty((4, 3)), np.empty(4))
        y, length = kernel(np.ones((3, 2)), np.ones((4, 2)), 1.0, out=out)
        assert y is out[0]
        assert length is out[1]
        np.testing.assert_array_equal(length, 12.0)

    @pytest.mark.parametrize('backend', BACKENDS)
    def test_that_does_not_fit_is_refused(self, backend):
        frozen = np.empty(3)
        frozen.flags.writeable = False
        for out in (np.empty(4), np.empty(3, np.float32), [0.0] * 3, frozen, np.empty((1, 3)), 1):
            with pytest.raises(InvalidArgumentError, match='out'):
                doubled(backend)(np.ones(3), out=out)


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
            ((np.ones((3, 2)), np.ones(2), None), 's: dtype object'),
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

    def test_the_largest_numbers_are_finite(self, kernel):
        largest = np.finfo(float).max
        y, _ = kernel(np.zeros((3, 2)), np.array([largest, -largest]), 5e-324)
        np.testing.assert_array_equal(y, 0.0)

    def test_an_unknown_backend(self):
        with pytest.raises(InvalidArgumentError, match='backend'):
            Kernel(traced_affine(), 'fortran')


def slow_path_calls(kernel):
    """Return the kernel bound to a slow path that notes its arguments, and the notes."""
    notes = []

    def slow_path(*values, **named):
        notes.append((values, named))
        return 'slow'

    return kernel.bind(slow_path), notes


class TestEntryPoint:
    """The compiled entry point takes exactly what it is made for and leaves the rest alone."""

    def test_hands_on_everything_else_as_it_came(self):
        class Subclass(np.ndarray):
            pass

        call, notes = slow_path_calls(doubled())
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

    def test_results_own_their_memory(self):
        call = doubled().call
        first, second = call(np.ones(3)), call(np.zeros(3))
        assert first.flags.owndata
        assert first.flags.writeable
        np.testing.assert_array_equal(first, 2.0)
        np.testing.assert_array_equal(second, 0.0)


class TestReferences:
    """A million calls leave every count where it was."""

    def test_of_a_million_calls(self):
        kernel = Kernel(traced_affine(), 'llvm')
        double = doubled()
        call, into = kernel.call, double.call
        A, x, s, v, out = np.ones((3, 2)), np.ones(2), 1.5, np.ones(3), np.empty(3)
        watched = [
            A,
            x,
            s,
            v,
            out,
            np.dtype(float),
            np.ndarray,
            np.float64,
            float,
            None,
            call,
            into,
        ]

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
        assert abs(sys.getallocatedblocks() - blocks) < 100


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


def test_a_kernel_tells_what_it_is():
    kernel = Kernel(traced_affine(), 'llvm')
    assert kernel.name == 'affine'
    assert kernel.operation_count == kernel.trace.operation_count == 17
    assert 0.0 < kernel.compile_seconds < 30.0
    assert repr(kernel) == '<Kernel affine(A(3, 2), x(2,), s()): 17 operations, llvm>'
    assert kernel.call.__name__ == 'affine'
    assert kernel.call.__doc__ == 's * A x'
