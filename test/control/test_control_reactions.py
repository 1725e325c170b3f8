# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reflexes of an arm on springs to a collision: the laws, and a wall that it runs into."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from ros_harness import description

from dynamics_ros import Robot
from dynamics_ros.control import (
    STRATEGIES,
    ArmSettings,
    Compliance,
    CompliantArm,
    Guiding,
    ImpedanceController,
    Reaction,
    ReactionSettings,
    SetpointLimits,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import ContactPipeline
from dynamics_ros.estimation.contact_settings import (
    ContactSettings,
    ThresholdSettings,
    UnexplainedSettings,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.simulation import Actuators, SimulatedRobot, comfortable_posture

ROBOT = Robot.from_urdf(re.sub(r'<dynamics[^>]*/>', '', description()))
TOOL = 'tool0'
HOME = comfortable_posture(ROBOT, TOOL)
CONTROLLER = ImpedanceController(ROBOT, TOOL)
DT, SPEED, RATE = 1e-3, 0.5, 2000.0
WALL, WALL_DAMPING = 2e4, 20.0
"""N/m and Ns/m, a stiff one."""

SETTINGS = ArmSettings(
    Compliance(np.diag([1000.0] * 3 + [20.0] * 3)),
    Guiding(np.ones(6)),
    SetpointLimits(SPEED, 1.0, 4.0, 4.0, 0.1, 0.3),
    {'posture_stiffness': 5.0, 'posture_damping': 2.0, 'max_torque_rate': RATE},
    # Nothing but a reaction ends a collision.
    largest_speed=np.inf,
)
CONTACT = ContactSettings(
    frames=(TOOL,),
    unexplained=UnexplainedSettings(speed=(0.0,)),
    thresholds=ThresholdSettings(collision=(5.0,)),
)
NOTHING = np.zeros(ROBOT.nv)
UNBOUND = replace(SETTINGS, joints={'max_torque_rate': 1e6, 'lower': -np.inf, 'upper': np.inf})
"""Without ranges of joints, so that what a law asks for is what comes out."""


def started(q=HOME):
    arm = CompliantArm(CONTROLLER, SETTINGS)
    arm.start(q, NOTHING)
    return arm


class Run:
    """An arm that is led downward into a wall 0.25 m below, and what a contact observer tells.

    Attributes:
        forces: of the wall [N], each millisecond; touched, detected: which of them; reacted: the
            first whose torques are another's than without.
        torques: (n, nv); arm, q: at the end.
    """

    def __init__(self, strategy, seconds=1.3, **settings):
        simulated = SimulatedRobot(ROBOT, Actuators.ideal(ROBOT, HOME, TOOL), None, HOME)
        pipeline = ContactPipeline(ROBOT, CONTACT, TOOL)
        pipeline.compile(wait=True)
        self.arm = arm = started()
        start = arm.pose
        goal = start.copy()
        goal[2, 3] -= 0.45
        wall, reaction, held = start[2, 3] - 0.25, None, False
        self.forces, self.torques, self.way = [], [arm.tau], [start]
        self.touched = self.detected = None
        for k in range(round(seconds / DT)):
            sample = simulated.sample()
            q, v = sample.q, sample.v
            stamp = 10**9 + round(k * DT * 1e9)
            none = np.zeros(ROBOT.nv, bool)
            external = pipeline.update(RobotState(stamp, q, v, self.torques[-1], (), (), (), none))
            if self.detected is None and external and external.report.collision_latched:
                self.detected = k
                if strategy:
                    reaction = Reaction(ReactionSettings(strategy, **settings), arm)
            if held:
                tau = arm.approach(q, v, DT, None)
            elif reaction is None:
                tau = arm.approach(q, v, DT, goal)
            elif not reaction.over:
                tau = reaction.step(q, v, DT)
            else:
                tau = arm.brake(q, v, DT)
                held = arm.at_rest
                if held:
                    arm.stay()
            self.torques.append(tau)
            self.way.append(arm.pose)
            simulated.follow_efforts(tau)
            depth = wall - arm.pose[2, 3]
            speed = ROBOT.frame_velocity(q, v, TOOL)[2]
            force = max(0.0, WALL * depth - WALL_DAMPING * speed) if depth > 0.0 else 0.0
            if force and self.touched is None:
                self.touched, self.speed = k, abs(speed)
            self.forces.append(force)
            if force:
                simulated.push(TOOL, [0, 0, force, 0, 0, 0], DT)
            simulated.step()
        self.torques = np.array(self.torques)
        self.held, self.v = held, v

    @property
    def peak(self):
        return max(self.forces)


@pytest.fixture(scope='module')
def without():
    return Run(None)


@pytest.mark.parametrize('strategy', STRATEGIES)
@pytest.mark.few(2)
def test_a_reaction_lowers_the_peak_force_of_a_collision_by_60_percent(without, strategy):
    run = Run(strategy)
    assert run.speed == pytest.approx(SPEED, rel=0.1)
    assert run.touched == without.touched
    assert run.peak < 0.4 * without.peak
    # Within two cycles of the detection the torques are no longer those that ran into the wall.
    changed = np.flatnonzero(np.abs(run.torques - without.torques).max(axis=1) > 1e-6)[0] - 1
    assert changed - run.detected < 2
    assert np.abs(np.diff(run.torques, axis=0)).max() <= RATE * DT * (1.0 + 1e-9)
    assert (np.abs(run.torques) <= ROBOT.effort_limits).all()


@pytest.mark.parametrize('strategy', STRATEGIES)
@pytest.mark.few(2)
def test_after_the_reflex_the_arm_rests_on_springs_where_it_is(strategy):
    run = Run(strategy, 2.2, duration=0.3)
    assert run.held
    assert np.abs(run.v).max() < 0.05
    assert max(run.forces[-100:]) < 5.0
    setpoint = run.arm.setpoint.pose
    assert np.abs(setpoint[:3, 3] - run.arm.pose[:3, 3]).max() < 0.03


def test_springs_come_back_gradually_after_the_arm_has_given_way():
    arm = started()
    q = HOME + 0.02
    arm.give_way(q, NOTHING, DT, NOTHING)
    first = arm.approach(q, NOTHING, DT, None)
    for _ in range(1000):
        last = arm.approach(q, NOTHING, DT, None)
    full = np.abs(last - ROBOT.gravity(q)).max()
    assert full > 1.0
    assert np.abs(first - ROBOT.gravity(q)).max() < 0.05 * full


def floating(v, **settings):
    """Torques of the first step beside those of the weight, without limits of their rate."""
    arm = CompliantArm(CONTROLLER, UNBOUND)
    arm.start(HOME, v)
    one = Reaction(ReactionSettings('float', **settings), arm)
    return one.step(HOME, v, DT) - ROBOT.nonlinear_effects(HOME, v)


def test_a_float_carries_the_weight_and_damps():
    v = np.full(ROBOT.nv, 0.2)
    tau = floating(v, damping=5.0)
    assert np.abs(tau + 5.0 * ROBOT.mass_matrix(HOME) @ v).max() < 1e-8


def test_a_reflex_ends_after_its_duration():
    arm = started()
    one = Reaction(ReactionSettings('float', duration=0.01), arm)
    steps = 0
    while not one.over:
        one.step(HOME, NOTHING, DT)
        steps += 1
    assert steps in (10, 11, 12)


@pytest.mark.parametrize(
    ('named', 'settings'),
    [
        ('strategy', {'strategy': 'flee'}),
        ('duration', {'duration': 0.0}),
        ('duration', {'duration': float('nan')}),
        ('duration', {'strategy': 'stop', 'duration': float('inf')}),
        ('damping', {'damping': -1.0}),
    ],
)
def test_bad_settings_are_named(named, settings):
    with pytest.raises(InvalidArgumentError, match=named):
        ReactionSettings(**settings)
