# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From efforts to a push: everything between, on an arm that moves fast and has friction."""

from __future__ import annotations

import numpy as np
import pytest
from rigid_body_motion import moving_arm

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation import (
    ContactDetector,
    ContactState,
    EffortModel,
    MomentumObserver,
    WrenchEstimator,
)

HAND = 'link_eef'
PUSH = np.array([6.0, -6.0, 5.0, 0.0, 0.0, 0.0])
"""N in the hand's axes: some 10 N."""

PUSHED = (0.6, 1.0)
"""Begin and end [s]."""


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('xarm7'))


@pytest.fixture(scope='module')
def efforts(robot):
    """Motors that report currents, and joints with friction: the more, the more they carry."""
    inertia = np.diag(robot.mass_matrix(np.full(robot.nq, 0.4)))
    return EffortModel.ideal(robot).with_values(
        scale=2.0, offset=0.3, viscous=2.0 * inertia, coulomb=3.0 * inertia, friction_velocity=0.05
    )


@pytest.fixture(scope='module')
def estimates(robot, efforts):
    """(time, external torque, contact report, wrench) every millisecond of a motion with a push."""

    def push(time):
        return {HAND: PUSH} if PUSHED[0] <= time < PUSHED[1] else {}

    observer = MomentumObserver(robot, gain=100.0, effort_sampling='interval')
    detector = ContactDetector(robot, 0.5, 20.0, debounce=0.003, release=0.05)
    estimator = WrenchEstimator(robot, HAND, expressed_in=HAND)
    result = []
    motion = moving_arm(robot, 1.4, 1e-3, push, efforts.friction_torque)
    velocities = [v for _, _, v, _, _ in motion]
    for (time, q, v, effort, _), before in zip(motion, [velocities[0], *velocities], strict=False):
        reported = (effort - efforts.offset) / efforts.scale
        # The effort was held since the sample before, the friction was that of its velocity.
        tau = efforts.joint_torque(reported, before)
        external = observer.update(round(time * 1e9), q, v, tau)
        report = detector.update(round(time * 1e9), external)
        result.append((time, external, report, estimator.estimate(q, external)[0]))
    return result


def test_motion_and_friction_alone_are_no_contact(estimates):
    before = [sample for sample in estimates if sample[0] < PUSHED[0]]
    assert max(np.abs(external).max() for _, external, _, _ in before) < 0.01
    assert {report.state for _, _, report, _ in before} == {ContactState.NONE}


def test_a_push_is_detected_within_ten_milliseconds(estimates):
    told = next(time for time, _, report, _ in estimates if report.state is ContactState.CONTACT)
    # 3 ms of debounce, and the time until exp(-K t) has let a tenth of the push through.
    assert 0.003 <= told - PUSHED[0] <= 0.010


def test_the_force_of_a_push_is_felt_as_it_is(estimates):
    steady = [
        wrench.wrench
        for time, _, _, wrench in estimates
        if PUSHED[0] + 0.1 < time < PUSHED[1] and not wrench.degraded
    ]
    assert len(steady) > 100
    # What lags by 1/K = 10 ms is the turning of the joints under the push: some percent.
    errors = np.linalg.norm(np.array(steady)[:, :3] - PUSH[:3], axis=1)
    assert np.median(errors) < 0.05 * np.linalg.norm(PUSH)


def test_after_a_push_there_is_no_contact_again(estimates):
    assert estimates[-1][2].state is ContactState.NONE
    assert np.abs(estimates[-1][1]).max() < 0.01
