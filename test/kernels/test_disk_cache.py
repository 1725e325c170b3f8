# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Machine code and traces on disk: used again, never trusted where others can write."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.process import disk_cache
from dynamics_ros.multibody import kernel_methods

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

NAME = disk_cache.key('a name')
CODE = bytes(range(256)) * 5

TWICE = """
define i64 @twice(i64 %x) {
  %y = mul i64 %x, 2
  ret i64 %y
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(disk_cache.VARIABLE, raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    return tmp_path / 'cache' / 'dynamics_ros'


@pytest.fixture
def compiled(monkeypatch):
    """The texts that are compiled from now on."""
    llvm_compiler.platform()
    binding = llvm_compiler.load()
    parse, texts = binding.parse_assembly, []

    def parsed(text, *arguments):
        texts.append(text)
        return parse(text, *arguments)

    monkeypatch.setattr(binding, 'parse_assembly', parsed)
    return texts


def twice():
    code = llvm_compiler.linked(llvm_compiler.object_code(lambda: TWICE), ['twice'])
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.addresses['twice'])
    return function(21)


def mode(path):
    return path.stat().st_mode & 0o777


class TestUse:
    def test_what_was_compiled_is_not_compiled_again(self, folder, compiled):
        assert twice() == 42
        assert TWICE in compiled
        compiled.clear()
        assert twice() == 42
        assert TWICE not in compiled

    def test_only_the_owner_may_look(self, folder):
        twice()
        assert mode(folder) == 0o700
        assert [mode(x) for x in folder.iterdir()] == [0o600]

    def test_off(self, folder, compiled, monkeypatch):
        monkeypatch.setenv(disk_cache.VARIABLE, 'off')
        assert twice() == twice() == 42
        assert compiled.count(TWICE) == 2
        assert not folder.exists()

    def test_those_not_used_for_the_longest_time_go(self, folder, monkeypatch):
        names = [disk_cache.key(str(i)) for i in range(4)]
        for i, name in enumerate(names):
            disk_cache.write(name, CODE)
            os.utime(folder / (name + disk_cache.SUFFIX), (1000 + i, 1000 + i))
        assert disk_cache.read(names[0]) == CODE  # and so used
        monkeypatch.setattr(disk_cache, 'LIMIT', 3 * (len(CODE) + 32))
        monkeypatch.setattr(disk_cache, '_written', 0)
        monkeypatch.setattr(disk_cache, 'CHECK_EVERY', 2 * len(CODE))
        disk_cache.write(names[0], CODE)
        assert all(disk_cache.read(x) is not None for x in names[1:]), 'not looked at each time'
        for i, name in enumerate(names[1:], 1):
            os.utime(folder / (name + disk_cache.SUFFIX), (1000 + i, 1000 + i))
        disk_cache.write(disk_cache.key('one more'), CODE)
        assert [disk_cache.read(x) is not None for x in names] == [True, False, False, True]


class TestTrust:
    """What somebody else could have written is not run."""

    @pytest.fixture
    def file(self, folder):
        disk_cache.write(NAME, CODE)
        assert disk_cache.read(NAME) == CODE
        return folder / (NAME + disk_cache.SUFFIX)

    @pytest.mark.parametrize('bits', [0o720, 0o702, 0o777])
    def test_a_folder_that_others_can_write(self, folder, file, bits):
        folder.chmod(bits)
        before = file.stat().st_mtime_ns
        assert disk_cache.read(NAME) is None
        disk_cache.write(NAME, b'new')
        assert file.stat().st_mtime_ns == before

    @pytest.mark.parametrize('what', ['writable', 'of another user', 'file', 'folder'])
    def test_a_file_that_somebody_else_could_have_written(
        self, folder, file, tmp_path, monkeypatch, what
    ):
        somebody_else = os.geteuid() + 1
        if what == 'writable':
            file.chmod(0o602)
        elif what == 'of another user':
            monkeypatch.setattr(os, 'geteuid', lambda: somebody_else)
        else:  # a link in its place
            place = file if what == 'file' else folder
            place.rename(tmp_path / 'elsewhere')
            place.symlink_to(tmp_path / 'elsewhere')
        assert disk_cache.read(NAME) is None

    @pytest.mark.parametrize(
        'damage',
        [
            lambda x: x[:-1],
            lambda x: b'',
            lambda x: x[:100] + bytes([x[100] ^ 1]) + x[101:],
            lambda x: bytes([x[0] ^ 128]) + x[1:],
            lambda x: x + b'more',
        ],
    )
    def test_a_damaged_file(self, folder, compiled, damage):
        twice()
        (file,) = folder.iterdir()
        whole = file.read_bytes()
        file.write_bytes(damage(whole))
        compiled.clear()
        assert twice() == 42
        assert TWICE in compiled
        assert file.read_bytes() == whole


@pytest.mark.parametrize('place', ['a file', 'a full disk'])
def test_where_nothing_can_be_kept_compiling_goes_on(folder, monkeypatch, place):
    def full(*_, **__):
        raise OSError(28, 'no space left on device')

    if place == 'a file':
        folder.parent.mkdir()
        folder.touch()
    else:
        monkeypatch.setattr(os, 'replace', full)
    assert twice() == 42
    assert place == 'a file' or list(folder.iterdir()) == []


Q = np.linspace(0.1, 0.7, 7)

PROGRAM = f"""
import sys
import numpy as np
from dynamics_ros import Robot
from dynamics_ros.kernels import kernel as compilation
from dynamics_ros.multibody import kernel_methods

def never(*_, **__):
    raise AssertionError('done again')

if sys.argv[1] == 'second':
    kernel_methods.trace = never
    compilation.trace_module = never
robot = Robot.from_urdf({str(ARM)!r}, backend='llvm')
q = np.linspace(0.1, 0.7, 7)
print(robot.inverse_dynamics(q, q, q).tolist(), robot.forward_kinematics(q, 'tool0').tolist())
print({{kernel.backend for kernel in robot.kernels.values()}})
"""


@pytest.fixture
def traced(monkeypatch):
    """Names of the kernels that are traced from now on."""
    trace, names = kernel_methods.trace, []

    def noted(function, inputs, name, *arguments, **options):
        names.append(name)
        return trace(function, inputs, name, *arguments, **options)

    monkeypatch.setattr(kernel_methods, 'trace', noted)
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


@pytest.mark.parametrize('without', ['cache', 'sources'])
def test_without_cache_or_sources_nothing_is_kept(folder, traced, monkeypatch, without):
    if without == 'cache':
        monkeypatch.setenv(disk_cache.VARIABLE, 'off')
    else:
        monkeypatch.setattr(disk_cache, '_OWN', disk_cache.sources('absent'))
    for _ in range(2):
        assert np.isfinite(arm().gravity(Q)).all()
    assert traced == ['gravity', 'gravity']


def test_other_sources_are_other_traces(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, 'PACKAGE', tmp_path)
    (tmp_path / 'kernels').mkdir()
    (tmp_path / 'kernels' / '.#a.py').symlink_to('nowhere')
    file, found = tmp_path / 'kernels' / 'a.py', set()
    for text in ('x = 1', 'x = 2'):
        file.write_text(text)
        # As an image with one time for all files has it.
        os.utime(file, (1000, 1000))
        found.add(disk_cache.origin('a robot', disk_cache.sources('kernels')))
    found.add(disk_cache.origin('a robot', disk_cache.sources('absent')))
    assert len(found) == 3
