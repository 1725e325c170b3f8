# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work and memory that kernels take: bounded, and given back."""

import ctypes
import gc
import os
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, TooLargeError
from dynamics_ros.kernels.graph import expression as normal_form
from dynamics_ros.kernels.process import background
from dynamics_ros.multibody import kernel_methods

LINK = """<link name="l{0}"><inertial><mass value="0.1"/><origin xyz="0.01 0.02 0.03"/>
<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.003"/></inertial></link>
<joint name="j{0}" type="continuous"><parent link="{1}"/><child link="l{0}"/>
<origin xyz="0.1 0 0.02" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/></joint>"""


def chain(joints):
    links = (LINK.format(i, f'l{i - 1}' if i else 'base') for i in range(joints))
    return f'<robot name="chain"><link name="base"/>{"".join(links)}</robot>'


@pytest.fixture(autouse=True)
def alone():
    """What other tests have left in this process is not searched again and again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def collect():
    while gc.collect():
        pass


def test_a_function_is_given_up_where_it_takes_too_much(monkeypatch):
    monkeypatch.setattr(normal_form, 'MAX_NODES', 5000)
    robot = Robot.from_urdf(chain(40))
    q = np.zeros(robot.nq)
    assert robot.gravity(q).shape == (40,)  # what it can do it does
    for traced in (kernel_methods._traced, lambda *_: pytest.fail('it is traced again')):
        monkeypatch.setattr(kernel_methods, '_traced', traced)
        with pytest.raises(TooLargeError, match=r'chain: mass_matrix.* 5000 .*joints') as caught:
            robot.mass_matrix(q)
        assert isinstance(caught.value, DynamicsRosError)
        assert caught.value.operations == 5000
        assert robot.gravity(q).shape == (40,)


def counts():
    """Living objects, finalizers of machine code, file descriptors, threads; memory [MB]."""
    collect()
    descriptors = len(os.listdir('/proc/self/fd'))
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    living = len(gc.get_objects())
    codes = len(weakref.finalize._registry)
    return living, codes, descriptors, threading.active_count(), pages * 4 / 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path('/proc/self/statm').exists(), reason='the system does not tell')
def test_a_hundred_robots_leave_nothing_behind():
    pytest.importorskip('llvmlite')
    text = chain(2)

    class Keeping(Robot):
        kept: list

    def use(robots):
        for i in range(robots):
            robot = Keeping.from_urdf(text).with_payload('l1', 1.0)
            q = np.full(2, 0.1)
            robot.gravity(q), robot.forward_kinematics(q, 'l1')
            robot.kept = [robot.gravity, robot.forward_kinematics, robot]
            if i % 10 == 0:
                collect()

    use(20)
    growth = []
    for _ in range(3):
        before = counts()
        use(100)
        after = counts()
        living, code, descriptors, threads, megabytes = (b - a for a, b in zip(before, after))
        # A robot has hundreds of objects and its kernels thousands.
        assert living < 1000
        assert (code, descriptors, threads) == (0, 0, 0)
        growth.append(megabytes)
        # A robot of this size takes some 0.2 MB with its two kernels. A heap that other tests have
        # left in pieces grows now and then, and a leak each time.
        if megabytes < 7.0:
            return
    assert min(growth) < 7.0, growth


BLOCK, COUNT = 2000, 50_000


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), 'malloc_trim'), reason='this C library has no malloc_trim'
)
def test_pages_between_what_is_still_in_use_are_given_back():
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    kept = []

    def use():
        blocks = [libc.malloc(BLOCK) for _ in range(COUNT)]
        for block in blocks:
            ctypes.memset(block, 1, BLOCK)
        # The last one stays, so that the end of the heap of this thread does.
        kept.append(blocks.pop())
        for block in blocks:
            libc.free(block)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    before = counts()[-1]
    background.give_back()
    assert before - counts()[-1] > 0.5 * BLOCK * COUNT / 2**20
    libc.free(kept[0])
