# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A hand that leads the tool: where it begins, what is locked, and where it ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_control_compliant_arm import EVERYWHERE, ROBOT, TOOL, Plant, settings

from dynamics_ros.control import Guiding, pose_error
from dynamics_ros.control.compliance.guiding import held_pose
from dynamics_ros.spatial import Vector3, exp_matrix

LOCKED = np.array([False, True, False, True, True, True])
ALL = np.ones(6, dtype=bool)
DAMPED = replace(EVERYWHERE, damping=np.array([40.0] * 3 + [1.0] * 3))
"""A tool that is let go comes to rest soon."""

DT = 0.001


def speed(plant):
    return np.linalg.norm((ROBOT.jacobian(plant.q, TOOL) @ plant.v)[:3])


def fastest_of(plant, seconds, step):
    speeds = [0.0]

    def noted(*sample):
        speeds.append(speed(plant))
        return step(*sample)

    plant.live(seconds, noted)
    return max(speeds)


def turned_about(angles):
    pose = np.eye(4)
    pose[:3, :3] = np.array([list(row) for row in exp_matrix(Vector3.of(angles))])
    return pose


@pytest.mark.parametrize('locked', [LOCKED, ALL])
@pytest.mark.parametrize('direction', range(3))
@pytest.mark.few(2)
def test_a_lock_begins_where_the_tool_is_however_far_its_target_was(locked, direction):
    plant = Plant(guiding=replace(EVERYWHERE, locked=locked))
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
    plant = Plant(guiding=DAMPED)
    plant.push([6.0, 6.0, 0.0], 0.6)
    plant.live(3.0, plant.arm.guide)
    start = ROBOT.forward_kinematics(plant.arm.posture, TOOL)
    there = plant.pose
    plant.live(0.5, lambda *sample: plant.arm.approach(*sample, None))
    np.testing.assert_allclose(start, there, atol=1e-3)
    assert np.abs(plant.pose[:3, 3] - there[:3, 3]).max() < 5e-3


def test_a_wall_before_the_tool_draws_it_in_at_the_speed_of_its_setpoint():
    plant = Plant()
    lower = np.array([-1e9, -1e9, plant.pose[2, 3] + 0.1])
    limit = plant.arm.settings.setpoint.linear_speed
    plant.arm.settings = settings(guiding=replace(EVERYWHERE, lower=lower))
    assert fastest_of(plant, 3.0, plant.arm.guide) < 1.5 * limit
    assert lower[2] - 0.01 < plant.pose[2, 3]


def test_what_is_free_goes_with_the_tool_and_what_is_locked_stays():
    guiding = Guiding(np.array([True, False, False, False, False, True]))
    tool = turned_about([0.03, -0.02, 0.05])
    tool[:3, 3] = 0.02, 0.5, -0.5
    held, bound = held_pose(np.eye(4), tool, guiding, 0.25, DT)
    np.testing.assert_array_equal(bound, guiding.locked)
    np.testing.assert_allclose(held[:3, 3], [0.0, 0.5, -0.5], atol=1e-15)
    left = pose_error(held, tool)[3:]
    np.testing.assert_allclose(left, [0.0, 0.0, pose_error(np.eye(4), tool)[5]], atol=1e-3)


def test_a_direction_that_is_locked_later_is_held_where_it_is_then():
    plant = Plant(guiding=DAMPED)
    plant.push([6.0, 6.0, 0.0], 0.6)
    plant.live(3.0, plant.arm.guide)
    there = plant.pose
    plant.arm.settings = settings(guiding=replace(DAMPED, locked=ALL))
    plant.live(1.0, plant.arm.guide)
    assert np.abs(plant.pose[:3, 3] - there[:3, 3]).max() < 5e-3


@pytest.mark.parametrize('dt', [np.nan, -1.0, 0.0, 60.0])
def test_a_step_that_was_no_step_has_a_wall_pull_no_faster(dt):
    guiding = Guiding(lower=np.full(3, 1.0))
    held, _ = held_pose(np.eye(4), np.eye(4), guiding, 0.25, dt)
    assert (np.abs(held[:3, 3]) <= 0.025).all()
