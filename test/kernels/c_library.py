# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every operation; exported C as a loaded library, by the system's compiler without a warning."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

from dynamics_ros.kernels import c_source, select
from dynamics_ros.kernels.source import PlainFunction

COMPILER = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
VECTOR = np.ctypeslib.ndpointer(np.float64, flags='C_CONTIGUOUS')
STRICT = ('-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror')

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C compiler on this machine')


def everything(q, A, s):
    """Use every operation, with several shapes of inputs and outputs."""
    return {
        'angles': [
            q[0].sin() + q[1].cos() * s,
            (0.5 * q[0].sin()).asin() + (0.5 * q[1].cos()).acos(),
            q[2].tan() + q[3].atan2(s),
            (q[4] * q[4] + 0.5).log() + q[0].exp(),
            (q[1] * q[1] + 1.0).sqrt() * abs(q[2]),
            q[3].minimum(q[4]) - q[0].maximum(0.25),
            select(q[0].less(q[1]), q[2], 3.0) + select(q[3].less_equal(s), 1.0, q[4]),
            1.0 / (q[0] * q[0] + 3.0) - q[1] / (s * s + 2.0),
        ],
        'product': [[sum(A[i][k] * A[k][j] for k in range(3)) for j in range(3)] for i in range(3)],
        'same': [q[4], q[0].sin(), 2.5],
        's': s * s - 1.0,
    }


def compiled(text: str, folder: Path, level: str = '-O1') -> ctypes.CDLL:
    """The library of a C file."""
    source, library = folder / 'exported.c', folder / 'exported.so'
    source.write_text(text)
    subprocess.run(
        [COMPILER, *STRICT, level, '-shared', '-fPIC', '-o', library, source, '-lm'],
        check=True,
        timeout=PATIENCE,
    )
    return ctypes.CDLL(str(library))


def assert_c_agrees(trace, folder: Path, states, level: str = '-O1', rtol: float = 1e-13) -> None:
    """Compare a trace's C with the plain trace, for states given by their arguments."""
    function = getattr(compiled(c_source(trace), folder, level), trace.name)
    inputs = [VECTOR if x.shape else ctypes.c_double for x in trace.inputs]
    function.argtypes, function.restype = inputs + [VECTOR] * len(trace.outputs), None
    for state in states:
        results = [np.full(x.size, np.nan) for x in trace.outputs]
        function(*state, *results)
        flat = [np.ravel(x).tolist() if np.ndim(x) else x for x in state]
        wanted = PlainFunction(trace)(*flat)
        for result, value in zip(results, wanted if len(results) > 1 else [wanted], strict=True):
            # Both use libm; the C compiler may fuse a*b + c.
            np.testing.assert_allclose(result, np.ravel(value), rtol=rtol, atol=1e-14)
