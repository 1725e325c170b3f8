# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Wrenches of contacts and forces of feet from joint torques, with their deviations."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from scipy.special import expit, log_ndtr
from scipy.stats import norm

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.contact.feet import contact_probabilities
from dynamics_ros.algorithms.contact.wrench import MAX_MISSED
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.estimation import (
    FootContactEstimator,
    MomentumObserver,
    WrenchEstimator,
)
from dynamics_ros.estimation.wrench import LENGTH_SCALE, SINGULAR_THRESHOLD

HAND = 'panda_hand'
BENT = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.8, 0.02])
"""Far from singular: the hand can be moved well in every direction."""

STRETCHED = np.array([0.0, 0.0, 0.0, -0.0698, 0.0, 0.05, 0.0, 0.02])
"""Nearly straight up, where the hand cannot turn about every axis."""

EXACT = 1e-9
"""Relative: least squares of condition 1e2 in double precision has 1e-13; the rest is margin."""


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def anymal():
    return Robot.from_urdf(urdf_path('anymal'), root_joint='floating')


def torque_of(robot, q, frame, wrench):
    """The joint torques of a wrench (6) at a frame's origin in root axes: virtual work."""
    return robot.jacobian(q, frame).T @ wrench


components = st.floats(-50.0, 50.0)
wrenches = st.tuples(*[components] * 6).map(np.array)


@examples(50)
@given(wrench=wrenches)
def test_a_wrench_that_can_be_felt_is_recovered_exactly(panda, wrench):
    estimator = WrenchEstimator(panda, HAND)
    (estimate,) = estimator.estimate(BENT, torque_of(panda, BENT, HAND, wrench))
    assert estimate.wrench == pytest.approx(wrench, rel=EXACT, abs=EXACT)
    assert estimate.observable.all()
    assert not estimate.degraded
    assert estimate.expressed_in == panda.root_frame


@examples(50)
@given(wrench=wrenches, seed=st.integers(0, 10**6))
def test_an_estimate_that_is_not_degraded_misses_at_most_5_percent(panda, wrench, seed):
    q = panda.random_configuration(seed)
    (estimate,) = WrenchEstimator(panda, HAND).estimate(q, torque_of(panda, q, HAND, wrench))
    assert estimate.degraded == (not estimate.observable.all())
    if not estimate.degraded:
        units = np.repeat([1.0, LENGTH_SCALE], 3)
        missed = (estimate.wrench - wrench) / units
        most = MAX_MISSED * np.linalg.norm(wrench / units)
        if estimate.singular_values[-1] > SINGULAR_THRESHOLD:
            most = 0.0
        assert np.abs(missed).max() <= most + 1e-6
    assert np.all(estimate.singular_values[:-1] >= estimate.singular_values[1:])


@pytest.mark.parametrize('size', [1.0, 0.2, 0.05])
def test_a_small_arm_is_estimated_as_well_as_a_large_one(size):
    """Arms of the same shape: where J is smaller, so are the levers that are worth damping."""
    description = ElementTree.parse(urdf_path('panda'))
    for origin in description.iter('origin'):
        place = size * np.array(origin.get('xyz', '0 0 0').split(), dtype=float)
        origin.set('xyz', ' '.join(map(str, place)))
    robot = Robot.from_urdf(ElementTree.tostring(description.getroot(), encoding='unicode'))
    rng = np.random.default_rng(0)
    estimator, missed = WrenchEstimator(robot, HAND), []
    for q in (robot.random_configuration(rng) for _ in range(100)):
        external = torque_of(robot, q, HAND, [*rng.normal(size=3), 0.0, 0.0, 0.0])
        (estimate,) = estimator.estimate(q, external)
        left = torque_of(robot, q, HAND, estimate.wrench) - external
        missed.append(np.linalg.norm(left) / np.linalg.norm(external))
    assert np.sqrt(np.mean(np.square(missed))) < 0.01


@pytest.mark.parametrize('kinds', ['prismatic prismatic prismatic', 'revolute revolute revolute'])
def test_a_frame_where_all_joints_are_has_its_wrench(kinds):
    links = ''.join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        f'ixz="0" iyz="0"/></inertial></link><joint name="j{k}" type="{kind}">'
        f'<parent link="{f"l{k - 1}" if k else "base"}"/><child link="l{k}"/>'
        f'<axis xyz="{" ".join("1" if i == k else "0" for i in range(3))}"/>'
        '<limit lower="-1" upper="1" effort="9" velocity="9"/></joint>'
        for k, kind in enumerate(kinds.split())
    )
    robot = Robot.from_urdf(f'<robot name="r"><link name="base"/>{links}</robot>')
    (estimate,) = WrenchEstimator(robot, 'l2').estimate(robot.neutral(), np.array([3.0, 2.0, 1.0]))
    part = slice(0, 3) if 'prismatic' in kinds else slice(3, 6)
    np.testing.assert_allclose(estimate.wrench[part], [3.0, 2.0, 1.0], rtol=1e-2)
    assert np.isfinite(estimate.wrench).all() and np.isfinite(estimate.covariance).all()


