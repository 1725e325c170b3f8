# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion in the velocities of [RD] and [Kindr]."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.equations_of_motion import (
    inertial_base_velocity,
    transformed_equations,
)


@examples(8)
@given(robots(roots=('floating',), joints=(1, 4)), SEEDS)
def test_the_same_motion_takes_the_same_torques(robot, seed):
    s = random_state(robot, seed)
    B, B_rate_u = inertial_base_velocity(robot, s.q, s.v)
    u = B.T @ s.v
    assert_close(u[:3], robot.configuration_rate(s.q, s.v)[:3])
    M, h = transformed_equations(
        robot.mass_matrix(s.q), robot.nonlinear_effects(s.q, s.v), B, B_rate_u
    )
    u_rate = B.T @ (s.a - B_rate_u)
    assert_close(M @ u_rate + h, B.T @ robot.inverse_dynamics(s.q, s.v, s.a), LAW)
    assert_close(0.5 * u @ M @ u, robot.kinetic_energy(s.q, s.v), LAW)
    # B-dot u is the rate of B: a central difference.
    step = 1e-6
    later, before = (
        inertial_base_velocity(robot, robot.integrate(s.q, h * s.v), s.v)[0] for h in (step, -step)
    )
    assert_close((later - before) @ u / (2.0 * step), B_rate_u, 1e-6)


def test_other_bases_have_no_such_velocity():
    rock = Robot.from_urdf('<robot name="rock"><link name="rock"/></robot>')
    with pytest.raises(InvalidArgumentError, match='does not float'):
        inertial_base_velocity(rock, [], [])
    with pytest.raises(InvalidArgumentError, match='B'):
        transformed_equations(np.eye(2), np.zeros(2), np.eye(3), np.zeros(2))
