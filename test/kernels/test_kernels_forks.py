# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Processes that fork while kernels are being compiled: the children compile what they need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from forking import CASES
from patience import PATIENCE

PROGRAM = Path(__file__).with_name('forking.py')


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='there are no forks here')
@pytest.mark.parametrize('case', CASES)
@pytest.mark.few(2)
def test_a_forked_process_compiles_what_it_needs(case):
    pytest.importorskip('llvmlite')
    done = subprocess.run(
        [sys.executable, '-W', 'ignore::DeprecationWarning', str(PROGRAM), case],
        # What is on disk would be no work for LLVM.
        env={**os.environ, 'DYNAMICS_ROS_CACHE': 'off'},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, 'all is well\n'), (done.stdout, done.stderr)
