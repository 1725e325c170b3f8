# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A large kernel answers as plain Python while machine code is made, and then changes over."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from patience import PATIENCE

from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.kernels import kernel as compilation
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.process import background


def polynomial(terms=20):
    def function(x):
        total = x[0]
        for i in range(terms):
            total = total * x[1] + x[0] * float(i)
        return [total, x[1]]

    return trace(function, {'x': 2}, 'polynomial')


@pytest.fixture
def gate(monkeypatch):
    """Hold compiling back until this event is set."""
    event = threading.Event()
    object_code = llvm_compiler.object_code

    event.reached = threading.Event()

    def waiting(*arguments):
        event.reached.set()
        assert event.wait(PATIENCE)
        return object_code(*arguments)

    llvm_compiler.platform()
    idle = threading.Event()
    background.submit(sys.maxsize, idle.set)
    assert idle.wait(PATIENCE)
    monkeypatch.setattr(llvm_compiler, 'object_code', waiting)
    yield event
    event.set()


X = np.array([0.3, 0.9])


def test_it_answers_before_and_after(gate):
    kernel = Kernel(polynomial(), wait=False)
    early = kernel.call
    assert kernel.backend == 'python'
    assert not kernel.ready
    assert not kernel.wait(0.01)
    plain = kernel(X)
    assert kernel.bind(len) is len
    gate.set()
    assert kernel.compilation.wait(PATIENCE)
    assert kernel.wait(PATIENCE)
    assert kernel.ready
    assert kernel.call is not early
    assert kernel.backend == 'llvm'
    assert kernel.compile_seconds > 0.0
    for call in (kernel, kernel.call, early):
        np.testing.assert_allclose(call(X), plain, rtol=1e-13)
    assert kernel.call.__name__ == 'polynomial'


def test_small_kernels_and_those_asked_for_are_compiled_at_once(gate):
    gate.set()
    large = polynomial(compilation.WAIT_OPERATIONS)
    assert Kernel(polynomial()).backend == 'llvm'
    assert Kernel(large, wait=True).backend == 'llvm'
    assert Kernel(large, 'llvm').backend == 'llvm'
    assert Kernel(large, 'python', wait=False).ready
    gate.clear()
    assert not Kernel(large).ready


def test_a_process_may_end_while_a_kernel_is_compiled():
    program = (
        'from dynamics_ros.kernels import Kernel, trace\n'
        'def f(x):\n'
        '    for i in range(8000):\n'
        '        x = x * x + float(i)\n'
        '    return x\n'
        "kernels = [Kernel(trace(f, {'x': ()}, 'f'), wait=False) for _ in range(3)]\n"
        'kernels[0].wait(0.05)\n'
        "print('end')\n"
    )
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, 'end\n', '')
