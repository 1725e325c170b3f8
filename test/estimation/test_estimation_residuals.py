# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques in motion that are far above what is stated: told, and no longer when they fall.

A moving arm with friction that nobody has described, through the pipeline of contact_node.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message
from ros_harness import description

from benchmarks.timing import wait_until_compiled
from dynamics_ros import Robot
from dynamics_ros.estimation import ContactState, ResidualWatch
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.reasons import Reason
from dynamics_ros.wire.cdr import Filling
from dynamics_ros.wire.contact_messages import ContactMessages
from dynamics_ros_msgs.msg import ExternalWrench

HAND = 'tool0'
STEP = 5_000_000
"""ns"""

FRICTION = np.array([4.0, 4.0, 3.0, 3.0, 0.0, 0.0, 0.0])
"""Nm; stated are 0.1 and less."""


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(description())


class Arm:
    """An arm in motion, and the pipeline that hears of it."""

    def __init__(self, robot) -> None:
        self.robot, self.values = robot, ContactParameters(frames=(HAND,))
        self.rng = np.random.default_rng(3)
        self.time = 10**9
        self.pipeline = self.made()

    def made(self, **effort):
        values = replace(self.values, effort=replace(self.values.effort, **effort))
        pipeline = ContactPipeline(self.robot, values, HAND)
        pipeline.compile(wait=True)
        wait_until_compiled()
        return pipeline

    def go(self, seconds, *, friction=0.0, force=(0.0, 0.0, 0.0)):
        """Move on; (error, covariance) of the wrench ten times a second."""
        told, rates = [], np.linspace(0.8, 1.6, 7)
        for k in range(round(seconds * 1e9 / STEP)):
            self.time += STEP
            phase = rates * self.time * 1e-9 + np.arange(7.0)
            q = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.8]) + 0.4 * np.sin(phase)
            v, a = 0.4 * rates * np.cos(phase), -0.4 * rates**2 * np.sin(phase)
            effort = self.robot.inverse_dynamics(q, v, a) + friction * np.tanh(v / 0.01)
            effort += self.pipeline.observer.effort_model.friction_torque(v)
            J = self.robot.jacobian(q, HAND, 'local')[:3]
            effort -= J.T @ force
            effort += self.rng.normal(0.0, 0.05, 7)
            v = v + self.rng.normal(0.0, 0.001, 7)
            self.state = RobotState(self.time, q, v, effort, (), (), (), np.zeros(7, dtype=bool))
            pipeline = self.pipeline
            external = self.external = pipeline.update(self.state)
            values = None if external is None else external.values
            if k % 20 == 0 and values is not None:
                (self.estimate,) = pipeline.wrenches(self.state, values)
                told.append((self.estimate.wrench - [*force, 0, 0, 0], self.estimate.covariance))
        return told

    @property
    def flagged(self):
        return bool(self.pipeline.residuals.excess.any())

    @property
    def message(self):
        """The estimate of the last state as contact_node publishes it."""
        messages = ContactMessages(self.pipeline, lambda frame: frame)
        messages.write(self.state, self.external, None)
        message = messages.by_output[HAND, 'estimate']
        Filling([message]).fill()
        return deserialize_message(message.made[0].message(bytes(8)), ExternalWrench)


@pytest.fixture
def arm(robot):
    return Arm(robot)


def normalised(told):
    return np.mean([e @ np.linalg.solve(P, e) for e, P in told]) / 6.0


def test_friction_that_is_not_stated_is_told_until_it_is_gone(arm):
    before = arm.go(7.0, friction=FRICTION)[10:]
    assert not arm.flagged, 'eight seconds are not over'
    arm.go(3.0, friction=FRICTION)
    assert arm.flagged
    after = arm.go(5.0, friction=FRICTION)
    assert normalised(before) > 50.0
    assert 0.1 < normalised(after) < 2.0
    assert arm.pipeline.uncertain_frames == {HAND}
    for name in ('shoulder_yaw ', 'elbow_pitch '):
        assert name in arm.pipeline.warning
    assert 'wrist_roll' not in arm.pipeline.warning
    arm.go(18.0)
    assert not arm.flagged
    assert not arm.pipeline.uncertain_frames
    assert not arm.pipeline.warning
    assert 0.1 < normalised(arm.go(3.0)) < 2.0


