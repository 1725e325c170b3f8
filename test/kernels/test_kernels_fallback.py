# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cannot be compiled runs as plain Python, and one log line says why."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.kernels import kernel as compilation
from dynamics_ros.kernels.llvm import compiler as llvm_compiler


def traced_affine():
    return trace(
        lambda A, x, s: [s * (row[0] * x[0] + row[1] * x[1]) for row in A],
        {'A': (3, 2), 'x': 2, 's': ()},
        'affine',
        's * A x',
    )


@pytest.fixture(autouse=True)
def _nothing_was_said_yet():
    compilation.warn_once.cache_clear()
    llvm_compiler.load.cache_clear()


def assert_plain(caplog, reason):
    with caplog.at_level(logging.INFO, 'dynamics_ros.kernels'):
        kernel, again = Kernel(traced_affine()), Kernel(traced_affine())
        # The thread that compiles may have kernels of others before them.
        kernel.wait()
        again.wait()
    assert kernel.backend == again.backend == 'python'
    messages = [x.getMessage() for x in caplog.records if x.levelno == logging.WARNING]
    # Once for all kernels; of those of others, batches may be told.
    (message,) = [x for x in messages if 'plain Python' in x]
    assert reason in message
    np.testing.assert_array_equal(kernel(np.ones((3, 2)), [1.0, 2.0], 1.0), 3.0)


def test_without_llvmlite(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, 'llvmlite', None)
    assert_plain(caplog, 'llvmlite cannot be imported')


def test_where_memory_that_was_written_may_not_be_run(monkeypatch, caplog):
    monkeypatch.setattr(llvm_compiler, 'why_forbidden', lambda: 'no machine code here')
    assert_plain(caplog, 'no machine code here')


UNDER_MEMORY_DENY_WRITE_EXECUTE = """
import ctypes
import logging
import subprocess
import sys

PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
    sys.exit('this kernel cannot')
import numpy as np
from dynamics_ros.kernels import Kernel, trace

logging.basicConfig()
double = Kernel(trace(lambda x: [2.0 * v for v in x], {'x': 3}, 'double', '2 x'))
print(double.backend, double(np.ones(3)).tolist())
"""


@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='a facility of Linux')
def test_a_process_that_may_not_run_what_it_wrote_lives():
    # As a service of systemd with MemoryDenyWriteExecute=yes: machine code ended it by SIGSEGV.
    ended = subprocess.run(
        [sys.executable, '-c', UNDER_MEMORY_DENY_WRITE_EXECUTE],
        capture_output=True,
        text=True,
        check=False,
    )
    if 'this kernel cannot' in ended.stderr:
        pytest.skip('Linux before 6.3 cannot forbid it')
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ['python', '[2.0,', '2.0,', '2.0]']
    assert 'MemoryDenyWriteExecute=no' in ended.stderr


def test_when_the_compiler_fails(monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError('no such processor')

    monkeypatch.setattr(llvm_compiler, 'object_code', broken)
    assert_plain(caplog, 'affine runs as plain Python, which is slower: no such processor')
