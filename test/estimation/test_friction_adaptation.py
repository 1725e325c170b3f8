# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dry friction that follows a drift while the robot is free: what it learns, and what it may not.

An arm of two joints follows a motion exactly; efforts are what its motors give for that.
"""

from __future__ import annotations

import numpy as np
import pytest
from two_joint_arm import two_joint_arm

from dynamics_ros import Robot
from dynamics_ros.algorithms.joint_friction import smooth_sign
from dynamics_ros.estimation import ContactSettings
from dynamics_ros.estimation.contact_estimators import adaptation_off
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.contact_settings import (
    AdaptationSettings,
    ThresholdSettings,
    UnexplainedSettings,
)
from dynamics_ros.estimation.samples.robot_state import RobotState

DRY, WRONG, PERIOD = 4.0, 1.5, 0.01
"""Nm that is told; Nm that it is less by; s."""

NOBODY = np.zeros(2, dtype=bool)
ROBOT = Robot.from_urdf(two_joint_arm(coulomb=DRY))


def settings(share=0.5):
    # Far above what is wrong of friction: nothing is a contact by itself.
    return ContactSettings(
        frames=('lower',),
        unexplained=UnexplainedSettings(speed=(0.0,)),
        thresholds=ThresholdSettings(contact=(8.0,), collision=(50.0,)),
        adaptation=AdaptationSettings(share),
    )


def pipeline_of(values, robot=ROBOT):
    pipeline = ContactPipeline(robot, values, 'lower')
    pipeline.compile(wait=True)
    return pipeline


def motion(seconds, begin=0.0, way=0.0):
    """Times, q, v and a of both joints: to and fro, and on with a speed."""
    t = begin + np.arange(PERIOD, seconds, PERIOD)
    w = np.array([2.0, 2.7])
    phase = np.outer(t, w)
    return (
        t,
        0.4 * np.sin(phase) + way * t[:, None],
        0.4 * w * np.cos(phase) + way,
        -0.4 * (w**2) * np.sin(phase),
    )


def states(seconds, *, dry=DRY - WRONG, external=0.0, begin=0.0, way=0.0, still=False):
    """What a driver reports of an arm with other dry friction, while torques act."""
    t, q, v, a = motion(seconds, begin, way)
    if still:
        q, v, a = q[:1] + 0.0 * q, 0.0 * v, 0.0 * a
    signs = np.array([[smooth_sign(float(x), 0.01) for x in row] for row in v])
    effort = ROBOT.inverse_dynamics(q, v, a) + dry * signs - external
    stamps = 10**9 + np.round(t * 1e9).astype(np.int64)
    return stamps, q, v, effort


def go(pipeline, told):
    """One state after another; (n, nv) external torques, NaN where nothing is said."""
    found = []
    for stamp, q, v, effort in zip(*told, strict=True):
        state = RobotState(int(stamp), q, v, effort, (), (), (), NOBODY)
        external = pipeline.update(state)
        found.append(np.full(2, np.nan) if external is None else external.values)
    return np.array(found)


def test_friction_that_is_less_than_told_is_learned_and_no_longer_felt():
    pipeline = pipeline_of(settings())
    felt = go(pipeline, states(260.0))
    adaptation = pipeline.adaptation
    assert adaptation.change == pytest.approx([-WRONG, -WRONG], rel=0.05)
    before, after = felt[100:600], felt[-1000:]
    assert np.sqrt((after**2).mean()) < 0.15 * np.sqrt((before**2).mean())
    assert pipeline.observer.effort_model.coulomb == pytest.approx(adaptation.coulomb)


def test_it_is_off_unless_asked_for():
    assert ContactSettings().adaptation.share == 0.0
    values = settings()
    pipeline = pipeline_of(settings(share=0.0))
    assert pipeline.adaptation is None
    go(pipeline, states(20.0))
    assert pipeline.observer.effort_model.coulomb.tolist() == [DRY, DRY]
    walking = Robot.from_urdf(two_joint_arm(coulomb=DRY), root_joint='floating')
    pipeline = ContactPipeline(walking, values, 'lower')
    assert pipeline.adaptation is None
    assert adaptation_off(walking, values) == 'the base moves'


def test_a_push_that_is_against_all_motion_is_taken_up_to_the_bound_and_no_farther():
    pipeline = pipeline_of(settings(share=0.25))
    _, _, v, _ = motion(300.0)
    go(pipeline, states(300.0, dry=DRY, external=-3.0 * np.tanh(v / 0.01)))
    assert pipeline.adaptation.change == pytest.approx([1.0, 1.0], rel=0.02)
    assert (pipeline.adaptation.change <= 1.0).all()


def test_a_contact_ends_it_until_a_margin_after():
    pipeline = pipeline_of(settings())
    external = 20.0 * (states(10.0)[0] < 10**9 + 5 * 10**9)[:, None]
    go(pipeline, states(5.9, external=external[: len(states(5.9)[0])]))
    assert not pipeline.adaptation.change.any()
    go(pipeline, states(30.0, begin=5.9))
    assert (pipeline.adaptation.change < -0.2).all()


def test_a_contact_along_the_motion_is_learned_neither_meanwhile_nor_later():
    pipeline = pipeline_of(settings())
    go(pipeline, states(20.0, dry=DRY))
    # As 9 Nm less friction; what is observed from 20 to 40 s must not be followed afterwards.
    push = 9.0 * np.tanh(motion(20.0, 20.0)[2] / 0.01)
    go(pipeline, states(20.0, dry=DRY, external=push, begin=20.0))
    for begin in (40.0, 45.0, 50.0):
        go(pipeline, states(5.0, dry=DRY, begin=begin))
        assert np.abs(pipeline.adaptation.change).max() < 0.1


def test_a_robot_at_rest_and_a_joint_that_turns_one_way_tell_nothing():
    pipeline = pipeline_of(settings())
    go(pipeline, states(20.0, still=True, external=np.array([2.0, 2.0])))
    assert not pipeline.adaptation.change.any()
    pipeline = pipeline_of(settings())
    t, *rest = states(3.0)
    # Both joints move in the first half of a turn only, and return while nothing is reported.
    for k in range(40):
        go(pipeline, [one[:55] for one in (t + 10**10 * k, *rest)])
    assert not pipeline.adaptation.change.any()


def test_another_payload_keeps_what_was_learned_and_another_friction_or_switching_off_does_not():
    values = settings()
    pipeline = pipeline_of(values)
    go(pipeline, states(30.0))
    learned = pipeline.adaptation.change
    loaded = pipeline_of(values, ROBOT.with_gravity((0.0, 0.0, -9.7)))
    loaded.inherit(pipeline)
    assert loaded.adaptation.change.tolist() == learned.tolist()
    assert np.isnan(loaded.residuals.excess_friction()).all()
    assert loaded.observer.effort_model.coulomb == pytest.approx(DRY + learned)
    other = pipeline_of(values, Robot.from_urdf(two_joint_arm(coulomb=3.0)))
    other.inherit(loaded)
    assert not other.adaptation.change.any()
    assert other.observer.effort_model.coulomb.tolist() == [3.0, 3.0]
    without = pipeline_of(settings(share=0.0))
    without.inherit(loaded)
    assert without.observer.effort_model.coulomb.tolist() == [DRY, DRY]


@pytest.mark.parametrize(
    ('wrong', 'cause'), [('friction', 'less friction than configured'), ('mass', 'of a payload')]
)
def test_the_cause_of_large_torques_in_motion_is_named_within_seconds(wrong, cause):
    pipeline = pipeline_of(settings(share=0.0))
    if wrong == 'friction':
        told = states(15.0, dry=0.7 * DRY)
    else:
        heavier = ROBOT.with_payload('lower', 1.0, np.array([0.0, 0.0, 0.3]), np.zeros((3, 3)))
        _, q, v, a = motion(15.0)
        more = heavier.inverse_dynamics(q, v, a) - ROBOT.inverse_dynamics(q, v, a)
        told = states(15.0, dry=DRY, external=-more)
    go(pipeline, told)
    assert cause in pipeline.warning
