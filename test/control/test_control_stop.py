# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion that nobody asked for ends, and a hand that leads the tool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import test_control_compliant_arm as arms
from test_control_compliant_arm import CONTROLLER, DT, EVERYWHERE, HOME, ROBOT, TOOL, settings

from dynamics_ros.control import CompliantArm, Guiding
from dynamics_ros.simulation import Actuators, SimulatedRobot

REST = np.zeros(6)


def plant_of(rate=500.0, **options):
    """The simulated arm with another largest torque rate [Nm/s]."""
    plant = arms.Plant(**options)
    joints = plant.arm.settings.joints | {'max_torque_rate': rate}
    plant.arm.settings = replace(plant.arm.settings, joints=joints)
    return plant


def speed(plant):
    return np.linalg.norm((ROBOT.jacobian(plant.q, TOOL) @ plant.v)[:3])


def fastest_of(plant, seconds, step):
    speeds = [0.0]

    def noted(*sample):
        speeds.append(speed(plant))
        return step(*sample)

    plant.live(seconds, noted)
    return max(speeds)


# --- a hand that leads the tool ------------------------------------------------------------------


@pytest.mark.parametrize('direction', range(3))
@pytest.mark.few(2)
def test_guiding_begins_where_the_tool_is_however_far_its_target_was(direction):
    plant = arms.Plant()
    # Held by the hand, the tool does not follow its target, which is ahead by the largest lead.
    twist = np.zeros(6)
    twist[direction], held = 0.2, np.zeros(3)
    held[direction] = -20.0
    plant.push(held, 2.0)
    plant.live(1.0, lambda *sample: plant.arm.drive(*sample, twist))
    plant.stay(1.0)
    lead = np.linalg.norm(plant.arm.setpoint.pose[:3, 3] - plant.pose[:3, 3])
    assert lead > 0.03
    # What pressed against the hand is let go at the largest torque rate.
    assert fastest_of(plant, 0.5, plant.arm.guide) < plant.arm.settings.setpoint.linear_speed


def test_an_arm_that_no_hand_leads_any_longer_stays_where_it_was_left():
    plant = arms.Plant(guiding=Guiding(np.array([40.0] * 3 + [1.0] * 3)))  # comes to rest soon
    plant.push([6.0, 6.0, 0.0], 0.6)
    plant.live(3.0, plant.arm.guide)
    start = ROBOT.forward_kinematics(plant.arm.posture, TOOL)
    there = plant.pose
    plant.live(0.5, lambda *sample: plant.arm.approach(*sample, None))
    np.testing.assert_allclose(start, there, atol=1e-3)
    assert np.abs(plant.pose[:3, 3] - there[:3, 3]).max() < 5e-3


# --- motion that runs away ----------------------------------------------------------------------


@pytest.mark.parametrize('direction', range(3))
def test_springs_do_not_go_on_with_what_a_hard_push_began(direction):
    plant = plant_of(1000.0, stiffness=(1000.0,) * 3 + (10.0,) * 3)
    force = np.zeros(3)
    force[direction] = 100.0
    plant.push(force, 1.0)
    acted = set()

    def step(*sample):
        tau = plant.arm.approach(*sample, None)
        acted.update(plant.arm.acting)
        return tau

    plant.live(1.1, step)
    assert 'speed' in acted
    # Its springs drove it at 16 m/s for as long as one cared to look.
    assert fastest_of(plant, 2.0, lambda *sample: plant.arm.approach(*sample, None)) < 1.0
    assert speed(plant) < 0.05


