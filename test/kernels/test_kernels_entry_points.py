# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Entry points where the interpreter is not known: probed, tried elsewhere first, or not used."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import types
import weakref

import numpy as np
import pytest

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.kernels.cpython import entry_point, entry_source, entry_test, trial
from dynamics_ros.kernels.cpython import layout as interpreter_layout
from dynamics_ros.kernels.cpython.layout import UnknownLayoutError
from dynamics_ros.kernels.process import disk_cache

pytest.importorskip('llvmlite')


def affine(A, x, s):
    """Return s * A x and its squared length."""
    y = [s * (row[0] * x[0] + row[1] * x[1]) for row in A]
    return {'y': y, 'length': y[0] * y[0] + y[1] * y[1] + y[2] * y[2]}


def traced_affine():
    return trace(affine, {'A': (3, 2), 'x': 2, 's': ()}, 'affine', 's * A x')


def traced_twice():
    return trace(lambda x: [2.0 * e for e in x], {'x': 3}, 'twice', 'two times x')


@pytest.fixture
def anew(monkeypatch):
    """What is known of the interpreter is found out anew in the test, and again after it."""
    monkeypatch.delenv(trial.VARIABLE, raising=False)

    def forget():
        interpreter_layout.addresses.cache_clear()
        trial.problem.cache_clear()
        entry_test._tried.clear()

    forget()
    yield monkeypatch
    monkeypatch.undo()
    forget()


@pytest.fixture
def untested(anew, tmp_path):
    """An interpreter of a version that nobody has tested, and a cache of its own."""
    anew.setattr(interpreter_layout, 'TESTED_PYTHON', ((2, 7), (2, 7)))
    anew.setenv('XDG_CACHE_HOME', str(tmp_path))
    anew.delenv(disk_cache.VARIABLE, raising=False)
    return anew


class TestProbe:
    @pytest.mark.parametrize(
        'name',
        [
            *('OBJECT_TYPE', 'FLOAT_VALUE', 'TUPLE_ITEMS'),
            *('ARRAY_DATA', 'ARRAY_NDIM', 'ARRAY_DTYPE', 'ARRAY_FLAGS'),
        ],
    )
    def test_a_field_at_another_place_is_noticed(self, anew, name):
        interpreter_layout.addresses()
        # Eight bytes before and after it every object has bytes that may be read.
        anew.setattr(interpreter_layout, name, getattr(interpreter_layout, name) - 8)
        interpreter_layout.addresses.cache_clear()
        with pytest.raises(UnknownLayoutError, match='laid out'):
            interpreter_layout.addresses()

    @pytest.mark.parametrize('items', [24, 32])
    def test_tuples_are_read_where_this_interpreter_has_their_items(self, anew, items):
        """In Python 3.14 tuples have one field more: the items begin at 32, not at 24."""
        anew.setattr(interpreter_layout, 'TUPLE_ITEMS', items)
        if items == tuple.__basicsize__:
            assert interpreter_layout.addresses()
        else:
            with pytest.raises(UnknownLayoutError):
                interpreter_layout.addresses()
        code = entry_source.table_pointer(entry_source.Dialect(True))
        assert f'i64 {items + 8 * entry_point.TABLE}' in code

    @pytest.mark.parametrize('missing', ['cpython', 'byteorder'])
    def test_another_kind_of_interpreter_has_none(self, anew, missing):
        if missing == 'cpython':
            anew.setattr(sys, 'implementation', types.SimpleNamespace(name='pypy'))
        else:
            anew.setattr(sys, 'byteorder', 'big')
        with pytest.raises(UnknownLayoutError):
            interpreter_layout.addresses()


