# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces on disk: another process neither traces nor prints what one before it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.kernels import trace_cache
from dynamics_ros.kernels.process import disk_cache
from dynamics_ros.multibody import kernel_set

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

Q = np.linspace(0.1, 0.7, 7)

PROGRAM = f"""
import sys
import numpy as np
from dynamics_ros import Robot
from dynamics_ros.kernels import compilation
from dynamics_ros.multibody import kernel_set

def never(*_, **__):
    raise AssertionError('done again')

if sys.argv[1] == 'second':
    kernel_set.trace = never
    compilation.trace_module = never
robot = Robot.from_urdf({str(ARM)!r}, backend='llvm')
q = np.linspace(0.1, 0.7, 7)
print(robot.inverse_dynamics(q, q, q).tolist(), robot.forward_kinematics(q, 'tool0').tolist())
print({{kernel.backend for kernel in robot.kernels.values()}})
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(disk_cache.VARIABLE, raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    return tmp_path / 'cache' / 'dynamics_ros'


@pytest.fixture
def traced(monkeypatch):
    """Names of the kernels that are traced from now on."""
    trace, names = kernel_set.trace, []

    def noted(function, inputs, name, *arguments, **options):
        names.append(name)
        return trace(function, inputs, name, *arguments, **options)

    monkeypatch.setattr(kernel_set, 'trace', noted)
    return names


def arm(**options):
    return Robot.from_urdf(ARM, **options)


def test_a_second_process_neither_traces_nor_prints(folder):
    told = [
        subprocess.run(
            [sys.executable, '-c', PROGRAM, which], capture_output=True, text=True, check=True
        ).stdout
        for which in ('first', 'second')
    ]
    assert told[0] == told[1]
    assert "{'llvm'}" in told[0]


def test_what_comes_from_the_disk_is_the_same(folder, traced):
    robots = [arm(), arm(), arm(backend='python')]
    answers = [robot.inverse_dynamics(Q, Q, Q) for robot in robots]
    assert traced == ['inverse_dynamics']
    assert answers[1].tolist() == answers[0].tolist()
    assert answers[2] == pytest.approx(answers[0], abs=1e-12)
    kernels = [robot.kernel('inverse_dynamics') for robot in robots]
    derivatives = [kernel.derivative('q')(Q, Q, Q) for kernel in kernels]
    assert derivatives[1].tolist() == derivatives[0].tolist()


def test_another_robot_is_another_trace(folder, traced):
    one = arm()
    for robot in (one, one.with_locked({'elbow_pitch': 0.5}), arm(root_joint='floating')):
        robot.kernel('mass_matrix')
    assert len(traced) == 3


def test_a_change_of_the_package_makes_it_trace_anew(folder, traced, monkeypatch):
    arm().gravity(Q)
    monkeypatch.setattr(trace_cache, '_code', lambda rooms: 'of another version')
    arm().gravity(Q)
    assert traced == ['gravity', 'gravity']


@pytest.mark.parametrize('without', ['cache', 'sources'])
def test_without_cache_or_sources_nothing_is_kept(folder, traced, monkeypatch, without):
    if without == 'cache':
        monkeypatch.setenv(disk_cache.VARIABLE, 'off')
    else:
        monkeypatch.setattr(trace_cache, '_code', lambda rooms: '')
    for _ in range(2):
        assert np.isfinite(arm().gravity(Q)).all()
    assert traced == ['gravity', 'gravity']


def test_a_damaged_file_is_made_anew(folder, traced):
    arm().gravity(Q)
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    assert np.isfinite(arm().gravity(Q)).all()
    assert traced == ['gravity', 'gravity']
