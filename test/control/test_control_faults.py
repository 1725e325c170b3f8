# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion of an arm in MuJoCo whose joint states freeze or contradict themselves.

`scripts/bench control --part faults` measures more arms, rates and subsets of joints.
"""

from __future__ import annotations

import mujoco  # noqa: F401 (without it there is nothing to test)
import numpy as np
import pytest
from patience import times

from benchmarks.control_faults import ALLOWED, DRIVERS, FAULTS, cells

LATEST = 0.0201
"""Time in which a fault of a moving joint is detected at 1 kHz [s]."""


@pytest.fixture(scope='module', params=[0.0, 0.1], ids=['bare', 'rotors'])
def cell(request):
    return next(cells('arm', request.param))


@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('mode', ['twist', 'guiding', 'braking', 'rest'])
@pytest.mark.few(20)
def test_an_arm_with_wrong_joint_states_is_braked(cell, fault, mode):
    speed, energy = ALLOWED.get(fault, (0.5, 2.0))
    for joints in (range(7), *([number] for number in times((3,), (1, 3, 5)))):
        outcome = cell.run(fault, joints, mode, 1000.0)
        assert outcome.speed <= speed, joints
        assert outcome.energy <= energy, joints
        if mode == 'twist' and len(joints) == 7 and fault != 'v = 0':
            assert outcome.detected <= LATEST
            wrong_velocity = fault == 'v of the wrong sign'
            assert outcome.code == f'states_{"contradictory" if wrong_velocity else "frozen"}'


@pytest.mark.parametrize('fault', ['q and v repeated', 'v of the wrong sign'])
def test_slow_joint_states_are_no_excuse(cell, fault):
    speed, energy = ALLOWED.get(fault, (0.5, 2.0))
    outcome = cell.run(fault, range(7), 'twist', 250.0)
    assert outcome.detected <= LATEST
    assert outcome.speed <= speed
    assert outcome.energy <= energy
    outcome = cell.run(fault, range(7), 'rest', 250.0)
    assert outcome.speed <= speed
    assert outcome.energy <= energy


def test_an_arm_that_stays_blind_gets_gravity_torques_and_slows_down(cell):
    cell.run('q and v repeated', range(7), 'twist', 1000.0)
    assert cell.prepared.check.lasting
    assert np.abs(cell.tau - cell.robot.gravity(cell.q)).max() < 2.0
    assert cell.speed < 0.3


@pytest.mark.parametrize('driver', DRIVERS)
@pytest.mark.parametrize('slow', [False, True], ids=['usual', 'slow'])
@pytest.mark.few(4)
def test_true_joint_states_stop_nothing(driver, slow):
    cell = next(cells('arm', 0.1))
    usual = (('twist', 1000.0), ('guiding', 250.0))
    for mode, rate in times(usual, (*usual, ('twist', 250.0), ('guiding', 1000.0))):
        assert cell.stops(driver, mode, rate, slow=slow) == (0, ''), (mode, rate)
    assert cell.stops(driver, 'twist', 500.0, slow=slow, wall=True) == (0, '')


@pytest.mark.parametrize('slow', [False, True], ids=['usual', 'slow'])
@pytest.mark.few(1)
def test_encoders_of_12_bits_stop_no_arm_whose_wrist_is_light_beside_its_rotors(slow):
    """A step of one joint moved the predictions of others, and rotors were not expected there."""
    cell = next(cells('xarm7', 0.1))
    for mode in ('twist', 'guiding'):
        assert cell.stops('encoders of 12 bits', mode, 1000.0, slow=slow) == (0, ''), mode


def test_a_guided_wrist_that_is_light_stays_at_rest_at_250_hz(cell):
    """A damper around a wrist without rotors, held for 4 ms, once drove it at 5.7 rad/s."""
    cell.place()
    for _ in range(250):
        cell.advance(0.004, None)
        cell.control((cell.q, cell.v, cell.tau), 0.004, 'guiding', np.eye(4), np.zeros(6))
        assert np.abs(cell.v).max() < 0.01
