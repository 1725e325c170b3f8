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
