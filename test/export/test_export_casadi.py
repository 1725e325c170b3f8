# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exported kernels as external functions of CasADi: its protocol, and CasADi where it is there."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from patience import PATIENCE
from random_robots import random_urdf
from tolerances import EXACT, LAW

from dynamics_ros import Robot, export_kernels

C = shutil.which('cc') or shutil.which('gcc')
STRICT = ['-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror', '-O1', '-shared', '-fPIC']
KERNELS = ['inverse_dynamics:link_3', 'mass_matrix', 'forward_dynamics', 'kinetic_energy']
NUMBERS = ctypes.POINTER(ctypes.c_double)

pytestmark = pytest.mark.skipif(C is None, reason='no C compiler here')


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(random_urdf(5, 3, ('revolute',)), backend='python')


@pytest.fixture(scope='module')
def library(robot, tmp_path_factory):
    folder = tmp_path_factory.mktemp('casadi')
    code, _ = export_kernels(robot, KERNELS, folder, 'my', casadi=True)
    made = folder / 'my.so'
    subprocess.run([C, *STRICT, '-o', made, code, '-lm'], check=True, timeout=PATIENCE)
    return made


def dense(function, count):
    """Rows and columns, as the function tells CasADi."""
    function.restype = ctypes.POINTER(ctypes.c_longlong)
    found = [function(ctypes.c_longlong(i))[:3] for i in range(count)]
    assert all(kind == 1 for *_, kind in found)
    return [(rows, columns) for rows, columns, _ in found]


def called(library, name, *arguments, left_out=()):
    """What an external function returns, called as CasADi does; matrices come by columns."""
    functions = ctypes.CDLL(str(library))
    sizes = [dense(functions[f'{name}_sparsity_{x}'], functions[f'{name}_n_{x}']()) for x in IO]
    needed = [ctypes.c_longlong(-1) for _ in range(4)]
    assert functions[f'{name}_work'](*map(ctypes.byref, needed)) == 0
    assert [x.value for x in needed[:3]] == [len(sizes[0]), len(sizes[1]), 0]
    inputs = [np.asfortranarray(np.reshape(x, n), float) for x, n in zip(arguments, sizes[0])]
    results = [np.full(n, np.nan, order='F') for n in sizes[1]]
    memory = np.full(needed[3].value + 1, 7.0)
    given = (NUMBERS * len(inputs))(
        *(None if i in left_out else x.ctypes.data_as(NUMBERS) for i, x in enumerate(inputs))
    )
    wanted = (NUMBERS * len(results))(*(x.ctypes.data_as(NUMBERS) for x in results))
    assert functions[name](given, wanted, None, memory.ctypes.data_as(NUMBERS), 0) == 0
    assert memory[-1] == 7.0  # no more than it has asked for
    return results


IO = ('in', 'out')


def state(robot):
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, robot.nv))
    return q, v, a, rng.normal(size=6)


def test_values_are_those_of_the_robot(robot, library):
    q, v, a, wrench = state(robot)
    (tau,) = called(library, 'my_inverse_dynamics_link_3_casadi', q, v, a, wrench)
    expected = robot.inverse_dynamics(q, v, a, {'link_3': wrench})
    np.testing.assert_allclose(tau[:, 0], expected, rtol=LAW)
    (M,) = called(library, 'my_mass_matrix_casadi', q)
    np.testing.assert_allclose(M, robot.mass_matrix(q), atol=EXACT)
    (energy,) = called(library, 'my_kinetic_energy_casadi', q, v)
    assert energy[0, 0] == pytest.approx(robot.kinetic_energy(q, v))


def test_jacobians_are_derivatives_by_each_input(robot, library):
    q, v, a, wrench = state(robot)
    nothing = np.zeros(robot.nv)
    name = 'jac_my_inverse_dynamics_link_3_casadi'
    dq, dv, da, dw = called(library, name, q, v, a, wrench, nothing)
    expected = robot.inverse_dynamics_derivatives(q, v, a, {'link_3': wrench})
    for ours, theirs in zip((dq, dv, da), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
    J = robot.jacobian(q, 'link_3', 'local')
    np.testing.assert_allclose(dw, -J.T, atol=1e-10)


def test_casadi_calls_and_differentiates_them(robot, library):
    casadi = pytest.importorskip('casadi')
    q, v, a, wrench = state(robot)
    function = casadi.external('my_inverse_dynamics_link_3_casadi', str(library))
    assert function.name_in() == ['q', 'v', 'a', 'external_wrench_0']
    expected = robot.inverse_dynamics_derivatives(q, v, a, {'link_3': wrench})
    x = casadi.MX.sym('q', robot.nq)
    slope = casadi.Function('slope', [x], [casadi.jacobian(function(x, v, a, wrench), x)])
    np.testing.assert_allclose(np.array(slope(q)), expected[0], atol=1e-10)
    matrix = casadi.external('my_mass_matrix_casadi', str(library))
    np.testing.assert_allclose(np.array(matrix(q)), robot.mass_matrix(q), atol=EXACT)
