# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The cause of external torques in motion that are larger than stated.

An arm of two joints follows a motion exactly; efforts are what its motors give for that.
"""

from __future__ import annotations

import numpy as np
import pytest
from two_joint_arm import two_joint_arm

from dynamics_ros import Robot
from dynamics_ros.algorithms.joint_friction import smooth_sign
from dynamics_ros.estimation import ContactSettings
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.contact_settings import ThresholdSettings, UnexplainedSettings
from dynamics_ros.estimation.samples.robot_state import RobotState

DRY, PERIOD = 4.0, 0.01
"""Described dry friction [Nm]; s."""

NOBODY = np.zeros(2, dtype=bool)
ROBOT = Robot.from_urdf(two_joint_arm(coulomb=DRY))


def settings():
    return ContactSettings(
        frames=('lower',),
        unexplained=UnexplainedSettings(speed=(0.0,)),
        thresholds=ThresholdSettings(contact=(8.0,), collision=(50.0,)),
    )


def pipeline_of(values):
    pipeline = ContactPipeline(ROBOT, values, 'lower')
    pipeline.compile(wait=True)
    return pipeline


def motion(seconds):
    """Times, q, v and a of both joints: to and fro."""
    t = np.arange(PERIOD, seconds, PERIOD)
    w = np.array([2.0, 2.7])
    phase = np.outer(t, w)
    return t, 0.4 * np.sin(phase), 0.4 * w * np.cos(phase), -0.4 * (w**2) * np.sin(phase)


def states(seconds, *, dry, external=0.0):
    """Joint states of an arm with another dry friction, while torques act."""
    t, q, v, a = motion(seconds)
    signs = np.array([[smooth_sign(float(x), 0.01) for x in row] for row in v])
    effort = ROBOT.inverse_dynamics(q, v, a) + dry * signs - external
    stamps = 10**9 + np.round(t * 1e9).astype(np.int64)
    return stamps, q, v, effort


@pytest.mark.parametrize(
    ('wrong', 'cause'), [('friction', 'less friction than configured'), ('mass', 'of a payload')]
)
def test_the_cause_of_large_torques_in_motion_is_named_within_seconds(wrong, cause):
    pipeline = pipeline_of(settings())
    if wrong == 'friction':
        told = states(15.0, dry=0.7 * DRY)
    else:
        heavier = ROBOT.with_payload('lower', 1.0, np.array([0.0, 0.0, 0.3]), np.zeros((3, 3)))
        _, q, v, a = motion(15.0)
        more = heavier.inverse_dynamics(q, v, a) - ROBOT.inverse_dynamics(q, v, a)
        told = states(15.0, dry=DRY, external=-more)
    for stamp, q, v, effort in zip(*told, strict=True):
        pipeline.update(RobotState(int(stamp), q, v, effort, (), (), (), NOBODY))
    assert cause in pipeline.warning
