# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subclasses of Robot and what is left of earlier calls: methods stay what they are."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from arm import ARM

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError

pytest.importorskip('llvmlite')


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


@pytest.fixture(params=['llvm', 'python'])
def backend(request):
    return request.param


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

    def test_of_an_instance_wins_at_every_call(self, backend):
        robot = robot_of(Robot, backend)
        q = state(robot)
        right = Robot.gravity(robot_of(Robot, backend), q)
        robot.gravity = lambda q: -Robot.gravity(robot, q)
        for _ in range(3):
            np.testing.assert_array_equal(robot.gravity(q), -right)
        del robot.gravity
        np.testing.assert_array_equal(robot.gravity(q), right)

    def test_that_comes_after_the_first_call_wins_on_an_instance(self, backend):
        robot = robot_of(Robot, backend)
        q = state(robot)
        robot.gravity(q)
        robot.gravity = lambda _: 'mine'
        assert robot.gravity(q) == 'mine'
        Robot.gravity(robot, q)
        assert robot.gravity(q) == 'mine'
        assert copy.copy(robot).gravity(q) == 'mine'

    def test_a_method_of_a_subclass_may_run_any_kernel(self):
        class Poses(Robot):
            def tip(self, q):
                return self._run(('pose', self.frame_names[-1]), q)

        robot = robot_of(Poses)
        assert [robot.tip(state(robot)).shape for _ in range(2)] == [(7,), (7,)]


def told(method):
    return inspect.signature(method), method.__doc__, method.__name__


def calls(robot):
    """Arguments of methods that go straight to machine code after their first call."""
    q, frame = state(robot), robot.frame_names[-1]
    return {
        'gravity': (q,),
        'nonlinear_effects': (q, q),
        'inverse_dynamics': (q, q, q),
        'momentum_observer_terms': (q, q),
        'forward_kinematics': (q, frame),
        'jacobian': (q, frame),
        'frame_velocity': (q, q, frame, 'local'),
    }


class TestHistory:
    @pytest.mark.parametrize('name', ['gravity', 'inverse_dynamics', 'jacobian', 'frame_velocity'])
    def test_documentation_and_signature_stay(self, name):
        robot = robot_of(Robot)
        before = told(getattr(robot, name))
        getattr(robot, name)(*calls(robot)[name])
        assert name in robot._direct_calls, 'not the machine code that this is about'
        assert told(getattr(robot, name)) == before

    def test_out_is_filled_at_every_call(self, backend):
        robot, plain = robot_of(Robot, backend), robot_of(Robot, 'python')
        for name, arguments in calls(robot).items():
            wanted = getattr(plain, name)(*arguments)
            several = isinstance(wanted, tuple)
            for _ in range(3):
                out = [np.full_like(x, np.nan) for x in (wanted if several else (wanted,))]
                answer = getattr(robot, name)(*arguments, out=tuple(out) if several else out[0])
                assert all(x is y for x, y in zip(answer if several else (answer,), out))
                for x, y in zip(out, wanted if several else (wanted,)):
                    np.testing.assert_allclose(x, y, atol=1e-12)

    def test_an_override_may_hand_out_on(self, backend):
        class Filled(Robot):
            def gravity(self, q, *, out=None):
                answer = super().gravity(q, out=out)
                answer *= 2.0
                return answer

        robot, base = robot_of(Filled, backend), robot_of(Robot, backend)
        q, out = state(robot), np.empty(robot.nv)
        for _ in range(3):
            assert robot.gravity(q, out=out) is out
            np.testing.assert_array_equal(out, 2.0 * base.gravity(q))
        doubled = robot_of(Doubled, backend)
        for _ in range(2):
            with pytest.raises(TypeError, match='out'):
                doubled.gravity(q, out=out)
            doubled.gravity(q)

    def test_wrong_numbers_of_arguments_are_refused_at_every_call(self, backend):
        robot = robot_of(Robot, backend)
        for name, arguments in calls(robot).items():
            for _ in range(2):
                with pytest.raises(TypeError, match='argument'):
                    getattr(robot, name)()
                with pytest.raises(TypeError, match='argument'):
                    getattr(robot, name)(*arguments, *arguments)
                getattr(robot, name)(*arguments)

    def test_a_kernel_with_fewer_arguments_than_its_method_does_not_take_its_place(self):
        robot = robot_of(Robot)
        q = state(robot)
        for _ in range(2):
            robot.hybrid_dynamics(q, q, q, q, np.zeros(robot.nv, bool))
            with pytest.raises(TypeError, match='prescribed'):
                robot.hybrid_dynamics(q, q, q, q)

    def test_a_method_is_pickled_as_a_method_before_and_after(self, backend):
        robot = robot_of(Robot, backend)
        for name, arguments in calls(robot).items():
            for _ in range(2):
                again = pickle.loads(pickle.dumps(getattr(robot, name)))
                assert again.__name__ == name
                for a, b in zip(again(*arguments), getattr(robot, name)(*arguments)):
                    np.testing.assert_array_equal(a, b)

    def test_a_kernel_of_machine_code_says_that_it_cannot_be_pickled(self):
        with pytest.raises(TypeError, match='pickle'):
            pickle.dumps(robot_of(Robot).kernel('gravity').call)


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

    @pytest.mark.parametrize('way', WAYS)
    def test_compute_by_themselves(self, way):
        robot = robot_of(Robot)
        q = state(robot)
        robot.gravity(q), robot.jacobian(q, robot.frame_names[-1])
        other = WAYS[way](robot)
        assert other.gravity.__self__ is other, 'a call of the first robot was taken over'
        fresh = Robot(other.model)
        np.testing.assert_array_equal(other.gravity(q), fresh.gravity(q))
        assert other.total_mass == fresh.total_mass

    def test_payload_and_gravity_stay_what_they_are(self):
        robot = Named(robot_of(Robot).model).with_payload('tool0', 2.0).with_gravity((0, 0, -1.6))
        bare = copy.deepcopy(robot).with_payload(None)
        assert robot.total_mass - bare.total_mass == pytest.approx(2.0)
        assert [*bare.model.gravity] == [0.0, 0.0, -1.6]
        with pytest.raises(InvalidArgumentError):
            robot.with_payload('tool0', -1.0)
