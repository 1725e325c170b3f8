# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exported C as a loaded library, by the system's compiler and without a warning."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

from dynamics_ros.kernels import PlainFunction, c_source

COMPILER = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
VECTOR = np.ctypeslib.ndpointer(np.float64, flags='C_CONTIGUOUS')
STRICT = ('-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror')

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C compiler on this machine')


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