class TestTrial:
    def test_an_untested_version_that_works_has_entry_points(self, untested):
        assert isinstance(Kernel(traced_twice(), 'llvm').call, types.BuiltinFunctionType)

    def test_the_verdict_is_kept_on_disk_and_handed_to_child_processes(self, untested):
        assert trial.problem() is None
        assert os.environ[trial.VARIABLE].endswith(trial.GOOD.decode())
        untested.setattr(trial, '_tried', None)
        trial.problem.cache_clear()
        assert trial.problem() is None, 'it was tried again though the environment knows'
        untested.delenv(trial.VARIABLE)
        trial.problem.cache_clear()
        assert trial.problem() is None, 'it was tried again though the disk knows'

    def test_another_interpreter_is_tried_anew(self, untested):
        name = trial._name()
        untested.setattr(sys, 'version', '3.99.0')
        assert trial._name() != name

    @pytest.mark.parametrize(
        ('program', 'verdict', 'kept'),
        [
            ('import ctypes; ctypes.string_at(0)', 'do not work', True),
            ('import sys; sys.exit(3)', 'do not work', True),
            ('import os, signal; os.kill(os.getpid(), signal.SIGKILL)', 'not be tried', False),
            ('raise ImportError', 'not be tried', False),
        ],
        ids=['crash', 'fault', 'killed', 'no package'],
    )
    def test_a_trial_that_fails_leaves_plain_calls(self, untested, program, verdict, kept):
        untested.setattr(trial, 'PROGRAM', program)
        with pytest.raises(UnknownLayoutError, match=verdict):
            interpreter_layout.addresses()
        assert (disk_cache.read(trial._name()) == trial.BAD) == kept
        kernel = Kernel(traced_twice(), 'llvm')
        assert kernel.backend == 'llvm'
        np.testing.assert_array_equal(kernel(np.ones(3)), 2.0)

    def test_a_program_that_python_is_part_of_is_not_started(self, untested):
        untested.setattr(sys, 'executable', '/usr/bin/rviz2')
        untested.setattr(subprocess, 'run', None)
        with pytest.raises(UnknownLayoutError, match='not be tried'):
            interpreter_layout.addresses()

    @pytest.mark.parametrize(
        'change',
        [
            'layout.ARRAY_DIMENSIONS -= 8',  # what ends a process that follows the pointer
            'layout.TUPLE_ITEMS += 8',
            'layout.API_NEW_FROM_DESCR = 61',
            'entry_point.METH_FASTCALL_KEYWORDS = 0x0080',  # no keywords are handed over
        ],
    )
    def test_another_layout_is_found(self, untested, change):
        modules = 'from dynamics_ros.kernels.cpython import entry_point, layout'
        program = trial.PROGRAM.replace(
            'entry_trial.main()', f'{modules}\n{change}\nentry_trial.main()'
        )
        untested.setattr(trial, 'PROGRAM', program)
        assert 'do not work' in trial.problem()


class TestSelfTest:
    """An entry point that does not do all that it should is not used."""

    @pytest.mark.parametrize(
        ('check', 'told'),
        [
            ('shapes_match', 'longer'),
            ('layouts_match', 'single precision'),
            ('apart', 'out= that is an input'),
            ('finite', 'not finite'),
        ],
    )
    def test_of_a_check_that_is_missing(self, anew, caplog, check, told):
        true_emit = entry_source.emit

        def without_check_of_numbers(*arguments):
            pointer = entry_source.Dialect(True).pointer('double')
            taken = f'define i1 @taken({pointer} %x) {{\n  ret i1 true\n}}\n'
            return taken + true_emit(*arguments).replace('i1 @check(', 'i1 @taken(')

        if check == 'finite':
            anew.setattr(entry_source, 'emit', without_check_of_numbers)
        else:
            passed = 'true' if check == 'apart' else []
            anew.setattr(entry_source._Entry, check, lambda *_: passed)
        kernel = Kernel(traced_twice(), 'llvm')
        assert kernel.backend == 'llvm'
        assert told in caplog.text
        assert not isinstance(kernel.call, types.BuiltinFunctionType)
        np.testing.assert_array_equal(kernel(np.ones(3)), 2.0)

    def test_of_a_keyword_that_is_not_compared(self, anew, caplog):
        anew.setattr(entry_source, 'KEYWORD', entry_point.TABLE)
        kernel = Kernel(traced_twice(), 'llvm')
        assert 'does not fill out=' in caplog.text
        out = np.empty(3)
        assert kernel(np.ones(3), out=out) is out

    def test_of_right_ones_finds_nothing(self, anew, caplog):
        for traced in (traced_affine(), traced_twice()):
            assert isinstance(Kernel(traced, 'llvm').call, types.BuiltinFunctionType)
        assert not caplog.text


