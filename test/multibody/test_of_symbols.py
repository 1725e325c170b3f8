# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of a robot inside functions that users compile."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from laws import assert_close
from random_robots import SEEDS, random_state, robots
from tolerances import LAW

from dynamics_ros import Robot, kernels
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.multibody.definitions import DEFINITIONS
from dynamics_ros.multibody.definitions.definition import Options

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
SIZES = {'q': 'nq', 'q0': 'nq', 'q1': 'nq', 'rate': 'nq'}
METHODS = [
    name
    for name, definition in DEFINITIONS.items()
    if not definition.internal and definition.options is not Options.PRESCRIBED
]


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM, 'floating', backend='python')


@pytest.mark.parametrize('name', METHODS)
def test_every_method_that_has_a_kernel_can_be_traced(arm, name):
    method = getattr(arm, name)
    frame = ('tool0',) if DEFINITIONS[name].names_a_frame else ()
    taken = [
        x
        for x in inspect.signature(method).parameters
        if x not in ('frame', 'reference', 'external_wrenches', 'out')
    ]
    rng = np.random.default_rng(0)
    values = {}
    for x in taken:
        size = arm.nq if SIZES.get(x) == 'nq' else arm.nv
        values[x] = arm.random_configuration(rng) if x.startswith('q') else rng.normal(size=size)
        if x == 't':
            values[x] = np.float64(0.3)

    def scaled(*arguments):
        result = method(*arguments, *frame)
        if isinstance(result, tuple):
            return {f'part_{i}': x for i, x in enumerate(result)}
        return 2.0 * result

    shapes = {x: value.shape for x, value in values.items()}
    found = kernels.compile(scaled, shapes, 'scaled', backend='python')(*values.values())
    wanted = method(*values.values(), *frame)
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            assert_close(one, other, LAW)
    else:
        assert_close(found, 2.0 * wanted, LAW)


def test_numbers_and_symbols_mix(arm):
    q = arm.neutral()

    def tool(angle):
        moved = [*q[:-1], angle]
        return arm.forward_kinematics(moved, 'tool0')[:3, 3] - np.ones(3)

    kernel = kernels.compile(tool, {'angle': ()}, backend='python')
    q[-1] = 0.7
    assert_close(kernel(0.7), arm.forward_kinematics(q, 'tool0')[:3, 3] - 1.0)


def test_wrenches_may_be_symbols(arm):
    q, v = arm.neutral(), np.zeros(arm.nv)
    kernel = kernels.compile(
        lambda wrench: arm.inverse_dynamics(q, v, v, {'tool0': wrench}), {'wrench': 6}
    )
    wrench = np.arange(6.0)
    assert_close(kernel(wrench), arm.inverse_dynamics(q, v, v, {'tool0': wrench}), LAW)
    J = arm.jacobian(q, 'tool0', 'local')
    assert_close(kernel.derivative('wrench')(wrench), -J.T, LAW)


@settings(max_examples=10)
@given(robots(roots=('fixed',), joints=(1, 3)), SEEDS)
def test_torques_of_gravity_are_the_slope_of_the_potential(robot, seed):
    s = random_state(robot, seed)
    energy = kernels.compile(robot.potential_energy, {'q': robot.nq}, 'energy', backend='python')
    assert_close(energy.derivative('q')(s.q), robot.gravity(s.q), LAW)


@pytest.mark.parametrize(
    ('function', 'error', 'problem'),
    [
        (lambda r, q: r.gravity(q[:3]), InvalidArgumentError, r'q: traced values of shape \(3,\)'),
        (lambda r, q: r.forward_kinematics(q, 'nose'), UnknownFrameError, 'nose'),
        (lambda r, q: r.inverse_kinematics(np.eye(4), 'tool0', q), InvalidArgumentError, 'traced'),
        (
            lambda r, q: r.constrained_inverse_dynamics(q, q, q, 'tool0'),
            InvalidArgumentError,
            'may call methods that have a kernel',
        ),
    ],
)
def test_what_cannot_be_traced_is_told(arm, function, error, problem):
    with pytest.raises(error, match=problem):
        kernels.compile(lambda q: function(arm, q), {'q': arm.nq})


def test_what_is_no_number_is_refused_as_before(arm):
    for wrong in (None, 'q', [[0.0], [0.0, 1.0]], np.array([None] * arm.nq)):
        with pytest.raises(InvalidArgumentError, match='q'):
            arm.gravity(wrong)
