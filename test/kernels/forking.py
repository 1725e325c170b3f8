# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A program that forks while kernels are compiled or wait for it; run by test_named_calls.py.

``forking.py CASE`` prints ``all is well`` when the child, and the parent after it, did what they
should.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import threading
import time

import numpy as np

from dynamics_ros import Robot
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.kernels.process import background

URDF = """<robot name="pendulum"><link name="base"/><link name="rod">
<inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
</joint></robot>"""
LIMIT = 200.0
X = np.array([0.5, 0.25])


def traced(length, seed=0.1):
    def function(x):
        value = x[0]
        for i in range(length):
            value = value * x[1] + (seed + i)
        return [value]

    return trace(function, {'x': 2}, 'polynomial')


def expected(length, seed=0.1):
    value = X[0]
    for i in range(length):
        value = value * X[1] + (seed + i)
    return value


def check(kernel, length, seed=0.1):
    assert kernel.wait(LIMIT), f'{kernel!r} was not compiled in process {os.getpid()}'
    assert kernel.backend == 'llvm', kernel.backend
    assert math.isclose(kernel(X)[0], expected(length, seed), rel_tol=1e-12)


def in_a_child(function):
    """Run a function in a forked process; return whether it came back."""
    child = os.fork()
    if child == 0:
        signal.alarm(int(LIMIT))  # a child that hangs ends by itself
        try:
            function()
        except BaseException as error:
            print('child:', repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, f'the child ended with {status}'


def while_llvm_compiles():
    """A long trace is inside of LLVM when the process forks."""
    length = 6000
    large = Kernel(traced(length), 'auto', wait=False)
    inside = threading.Event()
    while not inside.is_set():
        if background.llvm.acquire(blocking=False):
            background.llvm.release()
        elif large.backend == 'python':
            inside.set()
        assert not large.ready, 'it was compiled before it was seen'

    def child():
        check(Kernel(traced(3), 'auto', wait=True), 3)
        check(large, length)

    in_a_child(child)
    check(large, length)


def with_locks_held():
    """Another thread is tracing a kernel of a robot."""
    robot = Robot.from_urdf(URDF, backend='llvm')
    inside, go_on = threading.Event(), threading.Event()

    def hold():
        with robot._shared_kernels.lock:
            inside.set()
            assert go_on.wait(LIMIT)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert inside.wait(LIMIT)

    def child():
        assert math.isclose(robot.gravity(np.zeros(1))[0], -0.981)
        assert robot.kernel('gravity').backend == 'llvm'

    in_a_child(child)
    go_on.set()
    child()


def in_children_of_children():
    kernel = Kernel(traced(6), 'auto', wait=False)
    in_a_child(lambda: in_a_child(lambda: check(kernel, 6)))
    check(kernel, 6)


def at_every_moment():
    """Forks at many moments of a compiler that never rests."""
    stop = threading.Event()

    def work():
        for i in range(100000):
            if stop.is_set():
                return
            Kernel(traced(40, i + 0.5), 'auto', wait=False).wait(LIMIT)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for i in range(20):
            time.sleep(0.002 * i)  # not for luck: each fork at another moment
            pending = Kernel(traced(30, i + 0.25), 'auto', wait=False)
            in_a_child(lambda pending=pending, i=i: check(pending, 30, i + 0.25))
    finally:
        stop.set()
        worker.join()


def gravity_of(robot):
    kernel = robot.kernel('gravity')
    ready = kernel.wait(LIMIT)
    return float(robot.gravity(np.zeros(1))[0]), kernel.backend, ready


def by_multiprocessing(method):
    robot = Robot.from_urdf(URDF, backend='auto')
    robot.gravity(np.zeros(1))
    pending = Kernel(traced(3000), 'auto', wait=False)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for value, backend, ready in pool.map(gravity_of, [robot] * 4):
            assert math.isclose(value, -0.981) and (backend, ready) == ('llvm', True)
        # A method of a robot that has been used is a job like any other.
        values = pool.map(robot.gravity, [np.zeros(1)] * 4)
    assert all(math.isclose(value[0], -0.981) for value in values)
    check(pending, 3000)


CASES = {
    'llvm': while_llvm_compiles,
    'locks': with_locks_held,
    'children': in_children_of_children,
    'moments': at_every_moment,
    'fork': lambda: by_multiprocessing('fork'),
    'forkserver': lambda: by_multiprocessing('forkserver'),
    'spawn': lambda: by_multiprocessing('spawn'),
}

if __name__ == '__main__':
    CASES[sys.argv[1]]()
    print('all is well')
