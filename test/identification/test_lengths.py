# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A description of another size is doubted, whatever the masses; that of the robot is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import ROBOT, recording, truth

from benchmarks.robots import robots_folder
from dynamics_ros import Robot
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.spatial import Transform

FAMILY = ('ur3', 'ur5', 'ur10')
"""Arms of one structure, whose upper arms are 0.244, 0.425 and 0.612 m long."""


def sized(robot, size):
    """A robot whose joints are so many times as far apart."""
    joints = tuple(
        replace(
            joint,
            placement=Transform(joint.placement.rotation, joint.placement.translation * size),
        )
        for joint in robot.model.joints
    )
    return Robot(replace(robot.model, joints=joints))


def doubts(robot, samples):
    return [one for one in identify(robot, [samples]).findings if 'lengths' in one]


@pytest.mark.parametrize(('size', 'word'), [(0.7, 'larger'), (1.4, 'smaller')])
def test_another_size_is_doubted_and_stated(size, word):
    real = truth(1)
    samples = recording(replace(real, robot=sized(real.robot, size)), duration=40.0)
    (found,) = doubts(ROBOT, samples)
    assert f'of a {word} robot' in found
    assert float(found.split('about ')[1].split(' times')[0]) == pytest.approx(size, abs=0.15)


@pytest.mark.parametrize('seed', range(3))
def test_other_masses_are_not_doubted(seed):
    assert doubts(ROBOT, recording(truth(seed, off=0.3), duration=30.0)) == []


def test_an_unknown_payload_is_not_doubted():
    real = truth(0)
    loaded = replace(real, robot=real.robot.with_payload('tool0', 4.0, [0.0, 0.05, 0.1]))
    assert doubts(ROBOT, recording(loaded, duration=30.0)) == []


def test_motion_of_one_joint_tells_no_lengths():
    assert doubts(ROBOT, recording(truth(0), duration=30.0, joints=[1])) == []


@pytest.mark.parametrize('real', FAMILY)
@pytest.mark.parametrize('described', FAMILY)
def test_robots_of_one_family_are_told_apart(real, described):
    robot, other = (
        Robot.from_urdf(robots_folder() / f'ur_description/urdf/{name}_robot.urdf')
        for name in (real, described)
    )
    rng, t = np.random.default_rng(3), np.arange(0.0, 30.0, 0.005)
    w, phase = rng.uniform(0.5, 3.0, (3, 1, 6)), rng.uniform(0.0, 6.0, (3, 1, 6))
    angle = w * t[:, np.newaxis] + phase
    q = 0.4 * np.sin(angle).sum(axis=0)
    v, a = 0.4 * (w * np.cos(angle)).sum(axis=0), -0.4 * (w**2 * np.sin(angle)).sum(axis=0)
    tau = robot.inverse_dynamics(q, v, a) + 3.0 * np.tanh(v / 0.02) + 2.0 * v
    tau += 0.02 * tau.std(axis=0) * rng.normal(size=q.shape)
    samples = JointSamples('simulated', other.joint_names, t, q, None, tau)
    told = identify(other, [samples]).findings
    doubtful = any('lengths' in one or 'times the torques' in one for one in told)
    assert doubtful == (real != described)
