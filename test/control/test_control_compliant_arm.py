# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An arm under impedance control from sample to sample, on the simulated robot."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from ros_harness import description

from dynamics_ros import Robot
from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    CompliantArm,
    Guiding,
    ImpedanceController,
    Setpoint,
    SetpointLimits,
    pose_error,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.simulation import Actuators, SimulatedRobot, comfortable_posture, slow_motion

ROBOT = Robot.from_urdf(re.sub(r'<dynamics[^>]*/>', '', description()))
"""Without friction: what springs do is to be seen."""
TOOL = 'tool0'
HOME = comfortable_posture(ROBOT, TOOL)
CONTROLLER = ImpedanceController(ROBOT, TOOL)
RATE, DT = 500.0, 0.002
LIMITS = SetpointLimits()
EVERYWHERE = Guiding(np.array([5.0] * 3 + [0.2] * 3))


def settings(stiffness=(400.0,) * 3 + (10.0,) * 3, guiding=EVERYWHERE, **more):
    joints = {'posture_stiffness': 5.0, 'posture_damping': 2.0, 'max_torque_rate': RATE}
    return ArmSettings(Compliance(np.diag(stiffness)), guiding, LIMITS, joints, **more)


class Plant:
    """The simulated arm of the package, with rotors that the model does not know."""

    def __init__(self, friction=False, **options):
        actuators = Actuators.for_robot(ROBOT, HOME, TOOL)
        none = np.zeros(ROBOT.nv)
        if not friction:
            actuators = replace(actuators, viscous=none, coulomb=none)
        motion = slow_motion(ROBOT, HOME).standing
        self.simulated = SimulatedRobot(ROBOT, actuators, motion, HOME)
        self.arm = CompliantArm(CONTROLLER, settings(**options))
        self.arm.start(self.q, self.v)
        self.steepest, self.torques = 0.0, [self.arm.tau]

    @property
    def q(self):
        return self.simulated.sample().q

    @property
    def v(self):
        return self.simulated.sample().v

    @property
    def pose(self):
        return ROBOT.forward_kinematics(self.q, TOOL)

    def live(self, seconds, step):
        """Let time pass; ``step`` makes the torques of a sample."""
        for _ in range(round(seconds / DT)):
            tau = step(self.q, self.v, DT)
            self.steepest = max(self.steepest, np.abs(tau - self.torques[-1]).max() / DT)
            self.torques.append(tau)
            self.simulated.follow_efforts(tau)
            for _ in range(2):
                self.simulated.step()

    def go_to(self, goal, seconds):
        self.live(seconds, lambda *sample: self.arm.approach(*sample, goal))

    def stay(self, seconds):
        self.live(seconds, lambda *sample: self.arm.approach(*sample, None))

    def push(self, force, seconds):
        wrench = np.append(force, np.zeros(3))
        self.simulated.push(TOOL, wrench, seconds)


def above(pose, height):
    goal = pose.copy()
    goal[2, 3] += height
    return goal


def test_it_goes_where_it_is_told_within_speed_and_torque_rate():
    plant = Plant()
    goal = above(plant.pose, -0.15)
    fastest = 0.0
    for _ in range(25):
        plant.go_to(goal, 0.1)
        twist = ROBOT.frame_velocity(plant.q, plant.v, TOOL)
        fastest = max(fastest, np.linalg.norm(twist[:3]))
    assert np.linalg.norm(plant.pose[:3, 3] - goal[:3, 3]) < 2e-3
    assert 0.1 < fastest < 1.4 * LIMITS.linear_speed
    assert plant.steepest < RATE * (1.0 + 1e-9)


def test_what_is_in_the_way_feels_no_more_than_the_lead_of_the_springs():
    setpoint, tool, goal = Setpoint(np.eye(4)), np.eye(4), np.eye(4)
    goal[0, 3] = 5.0
    for _ in range(3000):
        setpoint.approach(goal, tool, LIMITS, DT)
    assert setpoint.waits
    assert np.allclose(pose_error(setpoint.pose, tool), [LIMITS.linear_lead, 0, 0, 0, 0, 0])


def test_a_setpoint_comes_to_rest_at_its_goal_without_passing_it():
    setpoint = Setpoint(np.eye(4))
    goal = ROBOT.forward_kinematics(HOME, TOOL)
    before, speeds = np.inf, []
    for _ in range(6000):
        previous = setpoint.twist
        # A tool that follows.
        setpoint.approach(goal, setpoint.pose, LIMITS, DT)
        left = np.linalg.norm(pose_error(goal, setpoint.pose)[:3])
        assert left <= before + 1e-12
        before = left
        speeds.append(np.linalg.norm(setpoint.twist[:3]))
        change = np.linalg.norm(setpoint.twist[:3] - previous[:3]) / DT
        assert change < LIMITS.linear_acceleration * (1.0 + 1e-6)
    assert np.abs(pose_error(goal, setpoint.pose)).max() < 1e-6
    assert 0.9 * LIMITS.linear_speed < max(speeds) <= LIMITS.linear_speed + 1e-9


