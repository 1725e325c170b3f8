# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods fill the arrays of their callers, and stay what they are in subclasses and copies."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from arm import ARM

from dynamics_ros import Robot
from dynamics_ros.algorithms.quantity import DEFINITIONS
from dynamics_ros.errors import InvalidArgumentError, SingularError

pytest.importorskip('llvmlite')
import copy
import pickle

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


class Doubled(Robot):
    """Overrides methods with and without names."""

    def gravity(self, q):
        """Twice as heavy."""
        return 2.0 * super().gravity(q)

    def forward_kinematics(self, q, frame):
        return 2.0 * super().forward_kinematics(q, frame)


class Named(Robot):
    """Wants other arguments than Robot and has more attributes."""

    def __init__(self, model, backend='auto', *, label='left'):
        self.label = label
        super().__init__(model, backend=backend)
        self.notes = {'made': 1}


def robot_of(kind, backend='llvm'):
    return kind.from_urdf(ARM, backend=backend)


def state(robot):
    return np.linspace(0.1, 0.5, robot.nq)


class TestOverrides:
    def test_of_a_subclass_wins_at_every_call(self, backend):
        robot, base = robot_of(Doubled, backend), robot_of(Robot, backend)
        q, frame = state(robot), robot.frame_names[-1]
        for _ in range(3):
            np.testing.assert_array_equal(robot.gravity(q), 2.0 * base.gravity(q))
            np.testing.assert_array_equal(
                robot.forward_kinematics(q, frame), 2.0 * base.forward_kinematics(q, frame)
            )
        assert robot.gravity.__doc__ == 'Twice as heavy.'


def test_a_method_is_pickled_as_a_method_before_and_after(backend):
    robot = robot_of(Robot, backend)
    q = state(robot)
    for name, arguments in (('gravity', (q,)), ('frame_velocity', (q, q, 'tool0', 'local'))):
        for _ in range(2):
            again = pickle.loads(pickle.dumps(getattr(robot, name)))
            assert again.__name__ == name
            np.testing.assert_array_equal(again(*arguments), getattr(robot, name)(*arguments))


WAYS = {
    'copy': copy.copy,
    'deepcopy': copy.deepcopy,
    'pickle': lambda robot: pickle.loads(pickle.dumps(robot)),
    'with_payload': lambda robot: robot.with_payload(robot.frame_names[-1], 1.0),
    'with_gravity': lambda robot: robot.with_gravity((0.0, 0.0, -1.6)),
}


class TestCopies:
    @pytest.mark.parametrize('way', WAYS)
    @pytest.mark.parametrize('used', [False, True])
    def test_of_a_subclass_are_of_the_subclass(self, way, used):
        robot = robot_of(Doubled)
        q = state(robot)
        if used:
            robot.gravity(q), robot.coriolis(q, q)
        other = WAYS[way](robot)
        assert type(other) is Doubled
        np.testing.assert_array_equal(other.gravity(q), 2.0 * Robot.gravity(other, q))

    @pytest.mark.parametrize('way', WAYS)
    def test_have_the_attributes_that_were_added(self, way):
        robot = Named(robot_of(Robot).model, label='right')
        robot.tool = 'gripper'
        robot.gravity(state(robot))
        other = WAYS[way](robot)
        assert (type(other), other.label, other.tool) == (Named, 'right', 'gripper')
        assert other.notes == {'made': 1}
        assert (other.notes is robot.notes) == (way not in ('deepcopy', 'pickle'))
