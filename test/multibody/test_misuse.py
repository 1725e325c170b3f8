# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a user gets wrong is answered by an error of the package that says what would be right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownOptionError

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
