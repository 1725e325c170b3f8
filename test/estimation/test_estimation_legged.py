# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feet of a legged robot: forces, contact and friction, from external torques that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from patience import examples
from scipy.special import expit, log_ndtr
from scipy.stats import norm

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.contact.feet import contact_probabilities
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.estimation import (
    EffortModel,
    FootContactEstimator,
    MomentumObserver,
)

FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
WEIGHT = 9.81


@pytest.fixture(scope='module')
def anymal():
    return Robot.from_urdf(urdf_path('anymal'), root_joint='floating')


@pytest.fixture
def estimator(anymal):
    return FootContactEstimator(anymal, FEET)


def stance(robot, rng=None):
    """A posture with bent legs, a little different for each leg where a rng is given."""
    q = robot.neutral()
    for name, index in zip(robot.joint_names, range(7, robot.nq), strict=True):
        sign = 1.0 if name[1] == 'F' else -1.0
        q[index] = {'HAA': 0.0, 'HFE': 0.6 * sign, 'KFE': -1.2 * sign}[name[-3:]]
    if rng is not None:
        q[7:] += rng.uniform(-0.2, 0.2, 12)
    return q


def pushed(robot, q, forces):
    """External torques of forces (n, 3) on the feet."""
    return sum(robot.jacobian(q, foot)[:3].T @ f for foot, f in zip(FEET, forces, strict=True))


@pytest.mark.parametrize('seed', range(3))
def test_forces_of_all_feet_come_back(anymal, estimator, seed):
    rng = np.random.default_rng(seed)
    q = stance(anymal, rng)
    forces = rng.uniform([-10.0, -10.0, 20.0], [10.0, 10.0, 120.0], (4, 3))
    contacts = estimator.update(q, np.zeros(anymal.nv), pushed(anymal, q, forces))
    np.testing.assert_allclose(contacts.forces, forces, atol=1e-8)
    assert contacts.in_contact.all()
    assert (contacts.probabilities > 0.99).all()
    assert not contacts.degraded


def test_contact_has_hysteresis_and_reset_forgets(anymal, estimator):
    q, v = stance(anymal), np.zeros(anymal.nv)

    def states(newtons):
        tau = pushed(anymal, q, np.tile([0.0, 0.0, newtons], (4, 1)))
        return estimator.update(q, v, tau)

    assert states(50.0).in_contact.all()
    # Between the two probabilities the state stays what it was.
    grid = np.linspace(0.0, 4.0, 81)
    between = next(x for x in grid if 0.35 < states(x).probabilities[0] < 0.65)
    states(50.0)
    assert states(between).in_contact.all()
    assert not states(0.0).in_contact.any()
    assert not states(between).in_contact.any()
    states(50.0)
    estimator.reset()
    assert not states(between).in_contact.any()


def test_friction_violation_is_what_the_cone_does_not_carry(anymal):
    estimator = FootContactEstimator(anymal, FEET, friction=0.5)
    q = stance(anymal)
    forces = np.array([[30.0, 40.0, 80.0], [0.0, 0.0, 80.0], [39.0, 0.0, 80.0], [5.0, 0.0, -20.0]])
    contacts = estimator.update(q, np.zeros(anymal.nv), pushed(anymal, q, forces))
    # 50 N along the ground where 0.5 * 80 N hold; a foot that is pulled is not in contact.
    np.testing.assert_allclose(contacts.friction_violations, [10.0, 0.0, 0.0, 0.0], atol=1e-8)
    assert contacts.in_contact.tolist() == [True, True, True, False]


def test_on_a_slope_the_normal_is_that_of_the_slope(anymal):
    slope = np.array([np.sin(0.3), 0.0, np.cos(0.3)])
    estimator = FootContactEstimator(anymal, FEET, friction=0.2, normal=2.0 * slope)
    q = stance(anymal)
    contacts = estimator.update(
        q, np.zeros(anymal.nv), pushed(anymal, q, np.tile(60 * slope, (4, 1)))
    )
    np.testing.assert_allclose(contacts.friction_violations, 0.0, atol=1e-8)


def test_standing_forces_from_constraints_carry_the_weight_and_agree(anymal, estimator):
    """At rest both sources have to say the same ([RD] eq. 3.62)."""
    q, zero = stance(anymal), np.zeros(anymal.nv)
    # Forces that balance gravity; the joints bring what they leave.
    J = np.vstack([anymal.jacobian(q, foot)[:3] for foot in FEET])
    gravity = anymal.gravity(q)
    forces = np.linalg.lstsq(J[:, :6].T, gravity[:6], rcond=None)[0]
    tau = gravity - J.T @ forces
    np.testing.assert_allclose(tau[:6], 0.0, atol=1e-9)
    found = estimator.constraint_forces(q, zero, tau, np.ones(4, dtype=bool))
    np.testing.assert_allclose(found, forces.reshape(4, 3), atol=1e-6)
    assert found[:, 2].sum() == pytest.approx(WEIGHT * anymal.total_mass)
    # What an observer would find at rest: what gravity and torques leave over.
    contacts = estimator.update(q, zero, gravity - tau)
    np.testing.assert_allclose(contacts.forces, found, atol=1e-6)


