# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds and covariance that follow from noise and motion instead of being guessed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.contact.unexplained import SLOW
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import ContactDetector, MomentumObserver, WrenchEstimator
from dynamics_ros.estimation.uncertainty.thresholds import (
    by_effort_limit,
    external_torque_noise,
    largest_momentum_noise,
    motion_scales,
)
from dynamics_ros.estimation.uncertainty.unexplained import slow_speeds

MILLISECOND = 1_000_000
"""ns"""

HAND = 'link_eef'


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('xarm7'))


class TestMotion:
    """Thresholds rise with the motion of their joint."""

    @pytest.fixture
    def detector(self, robot):
        return ContactDetector(robot, 1.0, 5.0, debounce=0.0, velocity_term=2.0)

    def run(self, detector, torque, velocities):
        for step, velocity in enumerate(velocities):
            v = np.zeros(7)
            v[2] = velocity
            report = detector.update(step * MILLISECOND, np.full(7, torque), None, v)
        return report

    def test_a_steady_speed_raises_those_of_its_joint(self, detector):
        self.run(detector, 0.0, np.full(1000, -1.5))
        expected = np.full(7, 1.0)
        expected[2] = 1.0 + 2.0 * 1.5
        assert detector.contact_thresholds == pytest.approx(expected)
        assert detector.collision_thresholds == pytest.approx(expected + 4.0)

    def test_a_negative_term_is_refused_by_name(self, robot):
        with pytest.raises(InvalidArgumentError, match='velocity_term'):
            ContactDetector(robot, 1.0, 5.0, velocity_term=-1.0)


def test_no_posture_scatters_more_than_is_reckoned_with(robot):
    noise = np.full(robot.nv, 1e-3)
    gains = MomentumObserver(robot, 50.0).noise_gains(1e-3)
    nothing = np.zeros(robot.nv)
    stated = external_torque_noise(
        gains, nothing + 0.05, largest_momentum_noise(robot, noise), nothing
    )
    rng = np.random.default_rng(5)
    for _ in range(200):
        M = robot.mass_matrix(robot.random_configuration(rng))
        momentum = np.sqrt(np.square(M * noise).sum(axis=1))
        scatter = external_torque_noise(gains, nothing + 0.05, momentum, nothing)
        # Thirty postures were looked at, and no joint is far from its largest inertia in all.
        assert (scatter < 1.25 * stated).all()


JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{0}_link"/><axis xyz="0 1 0"/>'
    '<origin xyz="0.2 0 0"/><limit lower="-1" upper="1" velocity="1" effort="{3}"/></joint>'
    '<link name="{0}_link"><inertial><mass value="{4}"/><origin xyz="0.2 0 0"/>'
    '<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)


def small_arm(shoulder, elbow, finger):
    """2 kg whose shoulder holds some 5 Nm, with a finger of 20 g; the arguments are limits."""
    return Robot.from_urdf(
        '<robot name="r"><link name="base"/>'
        + JOINT.format('a', 'revolute', 'base', shoulder, 1.0)
        + JOINT.format('b', 'revolute', 'a_link', elbow, 1.0)
        + JOINT.format('f', 'prismatic', 'b_link', finger, 0.02)
        + '</robot>',
        backend='python',
    )


@pytest.mark.parametrize('limits', [(1000, 1e4, 1e4), (0, 0, 0), (0.5, 0.1, 1e5)])
def test_placeholders_of_effort_limits_are_replaced_by_what_the_weight_needs(limits, caplog):
    shoulder, elbow, finger = by_effort_limit(small_arm(*limits), 1.0)
    assert 8.0 < shoulder < 30.0
    assert 3.0 < elbow < shoulder
    assert 0.5 < finger < 15.0
    # Zeros are the usual way to leave a limit out.
    named = [name for name, limit in zip('abf', limits, strict=True) if limit]
    assert [f'{name} ' in caplog.text for name in 'abf'] == [name in named for name in 'abf']


def test_speeds_of_sliding_joints_are_scaled_by_their_range():
    robot = small_arm(20, 8, 30)
    assert motion_scales(robot) == pytest.approx([1.0, 1.0, 2.0 / (2.0 * np.pi)])
    slow = slow_speeds(robot, np.array([0.0, 0.01, 1e-5]))
    assert slow == pytest.approx([SLOW, 0.04, SLOW / np.pi])


def test_noise_of_velocities_shows_in_all_joints_at_once(robot):
    """What the observer makes of it is K M times that, so that errors of joints go together."""
    q = np.array([0.3, 0.2, -0.2, 1.0, 0.3, 1.2, 0.3])
    gain, own, velocity = 50.0, 0.01, 1e-3
    estimator = WrenchEstimator(
        robot, HAND, effort_noise=own, momentum_gain=gain, velocity_noise=velocity
    )
    rng = np.random.default_rng(0)
    M = robot.mass_matrix(q)
    normalised = []
    for _ in range(1000):
        torque = own * rng.normal(size=7) + gain * M @ (velocity * rng.normal(size=7))
        (estimate,) = estimator.estimate(q, torque)
        e = estimate.wrench
        normalised.append(e @ np.linalg.solve(estimate.covariance, e))
    # Chi squared of six; the mean of 1000 has a standard deviation of 0.11.
    assert np.mean(normalised) == pytest.approx(6.0, abs=0.55)
