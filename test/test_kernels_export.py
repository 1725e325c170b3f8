"""A trace exported as C compiles without a warning and computes the same."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

from dynamics_ros.kernels import select, trace

COMPILER = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')


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


@pytest.mark.skipif(COMPILER is None, reason='no C compiler on this machine')
def test_exported_c_agrees_with_the_plain_trace(traced, tmp_path):
    source, library = tmp_path / 'everything.c', tmp_path / 'everything.so'
    source.write_text(traced.c_source())
    strict = ['-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror']
    subprocess.run(
        [COMPILER, *strict, '-O1', '-shared', '-fPIC', '-o', library, source, '-lm'],
        check=True,
        timeout=60,
    )
    function = ctypes.CDLL(str(library)).everything
    vector = np.ctypeslib.ndpointer(np.float64, flags='C_CONTIGUOUS')
    function.argtypes = [vector, vector, ctypes.c_double, vector, vector, vector, vector]
    function.restype = None
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, A, double = rng.normal(size=2), rng.normal(size=(2, 2)), rng.normal(size=3)
        s = float(rng.uniform(0.1, 2.0))
        results = [np.full(13, math.nan), np.full((2, 3), math.nan), np.full(1, math.nan)]
        function(q, A, s, double, *results)
        expected = traced.evaluate(q.tolist(), A.ravel().tolist(), s, double.tolist())
        for result, value in zip(results, expected):
            # Both use libm; the C compiler may fuse a*b + c.
            np.testing.assert_allclose(result.ravel(), value, rtol=1e-13, atol=1e-14)


def test_exported_c_says_what_it_computes(traced):
    text = traced.c_source()
    assert text == traced.c_source()
    assert f'{traced.operation_count} operations' in text
    assert 'Inputs: q (2), A (2 x 2), s (scalar), double (3)' in text
    assert 'Outputs: result (13), int (2 x 3), s (scalar)' in text
    assert (
        'void everything(const double q[2], const double A[4], double s, const double double_[3], '
        'double result[13], double int_[6], double s_[1])'
    ) in text