def test_a_push_against_the_robot_is_positive_along_its_own_direction(panda):
    """Held up by the environment with its weight, the last link is felt to be pushed up."""
    pushed = panda.inverse_dynamics(
        BENT, np.zeros(panda.nv), np.zeros(panda.nv), {HAND: np.array([0, 0, 7.0, 0, 0, 0])}
    )
    external = panda.gravity(BENT) - pushed
    (estimate,) = WrenchEstimator(panda, HAND, expressed_in=HAND).estimate(BENT, external)
    assert estimate.wrench == pytest.approx([0, 0, 7.0, 0, 0, 0], abs=1e-9)


def test_axes_and_reference_point_are_chosen_apart(panda):
    wrench = np.array([10.0, 5.0, -8.0, 1.0, -0.5, 0.3])
    torque = torque_of(panda, BENT, HAND, wrench)
    point = np.array([0.02, -0.05, 0.103])
    X_RH = panda.forward_kinematics(BENT, HAND)
    X_RL = panda.forward_kinematics(BENT, 'panda_link3')
    R_LR = X_RL[:3, :3].T
    estimator = WrenchEstimator(panda, HAND, expressed_in='panda_link3', reference_points=point)
    (estimate,) = estimator.estimate(BENT, torque)
    d = X_RH[:3, :3] @ point
    force, moved = wrench[:3], wrench[3:] - np.cross(d, wrench[:3])
    assert estimate.wrench[:3] == pytest.approx(R_LR @ force, rel=EXACT)
    assert estimate.wrench[3:] == pytest.approx(R_LR @ moved, rel=EXACT)
    in_link = R_LR @ (X_RH[:3, 3] + d - X_RL[:3, 3])
    assert estimate.reference_point == pytest.approx(in_link, rel=EXACT)
    assert estimate.expressed_in == 'panda_link3'
    assert estimate.frame == HAND


def test_a_pull_along_a_stretched_arm_turns_no_joint_and_it_says_so():
    ur5 = Robot.from_urdf(urdf_path('ur5'))
    wrist = 'wrist_1_link'
    q = np.array([0.0, -np.pi / 2, 1e-3, 0.0, 0.0, 0.0])  # straight up
    pull = np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    estimator = WrenchEstimator(ur5, wrist, force_only=True)
    (estimate,) = estimator.estimate(q, torque_of(ur5, q, wrist, pull))
    assert estimate.degraded
    # The wrist stands 0.11 m beside the shoulder's axis: what is lost is z with a part of y.
    assert estimate.observable[:3].tolist() == [True, False, False]
    assert estimate.singular_values[-1] < 0.001
    # It claims next to nothing, and the stated uncertainty covers what it misses.
    assert np.linalg.norm(estimate.wrench) < 1.0
    assert estimate.covariance[2, 2] > 20.0**2


def test_the_estimate_is_continuous_where_damping_begins(panda):
    estimator = WrenchEstimator(panda, HAND)
    wrench = np.array([5.0, -3.0, 8.0, 0.5, 0.2, -0.1])
    last, seen = None, set()
    for elbow in np.linspace(-0.9, -0.0698, 4000):
        q = STRETCHED.copy()
        q[3] = elbow
        (estimate,) = estimator.estimate(q, torque_of(panda, q, HAND, wrench))
        seen.add(estimate.degraded)
        if last is not None:
            # Steps of 0.2 mrad.
            assert np.abs(estimate.wrench - last).max() < 0.25
        last = estimate.wrench
    assert seen == {True, False}


def test_a_point_contact_on_a_leg_is_a_force(anymal):
    q = anymal.neutral()
    q[7:] = [0.0, 0.6, -1.2] * 4
    force = np.array([10.0, -5.0, 100.0])
    torque = anymal.jacobian(q, 'LF_FOOT')[:3].T @ force
    estimator = WrenchEstimator(anymal, 'LF_FOOT', force_only=True)
    (estimate,) = estimator.estimate(q, torque)
    assert estimate.wrench == pytest.approx([*force, 0, 0, 0], abs=1e-8)
    assert estimate.observable.tolist() == [True, True, True, False, False, False]
    assert not estimate.degraded


