"""What a user gets wrong is answered by an error of the package that says what would be right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownOptionError
from dynamics_ros.multibody.manipulability import manipulability

ARM = Robot.from_urdf((Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text())
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
