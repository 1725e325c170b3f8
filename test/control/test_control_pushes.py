# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hard pushes on arms without rotors whose torques change slowly: the motion ends with the push."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import test_control_compliant_arm as arms

from dynamics_ros import Robot
from dynamics_ros.control import CompliantArm, ImpedanceController, joint_ranges
from dynamics_ros.demo.known_robots import robots_folder
from dynamics_ros.simulation import Actuators, SimulatedRobot, comfortable_posture

DT = 1e-3

OTHERS = {
    'panda': ('panda_description/urdf/panda.urdf', 'panda_link8', {'panda_finger_joint1': 0.0}),
    'ur5': ('ur_description/urdf/ur5_robot.urdf', 'tool0', {}),
    'ur10': ('ur_description/urdf/ur10_robot.urdf', 'tool0', {}),
    'kinova': ('kinova_description/robots/kinova.urdf', 'j2s6s200_end_effector', {}),
}
"""File, tool and locked joints of arms in the package example-robot-data."""


@cache
def controller(name):
    if name == 'seven joints':
        return arms.CONTROLLER
    file, tool, locked = OTHERS[name]
    try:
        text = (robots_folder() / file).read_text()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return ImpedanceController(Robot.from_urdf(text, locked_joints=locked), tool)


def posture(robot, tool, seed):
    """A configuration well within the ranges, and the one of these that is least singular."""
    if seed == 0:
        return comfortable_posture(robot, tool)
    rng = np.random.default_rng(seed)
    lower, upper = np.clip(joint_ranges(robot), -np.pi, np.pi)
    way = upper - lower
    drawn = [rng.uniform(lower + 0.15 * way, upper - 0.15 * way) for _ in range(10)]
    return max(drawn, key=lambda q: np.linalg.svd(robot.jacobian(q, tool))[1][-1])


def energies(name, seed, step, rate, force, push, seconds):
    """Kinetic energy [J] each millisecond of an arm that is pushed from the first one on.

    Args:
        name: of the arm.
        seed: of its posture.
        step: name of the method of the arm that makes the torques.
        rate: largest torque rate [Nm/s].
        force: (3) [N].
        push: how long the push lasts [s].
        seconds: duration.
    """
    control = controller(name)
    robot, tool = control.robot, control.frame
    home = posture(robot, tool, seed)
    simulated = SimulatedRobot(robot, Actuators.ideal(robot, home, tool), None, home)
    guiding = replace(arms.EVERYWHERE, speed=0.25, angular_speed=1.0)
    settings = arms.settings(guiding=guiding)
    joints = settings.joints | {'max_torque_rate': rate}
    arm = CompliantArm(control, replace(settings, joints=joints))
    arm.start(home, np.zeros(robot.nv))
    simulated.push(tool, np.append(force, np.zeros(3)), push)
    goal = (None,) if step == 'approach' else ()
    found = []
    for _ in range(round(seconds / DT)):
        q, v = simulated.sample().q, simulated.sample().v
        simulated.follow_efforts(getattr(arm, step)(q, v, DT, *goal))
        found.append(0.5 * v @ robot.mass_matrix(q) @ v)
        simulated.step()
    return np.array(found)


@pytest.mark.parametrize(
    ('name', 'seed', 'step', 'rate', 'force', 'push'),
    [
        # The arm had 88 J after a push that left it with 5 J: tool torques knew no rate.
        ('ur5', 0, 'guide', 200.0, [-91.0, 16.0, -38.0], 0.5),
        # 0.4 J became 3.6 J, as the tool was held to its velocity through a singularity.
        ('ur5', 0, 'guide', 200.0, [11.0, 26.0, 10.0], 0.5),
        # Springs of the stop had more torque than its rate could take back: 1.9 J became 13 J.
        ('ur5', 2, 'brake', 200.0, [50.0, -30.0, 10.0], 0.25),
        ('ur5', 1, 'brake', 200.0, [60.0, 70.0, -38.0], 0.5),
        # Springs of the stop swung on and on.
        ('ur5', 0, 'brake', 200.0, [-19.0, 23.0, 2.0], 0.5),
        ('ur10', 0, 'brake', 200.0, [30.0, 50.0, -15.0], 0.1),
        ('ur10', 2, 'brake', 400.0, [60.0, -70.0, 38.0], 0.1),
        ('panda', 2, 'brake', 200.0, [60.0, 70.0, -38.0], 0.5),
        ('kinova', 1, 'approach', 400.0, [60.0, -70.0, 38.0], 0.25),
        ('seven joints', 2, 'approach', 400.0, [-60.0, 70.0, 38.0], 0.5),
        ('seven joints', 0, 'guide', 200.0, [-10.0, 56.0, 18.0], 0.25),
        ('seven joints', 1, 'brake', 400.0, [-2.0, 10.0, -99.0], 0.25),
    ],
)
@pytest.mark.few(3)
def test_a_motion_does_not_grow_when_the_push_has_ended(name, seed, step, rate, force, push):
    found = energies(name, seed, step, rate, np.array(force), push, push + 1.2)
    end = round(push / DT)
    pushed = found[: end + 1].max()
    # Torques that resisted the push have changed back by then.
    late = found[end + 600 :]
    assert late.max() < max(0.3 * pushed, 0.2)
    assert late[-200:].max() < max(0.1 * pushed, 0.1)
