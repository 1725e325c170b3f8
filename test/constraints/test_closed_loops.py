# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A mechanism with a loop obeys the laws of mechanics, with too few, enough and more actuators."""

from __future__ import annotations

import numpy as np
import pytest
from laws import assert_close
from planar_arms import planar_arm

from dynamics_ros import Robot
from dynamics_ros.constraints import (
    Contact,
    consistent_acceleration,
    constrained_hybrid_dynamics,
    support_projector,
)
from dynamics_ros.errors import InfeasibleError

# A loop: four links of a five-bar linkage, the ground the fifth; the tip is pinned to the ground.

GROUND = (0.4, 0.3, 0.2, 0.6)
ACTIVE_TWO = np.array([True, False, False, True])


@pytest.fixture(scope='module')
def five_bar():
    robot = Robot.from_urdf(planar_arm(GROUND), backend='python')
    q = np.array([-0.4, 1.1, 0.7, 0.9])
    pin = Contact('tip')
    v = support_projector(robot, q, pin) @ np.array([1.0, -0.5, 0.3, 0.8])
    a = consistent_acceleration(robot, q, v, np.array([0.5, 1.0, -1.0, 0.2]), pin)
    return robot, q, v, a, pin


def test_two_actuators_of_a_five_bar_linkage_are_enough(five_bar):
    robot, q, v, a, pin = five_bar
    tau, forces = robot.constrained_inverse_dynamics(q, v, a, pin, actuated=ACTIVE_TWO)
    assert_close(tau[~ACTIVE_TWO], np.zeros(2))
    again, pushes = robot.constrained_forward_dynamics(q, v, tau, pin)
    assert_close(again, a)
    assert_close(pushes, forces)
    # Nothing is left to choose: both criteria agree.
    other, _ = robot.constrained_inverse_dynamics(
        q, v, a, pin, actuated=ACTIVE_TWO, criterion='minimum_constraint_force'
    )
    assert_close(other, tau)


def test_redundant_actuators_trade_torque_for_force(five_bar):
    robot, q, v, a, pin = five_bar
    three = np.array([True, True, False, True])
    solutions = {
        criterion: robot.constrained_inverse_dynamics(
            q, v, a, pin, actuated=three, criterion=criterion
        )
        for criterion in ('minimum_torque', 'minimum_constraint_force')
    }
    tau, forces = (
        [np.linalg.norm(part) for part in solutions['minimum_torque']],
        [np.linalg.norm(part) for part in solutions['minimum_constraint_force']],
    )
    assert tau[0] < forces[0] - 1e-3 and forces[1] < tau[1] - 1e-3
    for torques, _ in solutions.values():
        assert_close(robot.constrained_forward_dynamics(q, v, torques, pin)[0], a)


def test_minimum_torque_is_the_pseudo_inverse_of_the_lecture_notes(five_bar):
    robot, q, v, a, pin = five_bar
    three = np.array([True, True, False, True])
    S = np.eye(4)[three]
    N = support_projector(robot, q, pin)
    expected = np.linalg.pinv(N.T @ S.T, rcond=1e-9) @ N.T @ robot.inverse_dynamics(q, v, a)
    tau, _ = robot.constrained_inverse_dynamics(q, v, a, pin, actuated=three)
    assert_close(tau[three], expected)  # [RD] eq. 3.100


def test_prescribed_accelerations_that_break_the_loop_are_refused(five_bar):
    robot, q, v, a, pin = five_bar
    three = np.array([True, True, False, True])
    wrong = a + 1.0
    with pytest.raises(InfeasibleError, match='whatever the free joints do'):
        constrained_hybrid_dynamics(robot, q, v, wrong, np.zeros(4), three, pin)


def test_a_closed_linkage_conserves_energy_and_stays_closed(five_bar):
    robot, q, v, _, pin = five_bar
    place, step = pin.position(robot, q), 5e-4
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    for _ in range(200):
        a, _ = robot.constrained_forward_dynamics(q, v, np.zeros(4), pin)
        middle, speed = q + 0.5 * step * v, v + 0.5 * step * a
        # Half a step leaves the loop by second order: the projection takes it back.
        speed = support_projector(robot, middle, pin) @ speed
        a, _ = robot.constrained_forward_dynamics(middle, speed, np.zeros(4), pin)
        q, v = q + step * speed, v + step * a
        v = support_projector(robot, q, pin) @ v
    assert_close(pin.position(robot, q), place, 1e-5)
    assert_close(robot.kinetic_energy(q, v) + robot.potential_energy(q), energy, 1e-5, 10.0)
