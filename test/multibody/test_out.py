# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods that are one kernel fill the arrays of their callers, at the first call and after it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from arm import ARM

from dynamics_ros import Robot
from dynamics_ros.algorithms.quantity import DEFINITIONS
from dynamics_ros.errors import InvalidArgumentError, SingularError

pytest.importorskip('llvmlite')

PLAIN = Robot.from_urdf(ARM, root_joint='floating', backend='python')
RNG = np.random.default_rng(5)
TIP, FRAMES = PLAIN.frame_names[-1], list(PLAIN.frame_names[-2:])
METHODS = {
    name: x
    for name, x in inspect.getmembers(Robot, inspect.isroutine)
    if name in DEFINITIONS and 'out' in inspect.signature(x).parameters
}
CALLS_AT_ONCE = 3


def inputs(states=()):
    """Arguments of methods by name."""
    q = np.array([PLAIN.random_configuration(RNG) for _ in range(int(np.prod(states)))])
    q, q1 = (x.reshape(*states, PLAIN.nq) for x in (q, q[::-1]))
    v, a, tau = RNG.normal(size=(3, *states, PLAIN.nv))
    rate, t = RNG.normal(size=(*states, PLAIN.nq)), RNG.uniform(size=states)
    prescribed = np.arange(PLAIN.nv) % 2 == 0
    return {
        **{'q': q, 'q0': q, 'q1': q1, 'v': v, 'a': a, 'tau': tau, 'rate': rate},
        **{'t': t if states else float(t), 'prescribed': prescribed, 'frame': TIP},
    }


def arguments(name, states=()):
    given = inputs(states)
    wanted = inspect.signature(METHODS[name]).parameters.values()
    wanted = [x for x in wanted if x.default is x.empty or x.name == 'frame']
    return [given[x.name] for x in wanted if x.name != 'self']


def pieces(answer):
    return answer if isinstance(answer, tuple) else (answer,)


def room_for(answer):
    made = tuple(np.full(np.shape(x), np.nan) for x in pieces(answer))
    return made if isinstance(answer, tuple) else made[0]


def assert_fills(robot, name, given, **named):
    wanted = getattr(PLAIN, name)(*given, **named)
    for _ in range(CALLS_AT_ONCE):
        out = room_for(wanted)
        answer = getattr(robot, name)(*given, **named, out=out)
        assert type(answer) is type(wanted) or not np.shape(wanted)
        assert all(x is y for x, y in zip(pieces(answer), pieces(out)))
        for x, y in zip(pieces(out), pieces(wanted)):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


@pytest.fixture(params=['llvm', 'python'], scope='module')
def backend(request):
    return request.param


@pytest.fixture
def robot(backend):
    return Robot.from_urdf(ARM, root_joint='floating', backend=backend)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.few(20)
def test_every_method_fills_single_states_and_batches(robot, name):
    assert_fills(robot, name, arguments(name))
    assert_fills(robot, name, arguments(name, (2, 2)))
    assert_fills(robot, name, arguments(name))


@pytest.mark.parametrize(
    'name', [name for name, x in METHODS.items() if 'frame' in inspect.signature(x).parameters]
)
def test_frames_in_any_reference_and_several_at_once(robot, name):
    *given, _ = arguments(name)
    each = np.stack([getattr(PLAIN, name)(*given, frame) for frame in FRAMES])
    np.testing.assert_allclose(getattr(robot, name)(*given, tuple(FRAMES)), each, atol=1e-9)
    assert_fills(robot, name, [*given, FRAMES])
    if 'reference' in inspect.signature(METHODS[name]).parameters:
        assert_fills(robot, name, [*given, TIP, 'local'])
        assert_fills(robot, name, [*given, TIP], reference='world')


@pytest.mark.parametrize(
    'name',
    [name for name, x in METHODS.items() if 'external_wrenches' in inspect.signature(x).parameters],
)
@pytest.mark.few(4)
def test_under_wrenches(robot, name):
    wrenches = {FRAMES[0]: RNG.normal(size=(2, 6)), TIP: RNG.normal(size=6)}
    assert_fills(robot, name, arguments(name, (2,)), external_wrenches=wrenches)


def test_a_wrong_one_is_refused_by_name_at_every_call(robot):
    n, q = robot.nv, inputs()['q']
    for _ in range(2):
        for out in (np.empty(n), np.empty((n, n), np.float32), (np.empty((n, n)),), 'M'):
            with pytest.raises(InvalidArgumentError, match='out: '):
                robot.mass_matrix(q, out=out)
        with pytest.raises(InvalidArgumentError, match='out: '):
            robot.jacobian(q, TIP, out=np.empty((6, n + 1)))
        with pytest.raises(TypeError, match='positional'):
            robot.mass_matrix(q, np.empty((n, n)))
        robot.mass_matrix(q), robot.jacobian(q, TIP)


def test_an_input_may_be_filled(robot):
    given = inputs()
    wanted = PLAIN.integrate(given['q'], given['v'])
    for _ in range(CALLS_AT_ONCE):
        q = given['q'].copy()
        assert robot.integrate(q, given['v'], out=q) is q
        np.testing.assert_allclose(q, wanted, atol=1e-12)


def test_a_state_that_is_refused_is_refused_with_it(backend):
    massless = (
        '<robot name="rod"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    rod, still = Robot.from_urdf(massless, backend=backend), np.zeros(1)
    arm = Robot.from_urdf(ARM, backend=backend)
    for _ in range(2):
        with pytest.raises(SingularError):
            rod.forward_dynamics(still, still, still, out=np.empty(1))
        q = arm.neutral() + 0.1
        with pytest.raises(InvalidArgumentError, match='overflow'):
            arm.nonlinear_effects(q, np.full(arm.nv, 1e200), out=np.empty(arm.nv))
        arm.nonlinear_effects(q, q)