@pytest.mark.parametrize('gain', [75.0, 300.0])
def test_the_stated_deviation_is_the_scatter_of_the_forces(anymal, gain):
    """Monte Carlo: noise of velocities, base included, and of efforts, through the observer."""
    velocity_noise, effort_noise, interval = 1e-3, 0.05, 1e-3
    observer = MomentumObserver(anymal, gain)
    gains = observer.noise_gains(interval)
    estimator = FootContactEstimator(
        anymal,
        FEET,
        effort_noise=gains.effort * effort_noise,
        momentum_gain=gains.momentum,
        velocity_noise=velocity_noise,
    )
    q, rng, zero = stance(anymal), np.random.default_rng(0), np.zeros(anymal.nv)
    true = np.tile([0.0, 0.0, WEIGHT * anymal.total_mass / 4], (4, 1))
    tau = anymal.gravity(q) - pushed(anymal, q, true)
    joints = np.arange(anymal.nv) >= 6
    errors = []
    for step in range(3000):
        v = velocity_noise * rng.normal(size=anymal.nv)
        effort = joints * (tau + effort_noise * rng.normal(size=anymal.nv))
        external = observer.update(step * 10**6, q, v, effort)
        if step % 10 == 0 and step > 300:
            contacts = estimator.update(q, zero, external)
            errors.append(contacts.forces[:, 2] / contacts.deviations)
    scatter = np.std(errors, axis=0)
    assert np.all((scatter > 0.85) & (scatter < 1.15)), scatter


def test_constraint_forces_come_with_the_contacts_when_torques_are_told(anymal, estimator):
    q, zero = stance(anymal), np.zeros(anymal.nv)
    forces = np.tile([0.0, 0.0, WEIGHT * anymal.total_mass / 4], (4, 1))
    external = pushed(anymal, q, forces)
    tau = anymal.gravity(q) - external
    assert not estimator.update(q, zero, external).constraint_forces.any()
    told = estimator.update(q, zero, external, tau=tau)
    assert_allclose(
        told.constraint_forces,
        estimator.constraint_forces(q, zero, tau, told.in_contact),
        rtol=1e-9,
        atol=1e-9,
    )


def test_efforts_without_what_carries_the_weight_leave_the_base_to_the_ground(anymal, estimator):
    """No joint carries the base, so nothing of its weight is missing in the reports."""
    q, zero = stance(anymal), np.zeros(anymal.nv)
    J = np.vstack([anymal.jacobian(q, foot)[:3] for foot in FEET])
    forces = np.linalg.lstsq(J[:, :6].T, anymal.gravity(q)[:6], rcond=None)[0].reshape(4, 3)
    joints = np.arange(anymal.nv) >= 6
    effort = joints * -pushed(anymal, q, forces)
    model = EffortModel.ideal(anymal).with_values(includes_gravity=False)
    observer = MomentumObserver(anymal, 100.0, effort_model=model)
    for step in range(200):
        external = observer.update(step * 10**6, q, zero, effort)
    np.testing.assert_allclose(estimator.update(q, zero, external).forces, forces, atol=1e-3)


@pytest.mark.parametrize(
    ('settings', 'error', 'argument'),
    [
        ({'feet': ('LF_FOOT', 'NOSE')}, UnknownFrameError, 'frames'),
        ({'friction': -0.1}, InvalidArgumentError, 'friction'),
        ({'normal': (0.0, 0.0, 0.0)}, InvalidArgumentError, 'normal'),
        ({'force_threshold': 0.0}, InvalidArgumentError, 'force_threshold'),
        ({'feet': ()}, InvalidArgumentError, 'frames'),
    ],
)
def test_bad_settings_are_named(anymal, settings, error, argument):
    with pytest.raises(error, match=argument):
        FootContactEstimator(anymal, **({'feet': FEET} | settings))


def test_a_robot_whose_base_is_fixed_is_refused():
    fixed = Robot.from_urdf(urdf_path('anymal'))
    with pytest.raises(InvalidArgumentError, match='floating'):
        FootContactEstimator(fixed, FEET)


@pytest.mark.parametrize('resting', [[1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0]])
def test_constraint_forces_in_motion_are_those_of_constrained_dynamics(anymal, estimator, resting):
    rng = np.random.default_rng(2)
    q, v, tau = stance(anymal, rng), rng.normal(size=anymal.nv), rng.normal(size=anymal.nv)
    mask = np.array(resting, dtype=bool)
    expected = anymal.contact_forces(q, v, tau, [f for f, r in zip(FEET, mask, strict=True) if r])
    found = estimator.constraint_forces(q, v, tau, mask)
    np.testing.assert_allclose(found[mask].ravel(), expected, rtol=1e-8, atol=1e-8)
    assert not found[~mask].any()


def test_feet_on_one_body_share_the_force_of_least_norm(anymal):
    """Two points of a shank hold five of its directions with six rows."""
    body = anymal.model.frame('LF_FOOT').body
    names = [f.name for f in anymal.model.frames if f.body == body][-2:]
    q, zero = stance(anymal), np.zeros(anymal.nv)
    feet = (*names, *FEET[1:])
    found = FootContactEstimator(anymal, feet).constraint_forces(
        q, zero, zero, np.ones(len(feet), dtype=bool)
    )
    expected = anymal.contact_forces(q, zero, zero, feet)
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-6, atol=1e-6)


@examples(200)
@given(
    force=st.floats(-1e6, 1e6),
    deviation=st.floats(1e-6, 1e3),
    speed=st.floats(-100.0, 100.0),
    least=st.floats(1e-3, 100.0),
)
def test_contact_probabilities_are_those_of_normal_distributions(force, deviation, speed, least):
    (found,) = contact_probabilities([force], [deviation], [speed], least)
    threshold = max(least, 2.0 * deviation)
    z = np.clip((force - threshold) / np.hypot(deviation, threshold / 3.0), -37.0, 37.0)
    odds = log_ndtr(z) - log_ndtr(-z) + norm.logpdf(speed, 0, 0.2) - norm.logpdf(speed, 0, 0.6)
    assert found == pytest.approx(expit(odds), rel=1e-9, abs=1e-300)
