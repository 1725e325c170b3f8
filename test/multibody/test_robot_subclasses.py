# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subclasses of Robot and what is left of earlier calls: methods stay what they are."""

import copy
import pickle

import numpy as np
import pytest
from arm import ARM

from dynamics_ros import Robot

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