def test_a_joint_that_is_ignored_has_no_say(panda):
    wrench = np.array([10.0, 5.0, -8.0, 1.0, -0.5, 0.3])
    torque = torque_of(panda, BENT, HAND, wrench)
    torque[2] = 500.0
    ignored = np.zeros(panda.nv, dtype=bool)
    ignored[2] = True
    estimator = WrenchEstimator(panda, HAND, singular_threshold=1e-3)
    (estimate,) = estimator.estimate(BENT, torque, ignored)
    assert estimate.wrench == pytest.approx(wrench, rel=1e-7)
    by_noise = WrenchEstimator(
        panda, HAND, effort_noise=np.where(ignored, np.inf, 0.1), singular_threshold=1e-3
    )
    assert by_noise.estimate(BENT, torque)[0].wrench == pytest.approx(wrench, rel=1e-7)


@pytest.mark.parametrize(
    ('argument', 'call'),
    [
        ('frames', {'frames': 'hand'}),
        ('frames', {'frames': []}),
        ('frames', {'frames': [HAND, HAND]}),
        ('frames', {'frames': 'panda_link0'}),
        ('expressed_in', {'expressed_in': 'nowhere'}),
        ('expressed_in', {'expressed_in': [HAND, HAND]}),
        ('reference_points', {'reference_points': [0.0, 1.0]}),
        ('reference_points', {'reference_points': [0.0, 1.0, np.nan]}),
        ('reference_points', {'reference_points': [0.0] * 6, 'frames': [HAND, 'panda_link5']}),
        ('effort_noise', {'effort_noise': 0.0}),
        ('effort_noise', {'effort_noise': [1.0, 2.0]}),
        ('singular_threshold', {'singular_threshold': -1.0}),
    ],
)
def test_a_bad_setting_is_named(panda, argument, call):
    with pytest.raises(InvalidArgumentError) as refused:
        WrenchEstimator(**({'robot': panda, 'frames': HAND} | call))
    assert refused.value.argument == argument
    if call in ({'frames': 'hand'}, {'expressed_in': 'nowhere'}):
        assert isinstance(refused.value, UnknownFrameError)


FEET = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
WEIGHT = 9.81


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


def test_standing_forces_from_constraints_carry_the_weight_and_agree(anymal, estimator):
    """At rest both sources have to say the same ([RD] eq. 3.62)."""
    q, zero = stance(anymal), np.zeros(anymal.nv)
    # Forces that balance gravity; the joints bring what they leave.
    J = np.vstack([anymal.jacobian(q, foot)[:3] for foot in FEET])
    gravity = anymal.gravity(q)
    forces = np.linalg.lstsq(J[:, :6].T, gravity[:6], rcond=None)[0]
    tau = gravity - J.T @ forces
    np.testing.assert_allclose(tau[:6], 0.0, atol=1e-9)
    # What an observer would find at rest: what gravity and torques leave over.
    contacts = estimator.update(q, zero, gravity - tau, tau=tau)
    found = contacts.constraint_forces
    np.testing.assert_allclose(found, forces.reshape(4, 3), atol=1e-6)
    assert found[:, 2].sum() == pytest.approx(WEIGHT * anymal.total_mass)
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


@pytest.mark.parametrize(
    ('settings', 'error', 'argument'),
    [
        ({'feet': ('LF_FOOT', 'NOSE')}, UnknownFrameError, 'frames'),
        ({'friction': -0.1}, InvalidArgumentError, 'friction'),
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
def test_constraint_forces_in_motion_are_those_of_constrained_dynamics(anymal, resting):
    rng = np.random.default_rng(2)
    q, v, tau = stance(anymal, rng), rng.normal(size=anymal.nv), rng.normal(size=anymal.nv)
    mask = np.array(resting, dtype=bool)
    expected = anymal.contact_forces(q, v, tau, [f for f, r in zip(FEET, mask, strict=True) if r])
    pressed = pushed(anymal, q, np.outer(mask, [0.0, 0.0, 5e3]))
    contacts = FootContactEstimator(anymal, FEET).update(q, v, pressed, tau=tau)
    assert contacts.in_contact.tolist() == mask.tolist()
    found = contacts.constraint_forces
    np.testing.assert_allclose(found[mask].ravel(), expected, rtol=1e-8, atol=1e-8)
    assert not found[~mask].any()


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