@pytest.mark.parametrize('direction', [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
def test_a_tool_that_is_led_is_held_back_beyond_its_speed(direction):
    free = replace(EVERYWHERE, damping=np.array([10.0] * 3 + [0.5] * 3))
    fastest, resting = [], []
    for guiding in (free, replace(free, speed=0.25, angular_speed=1.0)):
        plant = plant_of(1000.0, guiding=guiding)
        plant.push(12.0 * np.array(direction), 0.5)
        fastest.append(fastest_of(plant, 0.5, plant.arm.guide))
        plant.live(0.3, plant.arm.guide)
        resting.append(speed(plant))
    assert fastest[1] < 0.75 * fastest[0]
    assert resting[1] < 0.3


def test_a_wrench_with_nothing_to_press_on_moves_the_tool_little_faster_than_targets():
    stiffness = (400.0, 400.0, 0.0, 10.0, 10.0, 10.0)
    plant = plant_of(1000.0, stiffness=stiffness)
    wrench = np.array([0.0, 0.0, -50.0, 0.0, 0.0, 0.0])
    limit = plant.arm.settings.setpoint.linear_speed
    step = lambda *sample: plant.arm.approach(*sample, None, wrench)  # noqa: E731
    # Without being held back it was 2.6 m/s.
    assert limit < fastest_of(plant, 1.0, step) < 3.0 * limit


# --- what cannot be meant -----------------------------------------------------------------------

NONE = {
    'q': (lambda q: np.full_like(q, np.nan), 'state'),
    'v': (lambda v: np.full_like(v, np.inf), 'state'),
    'far': (lambda q: q + 1e9, 'state'),
    'dt': (lambda dt: np.nan, 'input'),
    'backward dt': (lambda dt: -dt, 'input'),
    'long dt': (lambda dt: 60.0, 'input'),
    'goal': (lambda goal: np.full((4, 4), np.nan), 'input'),
    'far goal': (lambda goal: np.where(np.arange(4) == 3, 1e200, goal), 'input'),
    'wrench': (lambda wrench: wrench + np.nan, 'input'),
    'absurd wrench': (lambda wrench: wrench + 1e200, 'input'),
}


@pytest.mark.parametrize('what', NONE)
@pytest.mark.few(5)
def test_what_is_no_number_brakes_and_is_forgotten(what):
    wrong, flag = NONE[what]
    plant = plant_of()
    goal = arms.above(plant.pose, -0.1)
    plant.go_to(goal, 0.5)
    fastest = []
    for _ in range(50):

        def step(q, v, dt):
            given = {'q': q, 'v': v, 'dt': dt, 'goal': goal, 'wrench': REST}
            name = what.split()[-1] if what != 'far' else 'q'
            given[name] = wrong(given[name])
            tau = plant.arm.approach(*(given[x] for x in ('q', 'v', 'dt', 'goal', 'wrench')))
            assert np.isfinite(tau).all()
            return tau

        plant.live(DT, step)
        assert flag in plant.arm.acting
        fastest.append(speed(plant))
    assert fastest[-1] < 0.75 * fastest[0]
    plant.go_to(goal, 2.5)
    assert np.linalg.norm(plant.pose[:3, 3] - goal[:3, 3]) < 2e-3
    assert plant.steepest < 500.0 * (1.0 + 1e-9)


# --- what pulls at once -------------------------------------------------------------------------


@pytest.mark.parametrize('off', [1.0, 2.0 * np.pi])
def test_a_joint_that_is_told_far_beyond_its_range_is_not_drawn_in(off):
    plant = plant_of()

    def told(q):
        q = q.copy()
        q[1] += off
        return q

    plant.arm.start(told(plant.q), plant.v)
    step = lambda q, v, dt: plant.arm.approach(told(q), v, dt, None)  # noqa: E731
    # It was thrown at 15 m/s. Off by less than a turn, the weight is not what is told either.
    assert fastest_of(plant, 1.0, step) < (1e-3 if off > 6.0 else 1.0)
    assert 'range' in plant.arm.acting


# --- how it comes to rest -----------------------------------------------------------------------


@pytest.mark.parametrize('load', [0.5, 1.0])
def test_a_load_that_the_model_does_not_know_does_not_fall_while_the_arm_brakes(load):
    plant = plant_of()
    plant.push([0.0, 0.0, -9.81 * load], 3.0)
    # It fell at 1.8 m/s with half a kilogram, on and on.
    assert fastest_of(plant, 1.0, plant.arm.brake) < 1.0
    assert speed(plant) < 0.02


def test_a_person_can_push_an_arm_away_that_brakes():
    plant = plant_of()
    before = plant.pose
    plant.push([0.0, 30.0, 0.0], 3.0)
    plant.live(2.0, plant.arm.brake)
    assert plant.pose[1, 3] - before[1, 3] > 0.1


def speeds_of_a_light_arm(step, rate, force, seconds=0.8):
    """Speeds of the tool [m/s], each millisecond, of an arm without rotors that a hand pushes.

    Args:
        step: name of the method of the arm that makes the torques.
        rate: largest torque rate [Nm/s].
        force: (3) for the first quarter of a second [N].
        seconds: duration.
    """
    simulated = SimulatedRobot(ROBOT, Actuators.ideal(ROBOT, HOME, TOOL), None, HOME)
    guiding = replace(EVERYWHERE, speed=0.25, angular_speed=1.0)
    arm = CompliantArm(CONTROLLER, settings(guiding=guiding))
    joints = arm.settings.joints | {'max_torque_rate': rate}
    arm.settings = replace(arm.settings, joints=joints)
    sample = simulated.sample()
    arm.start(sample.q, sample.v)
    simulated.push(TOOL, np.append(force, np.zeros(3)), 0.25)
    speeds = []
    for _ in range(round(seconds / 0.001)):
        sample = simulated.sample()
        simulated.follow_efforts(getattr(arm, step)(sample.q, sample.v, 0.001))
        simulated.step()
        speeds.append(np.linalg.norm(ROBOT.frame_velocity(sample.q, sample.v, TOOL)[:3]))
    return np.array(speeds)


@pytest.mark.parametrize('direction', [[1.0, 0, 0], [0, 1.0, 0], [-1.0, 0, 0]])
@pytest.mark.parametrize(('rate', 'fastest'), [(1000.0, 0.8), (400.0, 1.7)])
def test_an_arm_that_brakes_holds_back_a_hand_that_pushes_it(direction, rate, fastest):
    # 1.1 to 1.5 m/s with 1000 Nm/s and 2.0 to 3.7 m/s with 400 Nm/s, where it did not.
    assert speeds_of_a_light_arm('brake', rate, 30.0 * np.array(direction)).max() < fastest


def test_a_wrench_of_before_a_hand_leads_the_tool_does_not_come_back():
    plant = plant_of(guiding=replace(EVERYWHERE, damping=np.array([40.0] * 3 + [1.0] * 3)))
    wrench = np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    plant.live(1.0, lambda *sample: plant.arm.approach(*sample, None, wrench))
    plant.live(3.0, plant.arm.guide)
    before = plant.pose
    plant.stay(0.3)
    assert np.abs(plant.pose - before).max() < 5e-3


def test_a_tool_that_stands_against_something_is_not_pressed_by_dampers_too():
    plant = plant_of()
    twist = np.array([0.0, 0.2, 0.0, 0.0, 0.0, 0.0])
    plant.push([0.0, -25.0, 0.0], 2.0)
    plant.live(1.5, lambda *sample: plant.arm.drive(*sample, twist))
    assert plant.arm.setpoint.waits
    assert np.abs(plant.arm.setpoint.twist).max() < 0.01


def test_joints_that_do_not_move_the_tool_are_braked_with_those_that_do():
    # Posture torques had a tenth of the torque rate: the tool went on at 3.9 m/s after the push.
    speeds = speeds_of_a_light_arm('guide', 400.0, [0.0, 60.0, 0.0])
    assert speeds[500:].max() < 1.0


def test_torques_beside_those_of_the_law_are_exerted_within_their_rates():
    arm = CompliantArm(CONTROLLER, settings())
    arm.start(HOME, np.zeros(7))
    wanted = np.array([3.0, -2.0, 0.4, 2.0, -0.3, 0.2, 0.05])
    step = arms.RATE * 0.001
    for k in range(1, 8):
        beside = arm.give_way(HOME, np.zeros(7), 0.001, wanted) - ROBOT.gravity(HOME)
        assert np.abs(beside - np.clip(wanted, -k * step, k * step)).max() < 1e-9


@pytest.mark.parametrize('dt', [0.001, 0.01, 0.05])
def test_braking_ends_a_motion_however_rare_samples_are(dt):
    arm = CompliantArm(CONTROLLER, settings())
    q, v = HOME, np.linspace(-0.8, 0.8, ROBOT.nv)
    arm.start(q, v)
    way = 0.0
    for _ in range(round(2.0 / dt)):
        tau = arm.brake(q, v, dt)
        for _ in range(round(dt / 0.001)):
            a = ROBOT.forward_dynamics(q, v, tau)
            v = v + 0.001 * a
            q = ROBOT.integrate(q, 0.001 * v)
        way = max(way, np.abs(q - HOME).max())
    assert arm.at_rest
    assert way < 0.2
    pose = ROBOT.forward_kinematics(q, TOOL)
    assert np.isfinite(pose).all()
