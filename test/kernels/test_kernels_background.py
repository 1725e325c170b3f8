# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A large kernel answers as plain Python while machine code is made, and then changes over."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from types import FunctionType

import numpy as np
import pytest
from patience import PATIENCE

from dynamics_ros.kernels import Kernel, compilation, trace
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.process import compile_queue as background


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


def test_a_job_that_fails_does_not_stop_the_others(caplog):
    def broken():
        raise RuntimeError('a broken job')

    done = threading.Event()
    background.submit(0, broken)
    background.submit(1, done.set)
    assert done.wait(PATIENCE)
    assert 'a broken job' in caplog.text


def test_it_answers_before_and_after(gate):
    kernel = Kernel(polynomial(), wait=False)
    early = kernel.call
    assert kernel.backend == 'python'
    assert not kernel.ready
    assert not kernel.wait(0.01)
    plain = kernel(X)
    assert kernel.bind(len) is len
    gate.set()
    assert kernel.wait(PATIENCE)
    assert kernel.ready
    assert kernel.backend == 'llvm'
    assert kernel.compile_seconds > 0.0
    for call in (kernel, kernel.call, early):
        np.testing.assert_allclose(call(X), plain, rtol=1e-13)
    assert kernel.call.__name__ == 'polynomial'


def test_callbacks_run_once_when_it_is_ready(gate):
    kernel = Kernel(polynomial(), wait=False)
    called, done = [], threading.Event()
    kernel.on_ready(lambda: called.append(kernel.backend))
    kernel.on_ready(done.set)
    assert called == []
    gate.set()
    assert done.wait(PATIENCE)
    kernel.on_ready(lambda: called.append('again'))
    assert called == ['llvm', 'again']


def test_threads_may_call_it_meanwhile(gate):
    kernel = Kernel(polynomial(), wait=False)
    expected = kernel(X)
    many = np.tile(X, (40, 1))
    stop, wrong, calls = threading.Event(), [], [0]

    def work():
        while not stop.is_set():
            for result in (kernel(X), kernel(many)[3]):
                calls[0] += 1
                if not np.allclose(result, expected, rtol=1e-12):
                    wrong.append(result)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    gate.set()
    assert kernel.wait(PATIENCE)
    before = calls[0]
    while calls[0] < before + 50:
        kernel(X)
    stop.set()
    for worker in workers:
        worker.join()
    assert not wrong


def plain_functions():
    """The living functions that were printed from traces called polynomial."""
    gc.collect()
    return [
        x
        for x in gc.get_objects()
        if isinstance(x, FunctionType) and x.__code__.co_filename == '<trace polynomial>'
    ]


def test_plain_functions_that_answered_meanwhile_are_given_back(gate):
    kernel = Kernel(polynomial(), wait=False)
    kernel(X)
    assert plain_functions()
    gate.set()
    assert kernel.wait(PATIENCE)
    assert kernel.backend == 'llvm'
    assert plain_functions() == []


def test_nobody_waits_for_a_kernel_that_is_gone(gate):
    first, second = Kernel(polynomial(), wait=False), Kernel(polynomial(), wait=False)
    gone = weakref.ref(second)
    del second
    gc.collect()
    assert gone() is None
    gate.set()
    assert first.wait(PATIENCE)


def test_a_compiler_that_fails_leaves_plain_python(monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError('out of order')

    compilation._warn_once.cache_clear()
    llvm_compiler.platform()
    monkeypatch.setattr(llvm_compiler, 'object_code', broken)
    kernel = Kernel(polynomial(), wait=False)
    assert kernel.wait(PATIENCE)
    assert kernel.backend == 'python'
    assert 'out of order' in caplog.text
    assert kernel(X).shape == (2,)


def test_small_kernels_and_those_asked_for_are_compiled_at_once(gate):
    gate.set()
    large = polynomial(compilation.WAIT_OPERATIONS)
    assert Kernel(polynomial()).backend == 'llvm'
    assert Kernel(large, wait=True).backend == 'llvm'
    assert Kernel(large, 'llvm').backend == 'llvm'
    assert Kernel(large, 'python', wait=False).ready
    gate.clear()
    assert not Kernel(large).ready


def test_small_kernels_do_not_wait_for_a_large_one(gate):
    large = Kernel(polynomial(), wait=False)
    small = Kernel(polynomial(3))
    assert not small.ready
    assert Kernel(polynomial(2), wait=False)(X).shape == (2,)
    gate.set()
    assert large.wait(PATIENCE)
    assert small.wait(PATIENCE)
    assert small.backend == 'llvm'


def test_the_smallest_are_compiled_first(gate):
    first = Kernel(polynomial(), wait=False)
    assert gate.reached.wait(PATIENCE)  # so that none of the others is begun before it
    order, done = [], threading.Event()
    waiting = [Kernel(polynomial(terms), wait=False) for terms in (7, 5, 9)]
    for kernel in waiting:
        kernel.on_ready(lambda kernel=kernel: order.append(kernel.operation_count))
    waiting[-1].on_ready(done.set)
    gate.set()
    assert first.wait(PATIENCE)
    assert done.wait(PATIENCE)
    assert order == sorted(order)
    assert len(order) == 3


def test_machine_code_is_thrown_away_without_waiting_for_the_compiler(gate):
    class Engine:
        def close(self):
            closed_by.append(threading.current_thread().name)

    closed_by = []
    kernel = Kernel(polynomial(), wait=False)
    llvm_compiler.MachineCode(Engine(), [])
    assert closed_by == []
    gate.set()
    assert kernel.wait(PATIENCE)
    last = Kernel(polynomial(), wait=False)
    assert last.wait(PATIENCE)
    assert closed_by == ['dynamics_ros_compile']


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
