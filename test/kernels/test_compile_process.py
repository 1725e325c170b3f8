# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels that are traced and compiled in a process beside: the same, whatever becomes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from patience import PATIENCE

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.process import background
from dynamics_ros.kernels.process.background import enable_process, run

MAIN = os.getpid()
ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(autouse=True)
def _enabled(monkeypatch):
    # The other process finds the functions of this file.
    folder = str(Path(__file__).parent)
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join([folder, *filter(None, sys.path)]))
    monkeypatch.setenv('ASKING', str(MAIN))
    enable_process()
    yield
    background.disable_process()


def beside(function):
    """The result of a function from a thread, as those that compile are."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run, function).result()


def refuse():
    raise InvalidArgumentError('this', 'is refused', 'nothing')


def end_there():
    """End the process in the middle of the work; here it is a number."""
    if os.environ['ASKING'] != str(os.getpid()):
        os._exit(3)
    return 7


def test_a_thread_has_its_work_done_in_one_other_process():
    numbers = {beside(os.getpid) for _ in range(3)}
    assert len(numbers) == 1
    assert numbers != {MAIN}


def test_errors_are_raised_as_they_are():
    with pytest.raises(InvalidArgumentError, match='this: is refused'):
        beside(refuse)


@pytest.mark.parametrize('function', [lambda: 7, partial(lambda x: x, 7), end_there])
def test_what_the_other_process_cannot_do_is_done_here(function):
    assert beside(function) == 7
    assert beside(os.getpid) != MAIN


def test_a_process_that_was_killed_is_replaced():
    first = beside(os.getpid)
    os.kill(first, signal.SIGKILL)
    second = beside(os.getpid)
    assert second not in (first, MAIN)


@pytest.mark.parametrize('root_joint', ['fixed', 'floating'])
def test_kernels_from_there_are_those_from_here(root_joint, monkeypatch):
    answer, asked = background._answer, []
    monkeypatch.setattr(background, '_answer', lambda x: asked.append(x) or answer(x))
    there, here = (Robot.from_urdf(ARM, root_joint=root_joint) for _ in range(2))
    names = 'inverse_dynamics', 'forward_dynamics', 'mass_matrix'
    rng = np.random.default_rng(3)
    q, v, a = here.random_configuration(rng), rng.normal(size=here.nv), rng.normal(size=here.nv)

    def all_of(robot):
        return [getattr(robot, name)(*(q, v, a)[: 1 if 'matrix' in name else 3]) for name in names]

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(all_of, there).result()
    # Each is traced there, and then compiled there.
    assert len(asked) == 2 * len(names)
    for one, other in zip(found, all_of(here), strict=True):
        np.testing.assert_array_equal(one, other)
    if root_joint == 'floating':
        with pytest.raises(InvalidArgumentError, match='quaternion'):
            there.mass_matrix(2.0 * q)


def test_the_end_does_not_wait_for_the_process():
    program = (
        'import time\n'
        'from functools import partial\n'
        'from dynamics_ros.kernels.process import background\n'
        'background.enable_process()\n'
        f'background.submit(1, partial(background.run, partial(time.sleep, {PATIENCE})))\n'
        'while background._process is None:\n'
        '    time.sleep(0.01)\n'
    )
    # Its errors go where the other process may write, too, so that both have ended then.
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=PATIENCE / 2
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