def test_the_cause_is_reported_and_contacts_end(robot):
    for cause, friction, force in (
        (Reason.FRICTION_UNEXPECTED, -FRICTION, (0.0, 0.0, 0.0)),
        (Reason.LOAD_UNEXPECTED, 0.0, (15.0, -20.0, 15.0)),
    ):
        arm = Arm(robot)
        arm.go(7.0, friction=friction, force=force)
        assert arm.pipeline.detector.report.state is not ContactState.NONE
        arm.go(8.0, friction=friction, force=force)
        assert arm.pipeline.residuals.advice.reason is cause
        assert 'confidence' in arm.pipeline.residuals.advice
        arm.pipeline.detector.reset()
        arm.go(2.0, friction=friction, force=force)
        assert arm.pipeline.detector.report.state is ContactState.NONE
        # What is far above all that was observed is still a contact.
        arm.go(0.2, friction=friction, force=(80.0, 80.0, -80.0))
        assert arm.pipeline.detector.report.state is not ContactState.NONE


def test_a_push_that_lasts_stays_a_contact_of_a_robot_that_was_as_described(arm):
    arm.go(12.0)
    assert arm.pipeline.detector.report.state is ContactState.NONE
    arm.go(2.0, force=(15.0, -20.0, 15.0))
    for _ in range(9):
        arm.go(10.0, force=(15.0, -20.0, 15.0))
        assert arm.pipeline.detector.report.state is not ContactState.NONE
        arm.pipeline.detector.reset()
    assert 'a lasting contact' in arm.pipeline.residuals.advice
    arm.go(25.0)
    assert not arm.flagged
    # Friction that has changed is no contact, and a push beside it still is.
    arm.go(15.0, friction=-FRICTION)
    arm.pipeline.detector.reset()
    arm.go(2.0, friction=-FRICTION)
    assert arm.pipeline.detector.report.state is ContactState.NONE
    for _ in range(6):
        arm.go(10.0, friction=-FRICTION, force=(30.0, -40.0, 30.0))
        assert arm.pipeline.detector.report.state is not ContactState.NONE
        arm.pipeline.detector.reset()


@pytest.mark.parametrize('stated_first', [0.1, np.inf])
def test_a_payload_from_the_start_is_no_contact_after_a_joint_that_does_not_feel_it(
    robot, stated_first
):
    watch, rng = ResidualWatch(robot), np.random.default_rng(0)
    stated = np.array([stated_first, *[0.1] * 6])
    for count, load in ((100, [0.0] * 7), (300, [0.15, 3.0, 0.0, 3.0, 0.0, 0.0, 0.0])):
        for k in range(count):
            v = (0.5 if k % 16 < 8 else -0.5) * np.array([1.0, *np.sign(load[1:])])
            external = load + 0.1 * rng.normal(size=7)
            watch.add(external, v, np.maximum(np.abs(external) - 0.3, 0.0))
            watch.judge(np.zeros(7), stated)
    assert np.all(watch.increase[[1, 3]] > 2.7)
    # The first one feels a little of it then.
    assert bool(watch.increase[0]) == np.isfinite(stated_first)


def test_what_is_stated_is_not_doubted(arm):
    told = arm.go(25.0)[10:]
    assert not arm.flagged
    assert not arm.pipeline.warning
    assert normalised(told) < 2.0
    assert not arm.message.degraded


def test_the_message_says_so_and_what_is_known_survives_a_change_of_the_robot(arm):
    arm.go(7.0, friction=FRICTION)
    before, before_thresholds = arm.message, arm.pipeline.detector.constants.copy()
    arm.go(3.0, friction=FRICTION)
    after = arm.message
    assert after.degraded
    assert not arm.estimate.degraded, 'all directions are felt'
    assert not before.degraded
    assert after.covariance[0] > 9.0 * before.covariance[0]
    thresholds = arm.pipeline.detector.constants.copy()
    assert np.all(thresholds[0, :4] > before_thresholds[0, :4] + 1.0)
    assert np.all(thresholds[0] <= thresholds[1])
    successor, described = arm.made(), arm.made(noise=(1.0,))
    successor.inherit(arm.pipeline)
    arm.pipeline = successor
    arm.go(0.5, friction=FRICTION)
    assert arm.message.degraded
    assert arm.message.covariance[0] > 0.3 * after.covariance[0]
    assert np.allclose(arm.pipeline.detector.constants, thresholds)
    described.inherit(arm.pipeline)
    assert not described.residuals.advice, 'other efforts are looked at anew'


def test_a_robot_that_stands_on_the_ground_is_not_judged():
    robot = Robot.from_urdf(description(), root_joint='floating')
    watch = ResidualWatch(robot)
    for _ in range(1, 200):
        watch.add(np.full(robot.nv, 50.0), np.ones(robot.nv))
    assert not watch.judge(np.zeros(robot.nv), np.full(robot.nv, 0.1))