def test_a_push_is_answered_by_the_springs_and_forgotten():
    plant = Plant()
    before = plant.pose
    plant.push([8.0, 0.0, 0.0], 1.5)
    plant.stay(1.4)
    moved = plant.pose[:3, 3] - before[:3, 3]
    assert 0.8 * 8.0 / 400.0 < moved[0] < 1.2 * 8.0 / 400.0
    plant.stay(1.5)
    assert np.linalg.norm(plant.pose[:3, 3] - before[:3, 3]) < 2e-3


def test_other_gains_make_no_step_of_torque():
    plant = Plant()
    plant.push([8.0, 0.0, 0.0], 2.0)
    plant.stay(0.7)
    plant.steepest = 0.0
    plant.arm.settings = settings((1600.0,) * 3 + (10.0,) * 3)
    moved = plant.pose[0, 3]
    plant.stay(1.2)
    assert plant.steepest < RATE * (1.0 + 1e-9)
    assert moved - plant.pose[0, 3] == pytest.approx(8.0 / 400.0 - 8.0 / 1600.0, rel=0.1)


def test_braking_ends_a_motion_with_and_without_samples():
    for lost in (False, True):
        plant = Plant(friction=True)
        plant.go_to(above(plant.pose, -0.3), 0.6)
        assert np.abs(plant.v).max() > 0.3
        plant.steepest = 0.0

        def brake(q, v, dt, arm=plant.arm, lost=lost):
            return arm.reckon(dt) if lost else arm.brake(q, v, dt)

        plant.live(0.8, brake)
        assert plant.arm.at_rest
        # What is reckoned is right as far as the model is.
        assert np.abs(plant.v).max() < (0.3 if lost else 0.02)
        assert plant.steepest < RATE * (1.0 + 1e-9)
        assert np.abs(plant.torques[-1] - ROBOT.gravity(plant.q)).max() < 2.0


CHANGES = {
    'stiffness': {'stiffness': (1e5,) * 6},
    'posture stiffness': {'joints': {'posture_stiffness': 1e5}},
    'posture damping': {'joints': {'posture_damping': 1e4}},
    'range margin': {'joints': {'margin': 10.0, 'limit_stiffness': 50.0}},
    'range stiffness': {'joints': {'margin': 10.0, 'limit_stiffness': 1e5}},
    'damping of guiding': {'guiding': Guiding(np.full(6, 1e4))},
}


@pytest.mark.parametrize('name', CHANGES)
@pytest.mark.few(2)
def test_other_settings_move_an_arm_slowly_or_are_refused(name):
    plant, change = Plant(), CHANGES[name]
    arm, guided = plant.arm, 'guiding' in change
    step = arm.guide if guided else lambda *sample: arm.approach(*sample, None)
    plant.live(0.2, step)
    new = settings(**{key: value for key, value in change.items() if key != 'joints'})
    new = replace(new, joints={**new.joints, **change.get('joints', {})})
    refused = 'joint_range' if 'range' in name else 'gains'
    if name == 'damping of guiding':
        arm.check(new, guided, DT)
        arm.settings = new
    else:
        with pytest.raises(InvalidArgumentError, match=refused):
            arm.check(new, guided, DT)
    plant.push([2.0, 1.0, 2.0], 0.1)
    fastest = 0.0
    for _ in range(150):
        plant.live(0.02, step)
        fastest = max(fastest, np.abs(plant.v).max())
    # The push alone turns a guided wrist, which is light, at 1.1 rad/s.
    assert 0.05 < fastest < (1.2 if guided else 1.0)


def test_along_a_direction_without_stiffness_a_hand_moves_the_tool_which_is_braked():
    stiffness = np.diag([400.0, 0.0, 400.0, 10.0, 10.0, 10.0])
    damping = np.diag([0.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    plant = Plant()
    plant.arm.settings = replace(
        plant.arm.settings, compliance=Compliance(stiffness, least_damping=damping)
    )
    plant.stay(0.5)
    before = plant.pose[:3, 3]
    plant.push([0.0, 20.0, 0.0], 1.0)
    speeds = []
    for _ in range(20):
        plant.stay(0.05)
        speeds.append(np.linalg.norm(ROBOT.frame_velocity(plant.q, plant.v, TOOL)[:3]))
    assert plant.pose[1, 3] - before[1] > 0.1
    # Braked from the speed of the setpoint on; undamped it would be four times as fast.
    assert max(speeds) < 2.5 * LIMITS.linear_speed
    plant.stay(1.0)
    assert np.linalg.norm(ROBOT.frame_velocity(plant.q, plant.v, TOOL)[:3]) < 0.05
