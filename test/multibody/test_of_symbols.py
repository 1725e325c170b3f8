# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods of a robot inside functions that users compile."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from laws import assert_close
from tolerances import LAW
from urdf_texts import pendulum

from dynamics_ros import Robot, kernels
from dynamics_ros.algorithms.quantity import DEFINITIONS, Options
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError

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


def case_of(robot, name):
    """A method that has a kernel, arguments of one state, and a frame if it takes one."""
    method = getattr(robot, name)
    taken = [
        x
        for x in inspect.signature(method).parameters
        if x not in ('frame', 'reference', 'external_wrenches', 'out')
    ]
    rng = np.random.default_rng(0)
    values = {}
    for x in taken:
        size = robot.nq if SIZES.get(x) == 'nq' else robot.nv
        values[x] = robot.random_configuration(rng) if x.startswith('q') else rng.normal(size=size)
        if x in ('t', 'dt'):
            values[x] = np.float64(0.3)
    return values, (robot.frame_names[-1],) if DEFINITIONS[name].names_a_frame else ()


def of_symbols(robot, name, values, rest):
    """Result of a function that calls the method on traced values."""

    def scaled(*arguments):
        result = getattr(robot, name)(*arguments, *rest)
        if isinstance(result, tuple):
            return {f'part_{i}': 2.0 * x for i, x in enumerate(result)}
        return 2.0 * result

    shapes = {x: np.shape(value) for x, value in values.items()}
    return kernels.compile(scaled, shapes, 'scaled', backend='python')(*values.values())


def check_equal(found, wanted):
    parts = [x if isinstance(x, tuple) else (x,) for x in (found, wanted)]
    for one, other in zip(*parts, strict=True):
        assert_close(one, 2.0 * other, LAW)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.few(12)
def test_every_method_that_has_a_kernel_can_be_traced(arm, name):
    values, frame = case_of(arm, name)
    wanted = getattr(arm, name)(*values.values(), *frame)
    check_equal(of_symbols(arm, name, values, frame), wanted)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('first', ['numbers', 'symbols'])
@pytest.mark.few(12)
def test_numbers_and_symbols_come_in_any_order(name, first):
    """Machine code replaces a method after its first call, for each frame and reference."""
    robot = Robot.from_urdf(pendulum('p'), 'planar', adjustable=True)
    values, frame = case_of(robot, name)
    rests = [frame]
    if frame:
        rests += [(['base', *frame],), ('base',)]
        if 'reference' in inspect.signature(getattr(robot, name)).parameters:
            rests += [(*frame, 'local'), (*frame, 'local_world_aligned')]
    for rest in rests:
        if first == 'symbols':
            before = of_symbols(robot, name, values, rest)
        for _ in range(2):
            wanted = getattr(robot, name)(*values.values(), *rest)
            check_equal(of_symbols(robot, name, values, rest), wanted)
        if first == 'symbols':
            check_equal(before, wanted)
    with pytest.raises(InvalidArgumentError, match='traced'):
        kernels.compile(
            lambda *x: getattr(robot, name)(*(y[:1] if np.ndim(y) else [y] for y in x), *frame),
            {x: np.shape(value) for x, value in values.items()},
        )


def test_wrenches_may_be_symbols(arm):
    q, v = arm.neutral(), np.zeros(arm.nv)
    kernel = kernels.compile(
        lambda wrench: arm.inverse_dynamics(q, v, v, {'tool0': wrench}), {'wrench': 6}
    )
    wrench = np.arange(6.0)
    assert_close(kernel(wrench), arm.inverse_dynamics(q, v, v, {'tool0': wrench}), LAW)
    J = arm.jacobian(q, 'tool0', 'local')
    assert_close(kernel.derivative('wrench')(wrench), -J.T, LAW)


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
