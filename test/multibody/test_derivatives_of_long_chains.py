# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of forward dynamics that NumPy solves, for robots with many joints in a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import LAW

from benchmarks.descriptions import generic_chain
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, SingularError
from dynamics_ros.multibody import written_methods

JOINTS = 40

FEW = examples(4)

MASSLESS = """<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""


@pytest.fixture
def solved_by_numpy(monkeypatch):
    """Makes every robot count as one with many joints in a row."""
    monkeypatch.setattr(written_methods, 'FACTORIZED_IN_KERNELS', 0)


@pytest.fixture(scope='module')
def long_chain():
    return Robot.from_urdf(generic_chain(JOINTS), backend='llvm')


@FEW
@given(robots(), SEEDS)
def test_are_those_of_the_kernel(robot, seed):
    """Any tree, with mimic joints, moving bases and wrenches."""
    s = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    wrenches = {robot.frame_names[-1]: rng.normal(size=6)}
    for external in (None, wrenches):
        expected = robot.forward_dynamics_derivatives(s.q, s.v, s.tau, external)
        found = robot._solved_derivatives(s.q, s.v, s.tau, external, None)
        for ours, kernels in zip(found, expected, strict=True):
            assert_close(ours, kernels, LAW, 10.0)


def test_batches_lists_and_given_arrays(long_chain):
    q, v, tau = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 2, JOINTS))
    found = long_chain.forward_dynamics_derivatives(q, v, tau)
    out = tuple(np.empty((JOINTS, JOINTS)) for _ in range(3))
    for i in range(2):
        one = long_chain.forward_dynamics_derivatives(list(q[i]), v[i], tau[i], out=out)
        for array, given_array, several in zip(one, out, found, strict=True):
            assert array is given_array
            np.testing.assert_allclose(array, several[i], atol=1e-9 * np.abs(several).max())


def test_wrong_arguments_are_named(long_chain):
    zeros = np.zeros(JOINTS)
    for position, name in enumerate(('q', 'v', 'tau')):
        for wrong, said in ((np.zeros(2), 'shape'), (zeros * np.nan, 'NaN')):
            arguments = [zeros, zeros, zeros]
            arguments[position] = wrong
            with pytest.raises(InvalidArgumentError, match=f'{name}: {said}'):
                long_chain.forward_dynamics_derivatives(*arguments)
    with pytest.raises(InvalidArgumentError, match=r'^v: .*overflow'):
        long_chain.forward_dynamics_derivatives(zeros, zeros + 1e200, zeros)


def test_a_singular_mass_matrix_is_told(solved_by_numpy):
    zero = np.zeros(1)
    with pytest.raises(SingularError, match='moves nothing'):
        Robot.from_urdf(MASSLESS, backend='python').forward_dynamics_derivatives(zero, zero, zero)