@pytest.fixture
def no_entry_points(anew):
    def unknown():
        raise UnknownLayoutError('another interpreter')

    anew.setattr(interpreter_layout, 'addresses', unknown)


class TestThroughCtypes:
    def test_gives_what_an_entry_point_gives(self, no_entry_points):
        kernel, plain = Kernel(traced_affine(), 'llvm'), Kernel(traced_affine(), 'python')
        assert kernel.call is not kernel._general
        rng = np.random.default_rng(0)
        for s in (0.5, np.float64(0.25)):
            A, x = rng.normal(size=(3, 2)), rng.normal(size=2)
            for mine, other in zip(kernel.call(A, x, s), plain(A, x, s)):
                assert type(mine) is type(other)
                np.testing.assert_allclose(mine, other, rtol=1e-14)

    def test_results_stay_what_they_are(self, no_entry_points):
        kernel = Kernel(traced_twice(), 'llvm')
        results = [kernel.call(np.full(3, float(i))) for i in range(3)]
        for i, result in enumerate(results):
            np.testing.assert_array_equal(result, 2.0 * i)

    def test_takes_any_layout_and_hands_on_the_rest(self, no_entry_points):
        kernel = Kernel(traced_twice(), 'llvm')
        x = np.arange(6.0)
        np.testing.assert_array_equal(kernel(x[::2]), 2.0 * x[::2])
        np.testing.assert_array_equal(kernel([1, 2, 3]), [2.0, 4.0, 6.0])
        assert kernel(np.ones((4, 3))).shape == (4, 3)
        out = np.empty(3)
        assert kernel.call(x[:3], out=out) is out
        for wrong in (x, [0.0, np.nan, 0.0], np.full(3, np.inf), 1.0, np.ones(1)):
            with pytest.raises(InvalidArgumentError, match='x'):
                kernel.call(wrong)
        for call in (lambda: kernel.call(), lambda: kernel.call(x, x), lambda: kernel.call(x, y=1)):
            with pytest.raises(TypeError):
                call()

    def test_threads_do_not_share_buffers(self, no_entry_points):
        kernel, wrong = Kernel(traced_twice(), 'llvm'), []

        def work(number):
            x = np.full(3, float(number))
            for _ in range(3000):
                if kernel.call(x).tolist() != [2.0 * number] * 3:
                    wrong.append(number)

        switching = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(switching)
        assert not wrong

    def test_the_function_outlives_its_kernel_and_leaves_nothing(self, no_entry_points):
        kernel = Kernel(traced_twice(), 'llvm')
        call, gone = kernel.call, weakref.ref(kernel)
        del kernel
        gc.collect()
        np.testing.assert_array_equal(call(np.ones(3)), 2.0)
        del call
        gc.collect()
        assert gone() is None

    def test_an_empty_trace_and_one_without_inputs(self, no_entry_points):
        empty = Kernel(trace(lambda x: x, {'x': 0}, 'empty'), 'llvm')
        assert empty.call(np.zeros(0)).shape == (0,)
        constant = Kernel(trace(lambda: [1.0, 2.0], {}, 'constant'), 'llvm')
        np.testing.assert_array_equal(constant.call(), [1.0, 2.0])


def test_a_definition_has_the_size_that_the_interpreter_expects():
    class Definition(ctypes.Structure):
        _fields_ = (
            ('name', ctypes.c_char_p),
            ('function', ctypes.c_void_p),
            ('flags', ctypes.c_int),
            ('documentation', ctypes.c_char_p),
        )

    assert entry_point.DEFINITION.size == ctypes.sizeof(Definition)
