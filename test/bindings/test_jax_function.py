# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tests of `jax_cases.py`, in a process of their own: JAX's threads beside tests that fork."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec('jax') is None, reason='no jax here'),
    pytest.mark.slow,
]


def test_all_cases_pass():
    file = Path(__file__).with_name('jax_cases.py')
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(file)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
    # A case that is left out is not passed.
    assert ' skipped' not in run.stdout, run.stdout[-2_000:]
