# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds and covariance that follow from noise and motion instead of being guessed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from patience import examples
from random_robots import SEEDS, random_robot

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.contact.unexplained import SLOW
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import ContactDetector, ContactState, MomentumObserver, WrenchEstimator
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

    def test_at_rest_they_are_the_constants(self, detector):
        assert self.run(detector, 0.9, np.zeros(10)).state is ContactState.NONE
        assert detector.contact_thresholds == pytest.approx(np.full(7, 1.0))
        assert self.run(detector, 1.1, np.zeros(10)).state is ContactState.CONTACT

    def test_a_steady_speed_raises_those_of_its_joint(self, detector):
        self.run(detector, 0.0, np.full(1000, -1.5))
        expected = np.full(7, 1.0)
        expected[2] = 1.0 + 2.0 * 1.5
        assert detector.contact_thresholds == pytest.approx(expected)
        assert detector.collision_thresholds == pytest.approx(expected + 4.0)

    def test_without_terms_velocities_are_not_looked_at(self, robot):
        detector = ContactDetector(robot, 1.0, 5.0)
        detector.update(0, np.zeros(7), None, np.full(7, 9.0))
        assert detector.contact_thresholds == pytest.approx(np.full(7, 1.0))

    def test_other_constants_leave_a_contact_as_it_is(self, detector):
        self.run(detector, 1.1, np.zeros(10))
        detector.change_thresholds(2.0, 9.0)
        assert detector.report.state is ContactState.CONTACT
        assert detector.contact_thresholds == pytest.approx(np.full(7, 2.0))

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


def test_effort_limits_are_used_where_they_fit_the_weight(caplog):
    assert by_effort_limit(small_arm(20, 8, 30), 0.1) == pytest.approx([2.0, 0.8, 3.0])
    assert not caplog.text


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


@pytest.mark.parametrize('name', ['ur5', 'ur10', 'xarm7', 'panda', 'z1', 'kinova'])
def test_limits_of_real_arms_are_used(name):
    robot = Robot.from_urdf(urdf_path(name))
    assert by_effort_limit(robot, 1.0) == pytest.approx(robot.effort_limits)


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


@examples(25)
@given(seed=SEEDS)
def test_wrenches_of_random_robots_are_those_of_a_singular_value_decomposition(seed):
    """Damped least squares by NumPy's SVD, at the last link, about a point and in other axes."""
    robot = random_robot(seed, 9)
    rng = np.random.default_rng(seed)
    frame = robot.body_names[-1]
    axes = robot.body_names[int(rng.integers(len(robot.body_names)))]
    q = robot.random_configuration(rng)
    torque, point = rng.normal(size=robot.nv), rng.uniform(-0.2, 0.2, 3)
    noise = rng.uniform(0.5, 2.0, robot.nv)
    length, threshold, prior = 0.3, 0.05, 100.0
    estimator = WrenchEstimator(
        robot,
        frame,
        effort_noise=noise,
        expressed_in=axes,
        reference_points=point,
        length_scale=length,
        singular_threshold=threshold,
        wrench_prior=prior,
    )
    (estimate,) = estimator.estimate(q, torque)

    X, R = robot.forward_kinematics(q, frame), robot.forward_kinematics(q, axes)[:3, :3]
    J = robot.jacobian(q, frame)
    moving = np.abs(J).max(axis=0) > 0.0
    turned = np.vstack([R.T @ J[:3], length * R.T @ J[3:]])
    usual = np.exp(np.log(noise[moving]).mean())
    U, s, Vt = np.linalg.svd((turned / noise * usual).T[moving], full_matrices=True)
    values = np.zeros(6)
    values[: min(len(s), 6)] = s[:6]
    d = np.maximum(values**2, threshold**2)
    U = np.pad(U, ((0, 0), (0, max(0, 6 - U.shape[1]))))[:, :6]
    w = Vt.T @ ((values / d) * (U.T @ (torque[moving] * usual / noise[moving])))
    variance = (usual * values / d) ** 2 + ((1.0 - values**2 / d) * prior) ** 2
    x, y, z = R.T @ X[:3, :3] @ point
    T = np.diag([1.0, 1.0, 1.0, length, length, length])
    T[3:, :3] -= np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    # Eigenvalues know s^2 to rounding; what is below the threshold is divided by its square.
    assert estimate.wrench == pytest.approx(T @ w, rel=1e-7, abs=1e-7)
    assert estimate.covariance == pytest.approx(
        (T @ Vt.T * variance) @ Vt @ T.T, rel=1e-6, abs=1e-6
    )
    assert estimate.singular_values == pytest.approx(values[: moving.sum()], abs=1e-7)
    missing = (1.0 - values**2 / d).max()
    # What is missing of a direction is spread over the components.
    if not 0.05 < missing < 0.5:
        assert estimate.degraded == bool(missing > 0.05)
