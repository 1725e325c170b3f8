# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a user gets wrong is answered by an error of the package that says what would be right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownOptionError
from dynamics_ros.multibody.end_effector import manipulability

ARM_TEXT = (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text()
ARM = Robot.from_urdf(ARM_TEXT)
Q = ARM.random_configuration(0)
TARGET = ARM.forward_kinematics(Q, 'tool0')


@pytest.mark.parametrize(
    ('call', 'option', 'meant'),
    [
        (lambda **o: ARM.inverse_kinematics(TARGET, 'tool0', **o), 'sed', 'seed'),
        (
            lambda **o: ARM.inverse_kinematics(TARGET, 'tool0', **o),
            'position_tolerence',
            'position_tolerance',
        ),
        (lambda **o: ARM.inverse_kinematics(TARGET[None], 'tool0', **o), 'time_out', 'timeout'),
        (lambda **o: ARM.inverse_kinematics(TARGET[None][:0], 'tool0', **o), 'sed', 'seed'),
        (lambda **o: ARM.all_inverse_kinematics(TARGET, 'tool0', **o), 'max_solution', 'max_sol'),
        (lambda **o: ARM.constrained_inverse_dynamics(Q, Q, Q, [], **o), 'criterium', 'criterion'),
    ],
)
def test_an_option_that_there_is_not(call, option, meant):
    with pytest.raises(UnknownOptionError) as refused:
        call(**{option: 1.0})
    error = refused.value
    assert isinstance(error, DynamicsRosError) and isinstance(error, TypeError)
    assert (error.option, error.argument) == (option, option)
    assert str(error).startswith(f'{option}: no such option; expected {meant}')
    assert all(name in str(error) for name in error.known)
    assert 'robot' not in error.known


def test_an_option_that_is_like_no_other():
    with pytest.raises(UnknownOptionError, match='zzz: no such option; expected one of target, '):
        ARM.inverse_kinematics(TARGET, 'tool0', zzz=1)


@pytest.mark.parametrize(
    'jacobian', [np.full((6, 7), np.nan), np.full((6, 7), np.inf), np.ones(6), 'six by seven']
)
def test_manipulability_of_what_is_no_jacobian(jacobian):
    with pytest.raises(InvalidArgumentError, match='jacobian'):
        manipulability(jacobian)


HUGE = np.full(7, 1e200)
REST = np.zeros(7)


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@pytest.mark.parametrize(
    ('call', 'argument'),
    [
        (lambda r: r.forward_dynamics(Q, HUGE, REST), 'v'),
        (lambda r: r.forward_dynamics(Q, REST, 1e308 * np.ones(7)), 'tau'),
        (lambda r: r.forward_dynamics(np.tile(Q, (40, 1)), HUGE, REST), 'v'),
        (lambda r: r.inverse_dynamics(Q, HUGE, REST), 'v'),
        (lambda r: r.inverse_dynamics(Q, REST, 1e308 * np.ones(7)), 'a'),
        (lambda r: r.inverse_dynamics(Q, REST, REST, {'tool0': np.full(6, 1e308)}), 'external'),
        (lambda r: r.joint_wrenches(Q, HUGE, REST), 'v'),
        (lambda r: r.nonlinear_effects(np.stack([Q, Q]), np.stack([REST, HUGE])), 'v'),
        (lambda r: r.inverse_dynamics_derivatives(Q, HUGE, REST), 'v'),
        (lambda r: r.forward_dynamics_derivatives(Q, HUGE, REST), 'v'),
        (lambda r: r.hybrid_dynamics(Q, HUGE, REST, REST, [True] * 7), 'v'),
    ],
)
def test_numbers_whose_dynamics_overflows_are_named(backend, call, argument):
    robot = Robot.from_urdf(ARM_TEXT, backend=backend)
    with pytest.raises(InvalidArgumentError, match=f'^{argument}.*overflow'):
        call(robot)


def test_positions_that_overflow_are_named():
    slider = Robot.from_urdf(
        '<robot name="slider"><link name="rail"/><link name="sled"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<link name="arm"><inertial><origin xyz="1 0 0"/><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="turn" type="continuous"><parent link="rail"/><child link="sled"/></joint>'
        '<joint name="slide" type="prismatic"><parent link="sled"/><child link="arm"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    with pytest.raises(InvalidArgumentError, match=r'^q: numbers up to 1e\+200.*overflow'):
        slider.inverse_dynamics([0.1, 1e200], [0.0, 0.0], [1.0, 0.0])


def test_the_order_of_wrenches_is_no_other_kernel():
    robot = Robot.from_urdf(ARM_TEXT, backend='python')
    one, two = np.arange(6.0), np.ones(6)
    first, second = robot.frame_names[-2:]
    tau = robot.inverse_dynamics(Q, REST, REST, {first: one, second: two})
    made = set(robot.kernels)
    np.testing.assert_array_equal(
        robot.inverse_dynamics(Q, REST, REST, {second: two, first: one}), tau
    )
    assert set(robot.kernels) == made
    with pytest.raises(InvalidArgumentError, match=rf"external_wrenches\['{first}'\]"):
        robot.inverse_dynamics(Q, REST, REST, {second: two, first: one[:5]})
