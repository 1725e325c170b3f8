# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls in reference cycles, and in processes that fork."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from forking import CASES
from patience import PATIENCE

PROGRAM = Path(__file__).with_name('call_cycles.py')


@pytest.mark.parametrize(
    ('variables', 'arguments'),
    [
        ({'PYTHONMALLOC': 'malloc', 'MALLOC_PERTURB_': '34'}, []),
        ({'PYTHONMALLOC': 'debug'}, []),
        ({'PYTHONMALLOC': 'malloc', 'MALLOC_PERTURB_': '34'}, ['often']),
    ],
    ids=['freed memory is overwritten', 'debug allocator', 'collected at every allocation'],
)
@pytest.mark.few(1)
def test_every_kind_of_call_outlives_what_is_collected_around_it(variables, arguments):
    pytest.importorskip('llvmlite')
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert done.stdout.endswith('all are alive\n')
    assert not done.stderr, done.stderr


FORKS_PROGRAM = Path(__file__).with_name('forking.py')


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='there are no forks here')
@pytest.mark.parametrize('case', CASES)
@pytest.mark.few(2)
def test_a_forked_process_compiles_what_it_needs(case):
    pytest.importorskip('llvmlite')
    done = subprocess.run(
        [sys.executable, '-W', 'ignore::DeprecationWarning', str(FORKS_PROGRAM), case],
        # What is on disk would be no work for LLVM.
        env={**os.environ, 'DYNAMICS_ROS_CACHE': 'off'},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, 'all is well\n'), (done.stdout, done.stderr)
