# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""JointStop: a ramp to rest from whatever was commanded last."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics_ros.control import JointCommand, JointStop
from dynamics_ros.control.joint_stop import HOLD, MAX_DURATION
from dynamics_ros.errors import InvalidArgumentError

NAMES = ('a', 'b', 'c')
DT = 0.005


def ramp(v, acceleration, dt=DT):
    """The commands that end a motion at these velocities."""
    stop = JointStop()
    stop.moved(JointCommand(NAMES, np.zeros(3), np.array(v)), acceleration)
    commands = []
    while (command := stop.step(dt)) is not None:
        commands.append(command)
        assert len(commands) < 1000
    assert stop.last is None
    assert stop.step(dt) is None
    return commands


def test_each_joint_slows_down_by_its_acceleration_and_stays():
    commands = ramp([1.0, -0.5, 0.0], 10.0)
    q, v = (np.array([getattr(command, x) for command in commands]) for x in 'qv')
    # 0.1 s of braking, then rest again and again.
    assert len(commands) == round((0.1 + HOLD) / DT)
    assert_allclose(v[:20, 0], np.linspace(0.95, 0.0, 20), atol=1e-12)
    assert_allclose(v[:10, 1], np.linspace(-0.45, 0.0, 10), atol=1e-12)
    assert not v[:, 2].any()
    assert not v[20:].any()
    assert not np.signbit(v[-1]).any()
    assert_allclose(q, np.cumsum(DT * v, axis=0), atol=1e-15)
    # v^2 / 2a, less half a step.
    assert q[-1, 0] == pytest.approx(1.0 / 20.0, abs=DT)
    assert (q[-15:] == q[-1]).all()


def test_what_would_take_too_long_is_steeper():
    commands = ramp([2.0, 1.0, 0.0], 0.01)
    moving = [command for command in commands if command.v.any()]
    assert len(moving) * DT == pytest.approx(MAX_DURATION, abs=2 * DT)
    assert np.abs(np.diff([c.v for c in commands], axis=0)).max() <= 2.0 / MAX_DURATION * DT + 1e-12


@pytest.mark.parametrize('value', [0.0, -1.0, np.nan, np.inf])
def test_what_is_no_time_and_no_acceleration_is_refused(value):
    stop = JointStop()
    with pytest.raises(InvalidArgumentError, match='acceleration'):
        stop.moved(JointCommand(NAMES, np.zeros(3), np.ones(3)), value)
    stop.moved(JointCommand(NAMES, np.zeros(3), np.ones(3)), 1.0)
    with pytest.raises(InvalidArgumentError, match='dt'):
        stop.step(value)


@pytest.mark.parametrize('dt', [0.001, 0.02, 0.5, 2.0])
def test_it_ends_whatever_the_period(dt):
    commands = ramp([2.0, -2.0, 1.0], 10.0, dt)
    assert not commands[-1].v.any()
    assert len(commands) * dt <= MAX_DURATION + HOLD + 2 * dt
