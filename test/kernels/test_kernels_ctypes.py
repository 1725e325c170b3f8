# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The extension module: what it refuses, and calls through ctypes where there is none."""

import importlib
import subprocess
import sys
import types

import numpy as np
import pytest
from arm import ARM
from patience import PATIENCE

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, program, trace
from dynamics_ros.kernels import kernel as machine_code
from dynamics_ros.kernels.program import Copy, Program, Step

pytest.importorskip('llvmlite')


def traced_twice():
    return trace(lambda x: [2.0 * e for e in x], {'x': 3}, 'twice', 'two times x')


@pytest.fixture
def no_extension(monkeypatch):
    for module in (machine_code, program):
        monkeypatch.setattr(module, 'native', None)


class TestWithoutExtension:
    def test_takes_any_layout_and_hands_on_the_rest(self, no_extension):
        kernel = Kernel(traced_twice(), 'llvm')
        x = np.arange(6.0)
        np.testing.assert_array_equal(kernel(x[::2]), 2.0 * x[::2])
        np.testing.assert_array_equal(kernel([1, 2, 3]), [2.0, 4.0, 6.0])
        assert kernel(np.ones((4, 3))).shape == (4, 3)
        out = np.empty(3)
        assert kernel.call(x[:3], out=out) is out
        for wrong in (x, [0.0, np.nan, 0.0], np.full(3, np.inf), 1.0, np.ones(1)):
            with pytest.raises(InvalidArgumentError, match='x'):
                kernel.call(wrong)
        for call in (lambda: kernel.call(), lambda: kernel.call(x, x), lambda: kernel.call(x, y=1)):
            with pytest.raises(TypeError):
                call()

    def test_a_program_runs_and_stops_at_a_refusal(self, no_extension):
        twice = Kernel(traced_twice(), 'llvm')
        a, b, c = np.ones(3), np.zeros(3), np.zeros((3, 1))
        run = Program([Step(twice, (a,), (b,)), Copy(b, c)]).run
        assert run() is True
        np.testing.assert_array_equal(c.ravel(), 2.0)
        a[0] = np.nan
        assert run() is False
        np.testing.assert_array_equal(c.ravel(), 2.0)


ROBOT = f"""
import sys
sys.modules['dynamics_ros.kernels._native'] = None
import logging
logging.basicConfig(level=logging.INFO)
import numpy as np
from dynamics_ros import Robot
from dynamics_ros.kernels import kernel
assert kernel.native is None
robot, plain = (Robot.from_urdf({str(ARM)!r}, backend=x) for x in ('llvm', 'python'))
q, frame = robot.neutral() + 0.1, robot.frame_names[-1]
for name, arguments in (('inverse_dynamics', (q, q, q)), ('jacobian', (q, frame, 'local'))):
    for _ in range(2):
        wanted = getattr(plain, name)(*arguments)
        out = np.empty_like(wanted)
        np.testing.assert_allclose(getattr(robot, name)(*arguments), wanted, atol=1e-12)
        assert getattr(robot, name)(*arguments, out=out) is out
        np.testing.assert_allclose(out, wanted, atol=1e-12)
print('right')
"""


def test_a_robot_without_the_extension_says_so_once_and_is_right():
    done = subprocess.run(
        [sys.executable, '-c', ROBOT],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == 'right\n'
    assert done.stderr.count('kernels are called through ctypes') == 1


@pytest.mark.skipif(machine_code.native is None, reason=machine_code.why_not_native)
class TestExtension:
    def test_is_the_one_of_these_sources(self):
        """A failure here means that the extension is to be built anew: scripts/setup."""
        assert machine_code.native.VERSION == machine_code.VERSION

    def test_an_object_without_calls_runs_the_function(self):
        class Plain:
            @machine_code.method_of
            def size(self, x, frame='tip'):
                return len(x), frame

        assert Plain().size([1, 2]) == (2, 'tip')
        wrong = Plain()
        for table in (7, {'size': 7}, {'size': {'tip': 7}}, {7: {}}):
            wrong._direct_calls = table
            assert wrong.size([1], 'tip') == (1, 'tip')


def test_an_extension_that_does_not_fit_is_not_used(monkeypatch):
    def fails(error):
        raise error

    other = types.SimpleNamespace(VERSION=machine_code.VERSION + 1)
    for load, said in (
        (lambda _: fails(ImportError('of another NumPy')), 'of another NumPy'),
        (lambda _: fails(RuntimeError('of another ABI')), 'of another ABI'),
        (lambda _: other, 'another version'),
    ):
        monkeypatch.setattr(importlib, 'import_module', load)
        module, reason = machine_code._loaded()
        assert module is None and said in reason
