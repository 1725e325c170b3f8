# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots whose gravity and payload are inputs of their kernels."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tolerances import EXACT, LAW

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.quantity import DEFINITIONS, Options
from dynamics_ros.export import export_kernels
from dynamics_ros.kernels import kernel as compilation

GRAVITY = (1.0, -2.0, -9.0)
PAYLOAD = (2.0, (0.02, 0.0, 0.1), np.diag([0.01, 0.02, 0.015]))

METHODS = {
    name: [*x.inputs]
    for name, x in DEFINITIONS.items()
    if not x.internal
    and x.options in (Options.NONE, Options.WRENCHES)
    and {*x.inputs} <= {'q', 'v', 'a', 'tau'}
}
"""Inputs of the methods of a state."""


@pytest.fixture(scope='module', params=[('xarm7', 'fixed'), ('ur5', 'floating')])
def folded(request):
    name, root_joint = request.param
    return Robot.from_urdf(urdf_path(name), root_joint)


@pytest.fixture(scope='module')
def adjustable(folded):
    return folded.adjustable(folded.frame_names[-1])


@pytest.fixture
def compiled(monkeypatch):
    """The traces that are compiled meanwhile."""
    traces, make = [], compilation.Compilation

    def noted(trace, *more):
        traces.append(trace)
        return make(trace, *more)

    monkeypatch.setattr('dynamics_ros.kernels.kernel.Compilation', noted)
    return traces


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    v, a, tau = rng.normal(size=(3, robot.nv))
    return {'q': q, 'v': v, 'a': a, 'tau': tau}


def loaded(robot, gravity=GRAVITY, payload=PAYLOAD):
    return robot.with_gravity(gravity).with_payload(robot.frame_names[-1], *payload)


def results(robot, name, values):
    found = getattr(robot, name)(*[values[x] for x in METHODS[name]])
    return found if isinstance(found, tuple) else (found,)


def assert_same(a, b, name, values, tolerance=LAW):
    for mine, other in zip(results(a, name, values), results(b, name, values), strict=True):
        scale = max(1.0, float(np.abs(other).max()))
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.few(5)
def test_every_method_is_that_of_the_folded_robot(folded, adjustable, name):
    values = state(folded)
    assert_same(adjustable, folded, name, values)
    assert_same(loaded(adjustable), loaded(folded), name, values)


def test_of_many_states_in_plain_python_and_in_vectors():
    folded = Robot.from_urdf(urdf_path('ur5'))
    many = np.array([state(folded, seed)['q'] for seed in range(50)])
    wanted = loaded(folded).gravity(many)
    for backend in ('python', 'llvm'):
        robot = loaded(Robot.from_urdf(urdf_path('ur5'), backend=backend, adjustable=True))
        np.testing.assert_allclose(robot.gravity(many), wanted, rtol=EXACT, atol=1e-12)


def test_a_change_compiles_nothing_and_leaves_the_robot_before_alone(adjustable, compiled):
    values = state(adjustable)
    before = {name: results(adjustable, name, values) for name in METHODS}
    compiled.clear()
    for i in range(50):
        other = loaded(adjustable, (0.1 * i, 0.0, -9.81), (0.1 * i,))
        results(other, list(METHODS)[i % len(METHODS)], values)
        assert other.kernels.keys() >= adjustable.kernels.keys()
        assert other.shares_kernels_with(adjustable)
    assert not compiled
    for name, found in before.items():
        for mine, other in zip(found, results(adjustable, name, values), strict=True):
            # The first were perhaps computed by plain Python, while machine code was being made.
            scale = max(1.0, float(np.abs(other).max()))
            np.testing.assert_allclose(mine, other, rtol=0.0, atol=EXACT * scale)


@pytest.mark.parametrize(
    'way', [copy.copy, copy.deepcopy, lambda robot: pickle.loads(pickle.dumps(robot))]
)
def test_copies_are_adjustable_with_kernels_of_their_own(way):
    robot = loaded(Robot.from_urdf(urdf_path('ur5'), adjustable=True))
    values = state(robot)
    results(robot, 'gravity', values)
    other = way(robot)
    assert not other.shares_kernels_with(robot) and not other.kernels
    assert_same(other, robot, 'gravity', values, EXACT)
    assert_same(other.with_gravity((0, 0, 0)), robot.with_gravity((0, 0, 0)), 'gravity', values)
    assert other.with_gravity((0, 0, 0)).shares_kernels_with(other)


@pytest.mark.parametrize('mass', [0.0, 1.5])
def test_a_body_without_mass_is_no_exception(mass):
    arm = """<robot name="arm"><link name="base"/><link name="rod"><inertial><mass value="1"/>
      <origin xyz="0 0 0.2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
      </inertial></link><link name="tip"/>
      <joint name="a" type="continuous"><parent link="base"/><child link="rod"/></joint>
      <joint name="b" type="continuous"><parent link="rod"/><child link="tip"/>
      <origin xyz="0 0 0.5"/><axis xyz="0 1 0"/></joint></robot>"""
    folded, values = Robot.from_urdf(arm), {'q': np.array([0.3, 0.5]), 'v': np.array([1.0, -2.0])}
    robot = folded.adjustable('tip').with_payload('tip', mass, (0.1, 0.0, 0.0))
    right = folded.with_payload('tip', mass, (0.1, 0.0, 0.0))
    for name in ('gravity', 'mass_matrix', 'coriolis', 'center_of_mass', 'kinetic_energy'):
        assert_same(robot, right, name, values)


def test_exported_kernels_have_the_load_as_constants(folded, adjustable, tmp_path):
    texts = []
    for robot, name in ((folded, 'a'), (adjustable, 'b')):
        code, _ = export_kernels(loaded(robot), ['gravity'], tmp_path / name, 'x')
        texts.append(code.read_text())
    assert texts[0] == texts[1]


def test_a_derivative_that_does_not_depend_on_what_is_adjusted(folded):
    s = state(folded)
    q, v, a = s['q'], s['v'], s['a']
    by_a = folded.adjustable().kernel('inverse_dynamics').derivative('a')
    np.testing.assert_allclose(by_a(q, v, a), folded.mass_matrix(q), rtol=1e-10, atol=1e-12)
