# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact state, taring, what an effort means, and values that cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.algorithms.contact.unexplained import SLOW
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import (
    ContactDetector,
    ContactState,
    EffortCheck,
    EffortModel,
    EffortVerdict,
    Tare,
    WrenchEstimator,
)
from dynamics_ros.estimation.samples.doubts import joints_far_beyond_limits
from dynamics_ros.estimation.uncertainty.thresholds import (
    by_effort_limit,
    motion_scales,
    slow_speeds,
)

MILLISECOND = 1_000_000
"""ns"""

NONE, CONTACT, COLLISION = ContactState


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('xarm7'))


def update(detector, stamp, *sample):
    return detector.take(stamp, detector.compare(stamp, *sample))


class Feeling:
    """Feeds a detector at 1 kHz with a torque on one joint."""

    def __init__(self, detector, size):
        self.detector = detector
        self.size = size
        self.now = 0

    def __call__(self, torque, joint=3, samples=1):
        external = np.zeros(self.size)
        external[joint] = torque
        for _ in range(samples):
            self.now += MILLISECOND
            update(self.detector, self.now, external)
        return self.detector.report


@pytest.fixture
def feel(robot):
    """Contact above 1 Nm, collision above 5 Nm, debounced over 3 ms, released after 20 ms."""
    return Feeling(ContactDetector(robot, 1.0, 5.0, debounce=0.003, release=0.02), robot.nv)


class TestContactState:
    @pytest.mark.parametrize('sign', [1.0, -1.0])
    def test_contact_is_told_once_it_has_lasted_the_debounce_time(self, feel, sign):
        states = [feel(sign * 2.0).state for _ in range(5)]
        # The first sample above begins the 3 ms.
        assert states == [NONE, NONE, NONE, CONTACT, CONTACT]

    def test_single_spikes_are_no_contact_however_many(self, feel):
        for _ in range(50):
            assert feel(100.0, samples=3).state is NONE
            feel(0.0)

    def test_contact_ends_after_the_release_time(self, feel):
        feel(2.0, samples=10)
        assert feel(0.0, samples=19).state is CONTACT
        assert feel(0.0, samples=1).state is NONE
        assert feel.detector.report.link == ''

    def test_a_contact_that_flutters_stays_one_contact(self, feel):
        begin = feel(2.0, samples=4).since
        for _ in range(20):
            feel(0.0, samples=10)
            report = feel(2.0)
            assert report.state is CONTACT
        assert report.since == begin

    def test_a_collision_stays_until_reset(self, feel):
        report = feel(6.0, samples=4)
        assert report.state is COLLISION and report.collision_latched
        report = feel(0.0, samples=1000)
        assert report.state is COLLISION and report.collision_latched
        feel.detector.reset()
        assert feel.detector.report.state is NONE
        assert feel(2.0, samples=4).state is CONTACT

    def test_a_contact_can_become_a_collision(self, feel):
        assert feel(2.0, samples=10).state is CONTACT
        assert feel(6.0, samples=3).state is CONTACT
        assert feel(6.0).state is COLLISION

    def test_a_clock_that_jumps_back_starts_the_debounce_anew_but_keeps_the_latch(self, feel):
        feel(2.0, samples=3)
        feel.now -= 500 * MILLISECOND
        assert feel(2.0, samples=3).state is NONE
        assert feel(2.0).state is CONTACT
        feel(6.0, samples=4)
        feel.now -= 500 * MILLISECOND
        assert feel(0.0).collision_latched

    def test_each_joint_has_its_own_thresholds(self, robot):
        contact = np.arange(1.0, 1.0 + robot.nv)
        feel = Feeling(ContactDetector(robot, contact, np.inf, debounce=0.0), robot.nv)
        assert feel(1.5, joint=1).state is NONE
        assert feel(2.5, joint=1).state is CONTACT
        assert feel(1000.0, joint=1).state is CONTACT

    def test_the_link_touched_is_the_one_behind_the_last_joint_that_feels_it(self, robot):
        """A torque about the axis of the joint that moves the link, by virtual work."""
        q = robot.random_configuration(3)
        for link in ('link2', 'link4', 'link6', 'link7'):
            J = robot.jacobian(q, link)
            last = np.flatnonzero(np.abs(J).sum(axis=0))[-1]
            torque_about_the_axis = np.zeros(6)
            torque_about_the_axis[3:] = 10.0 * J[3:, last]
            detector = ContactDetector(robot, 0.5, 1000.0, debounce=0.0)
            assert update(detector, 0, J.T @ torque_about_the_axis).link == link

    @pytest.mark.parametrize(
        ('argument', 'settings'),
        [
            ('contact_thresholds', {'contact_thresholds': -1.0}),
            ('contact_thresholds', {'contact_thresholds': [1.0]}),
            ('collision_thresholds', {'collision_thresholds': np.nan}),
            ('debounce', {'debounce': -0.1}),
            ('release', {'release': np.nan}),
        ],
    )
    def test_a_bad_setting_is_named(self, robot, argument, settings):
        with pytest.raises(InvalidArgumentError, match=rf'^{argument}'):
            ContactDetector(
                robot, **({'contact_thresholds': 1.0, 'collision_thresholds': 5.0} | settings)
            )


def fill(tare, torque, seconds=1.2, speed=0.0, noise=0.0, start=0, size=3):
    """A stretch of samples at 1 kHz; returns the stamp of the last."""
    rng = np.random.default_rng(0)
    for step in range(round(seconds * 1000)):
        stamp = start + step * MILLISECOND
        tare.add(stamp, np.asarray(torque) + noise * rng.normal(size=size), np.full(size, speed))
    return stamp


class TestTare:
    def test_the_mean_of_the_window_becomes_the_offset(self):
        tare = Tare(3, window=0.5)
        fill(tare, [1.0, -2.0, 0.5], noise=0.1)
        result = tare.take()
        assert result.success and result.reason == ''
        # 0.1 Nm over sqrt(501), five standard deviations.
        assert tare.offset == pytest.approx([1.0, -2.0, 0.5], abs=0.025)
        assert result.duration == pytest.approx(0.5, abs=0.002)
        assert result.samples == 501

    def test_only_the_last_window_counts(self):
        tare = Tare(3, window=0.5)
        last = fill(tare, [9.0, 9.0, 9.0], speed=1.0)
        fill(tare, [1.0, 1.0, 1.0], seconds=0.6, start=last + MILLISECOND)
        assert tare.take().success
        assert tare.offset == pytest.approx([1.0, 1.0, 1.0])

    @pytest.mark.parametrize(
        ('stretch', 'reason'),
        [
            ({'speed': 0.1}, 'moving'),
            ({'noise': 2.0}, 'noisy'),
            ({'seconds': 0.3}, 'too_few_samples'),
        ],
    )
    def test_it_refuses_with_a_reason_and_keeps_the_offset(self, stretch, reason):
        tare = Tare(3, max_velocity=0.02)
        last = fill(tare, [1.0, 1.0, 1.0])
        assert tare.take().success
        tare.restart()
        fill(tare, [5.0, 5.0, 5.0], start=last, **stretch)
        result = tare.take()
        assert not result.success
        assert result.reason == reason
        assert any(character.isdigit() for character in result.message)
        assert tare.offset == pytest.approx([1.0, 1.0, 1.0])

    def test_what_a_calibrated_model_does_not_leave_unexplained_is_a_touch(self):
        tare, explained = Tare(3), np.array([1.0, 2.0, np.inf])
        fill(tare, [0.5, -3.0, 9.0], noise=0.1)
        result = tare.take(explained)
        assert result.reason == 'touched' and result.joint == 1
        assert '-3 Nm' in result.message and 'at most 2 unexplained' in result.message
        assert not tare.offset.any()
        assert tare.take(np.array([1.0, 4.0, np.inf])).success

    def test_a_push_that_comes_or_goes_in_the_window_is_noise(self):
        tare = Tare(3)
        last = fill(tare, [0.0, 0.0, 0.0], seconds=0.7)
        fill(tare, [3.0, 0.0, 0.0], seconds=0.5, start=last + MILLISECOND)
        assert tare.take().reason == 'noisy'

    @pytest.mark.parametrize('setting', ['window', 'max_velocity'])
    def test_a_bad_setting_is_named(self, setting):
        with pytest.raises(InvalidArgumentError, match=rf'^{setting}'):
            Tare(3, **{setting: 0.0})


PENDULUM = """
<robot name='pendulum'>
  <link name='base'/>
  <link name='arm'><inertial><origin xyz='0.5 0 0'/><mass value='2'/>
    <inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>
  <link name='tail'><inertial><mass value='1'/>
    <inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>
  <joint name='hinge' type='revolute'><parent link='base'/><child link='arm'/>
    <axis xyz='0 1 0'/><limit lower='-3' upper='3' effort='50' velocity='5'/>
    <dynamics damping='0.4' friction='1.5'/></joint>
  <joint name='follower' type='revolute'><parent link='arm'/><child link='tail'/>
    <axis xyz='0 1 0'/><limit lower='-3' upper='3' effort='50' velocity='5'/>
    <mimic joint='hinge' multiplier='-2'/><dynamics damping='0.1' friction='0.25'/></joint>
</robot>"""


class TestEffortModel:
    @pytest.fixture
    def pendulum(self):
        return Robot.from_urdf(PENDULUM)

    def test_friction_is_read_from_the_description_with_that_of_followers(self, pendulum):
        model = EffortModel.from_robot(pendulum)
        # The follower turns twice as fast: m^2 of its damping, |m| of its friction.
        assert model.viscous == pytest.approx([0.4 + 4 * 0.1])
        assert model.coulomb == pytest.approx([1.5 + 2 * 0.25])
        # At 100 times the friction velocity tanh is 1.
        assert model.friction_torque([-1.0]) == pytest.approx([-(0.8 + 2.0)])

    def test_friction_takes_away_from_what_moves_and_never_adds_energy(self, pendulum):
        model = EffortModel.from_robot(pendulum)
        for v in np.linspace(-2.0, 2.0, 41):
            assert model.friction_torque([v])[0] * v >= 0.0
        assert model.friction_torque([0.0])[0] == 0.0

    def test_currents_become_torques_by_scale_and_offset(self, pendulum):
        model = EffortModel.ideal(pendulum).with_values(scale=2.5, offset=[-0.5])
        assert model.joint_torque([2.0], [0.0]) == pytest.approx([4.5])

    def test_gravity_that_a_report_leaves_out_is_put_back(self, pendulum):
        q = np.array([0.3])
        gravity = pendulum.gravity(q)
        model = EffortModel.ideal(pendulum).with_values(includes_gravity=False)
        # The controller carries the weight silently and reports zero: the arm is in balance.
        assert model.joint_torque([0.0], [0.0], gravity) == pytest.approx(gravity)
        with pytest.raises(InvalidArgumentError, match=r'^gravity'):
            model.joint_torque([0.0], [0.0])

    @pytest.mark.parametrize(
        'values',
        [
            {'scale': np.nan},
            {'offset': [1.0, 2.0]},
            {'viscous': -1.0},
            {'coulomb': np.inf},
            {'friction_velocity': 0.0},
            {'stribeck': -1.0},
            {'rotor_inertia': -1.0},
            {'stribeck_velocity': -1.0},
            {'load_friction': -1.0},
        ],
    )
    def test_a_bad_value_is_named(self, pendulum, values):
        with pytest.raises(InvalidArgumentError, match=rf'^{next(iter(values))}'):
            EffortModel.ideal(pendulum).with_values(**values)


BENT = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.8])
GEARS = np.array([0.02, 0.03, 0.02, 0.025, 0.05, 0.06, 0.05])
"""Currents over torques, joint by joint different."""


@pytest.fixture(scope='module')
def robot_effort_check():
    locked = {'panda_finger_joint1': 0.0}
    return Robot.from_urdf(urdf_path('panda'), locked_joints=locked)


def checked(robot, effort, v=0.0, *, includes_gravity=True, samples=400):
    """The report after samples of 1 ms with 0.02 Nm of noise."""
    model = EffortModel.ideal(robot).with_values(includes_gravity=includes_gravity)
    check = EffortCheck(robot, model)
    rng = np.random.default_rng(0)
    for step in range(samples):
        noise = 0.02 * rng.normal(size=robot.nv) if np.any(effort) else 0.0
        check.add(step * 1_000_000, BENT, np.full(robot.nv, v), effort + noise)
    return check.report


@pytest.mark.parametrize(
    ('factor', 'verdict'),
    [
        (1.0, EffortVerdict.EXPECTED),
        (1.2, EffortVerdict.EXPECTED),  # an unknown payload
        (0.0, EffortVerdict.ZEROS),
        (-1.0, EffortVerdict.OPPOSITE),
        (GEARS, EffortVerdict.OTHER_UNIT),
        (30.0, EffortVerdict.OTHER_UNIT),
    ],
)
def test_efforts_are_held_against_the_weight(robot_effort_check, factor, verdict):
    report = checked(robot_effort_check, factor * robot_effort_check.gravity(BENT))
    assert report.verdict is verdict
    assert bool(report.advice) == (verdict is not EffortVerdict.EXPECTED)
    assert ('effort.scale' in report.advice) == (
        verdict in (EffortVerdict.OTHER_UNIT, EffortVerdict.OPPOSITE)
    )


def test_gravity_compensated_efforts_are_told_either_way(robot_effort_check):
    little = np.full(robot_effort_check.nv, 0.05) * np.array([1, -1, 1, 1, -1, 1, -1])
    assert checked(robot_effort_check, little).verdict is EffortVerdict.COMPENSATED
    for effort in (little, 0.0 * little):
        report = checked(robot_effort_check, effort, includes_gravity=False)
        assert report.verdict is EffortVerdict.EXPECTED
    report = checked(robot_effort_check, robot_effort_check.gravity(BENT), includes_gravity=False)
    assert report.verdict is EffortVerdict.NOT_COMPENSATED
    assert 'effort.includes_gravity' in report.advice


@pytest.mark.parametrize('friction', [None, 16.0])
@pytest.mark.parametrize(
    'posture', [(0.0, -1.57, 0.0, -1.57, 0.0, 0.0), (0.0, -1.6, 0.2, 0.0, 0.0, 0.0)]
)
def test_efforts_of_an_upright_arm_that_friction_holds_are_not_judged(friction, posture):
    """A few Nm of gravity and up to 16 Nm of friction of either sign at rest."""
    arm = Robot.from_urdf(urdf_path('ur10'))
    known = None if friction is None else np.full(arm.nv, friction)
    rng = np.random.default_rng(3)
    for _ in range(20):
        check = EffortCheck(arm, EffortModel.ideal(arm), friction=known)
        effort = arm.gravity(posture) + rng.uniform(-16.0, 16.0, arm.nv)
        for step in range(400):
            check.add(step * 1_000_000, np.array(posture), np.zeros(arm.nv), effort)
        assert not check.report.advice


ARM = Robot.from_urdf((Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text())
WHEEL = Robot.from_urdf(
    '<robot name="wheel"><link name="base"/><link name="rim"/><joint name="axle" type="continuous">'
    '<parent link="base"/><child link="rim"/></joint></robot>',
    'floating',
)


def test_within_the_limits_and_a_little_beyond_nothing_is_said():
    for q in (ARM.lower_limits, ARM.upper_limits, ARM.neutral()):
        assert joints_far_beyond_limits(ARM, q) == {}
        assert joints_far_beyond_limits(ARM, 1.1 * q) == {}


def test_degrees_are_named_with_joint_value_and_limits():
    q = ARM.neutral()
    q[2] = 45.0
    name = ARM.joint_names[2]
    (told,) = joints_far_beyond_limits(ARM, q).values()
    limits = f'{ARM.lower_limits[2]:.4g} to {ARM.upper_limits[2]:.4g} rad'
    assert told == f'{name} is at 45 (limits {limits}; degrees?)'
    assert [*joints_far_beyond_limits(ARM, np.full(7, 90.0))] == [*ARM.joint_names]


def test_a_joint_without_limits_cannot_be_judged():
    q = WHEEL.neutral()
    q[-1], q[:3] = 1e6, 1e6
    assert joints_far_beyond_limits(WHEEL, q) == {}


def test_bad_input_is_refused():
    with pytest.raises(InvalidArgumentError, match='q'):
        joints_far_beyond_limits(ARM, [1.0, np.nan])


HAND = 'link_eef'


class TestMotion:
    """Thresholds rise with the motion of their joint."""

    @pytest.fixture
    def detector(self, robot):
        return ContactDetector(robot, 1.0, 5.0, debounce=0.0, velocity_term=2.0)

    def run(self, detector, torque, velocities):
        for step, velocity in enumerate(velocities):
            v = np.zeros(7)
            v[2] = velocity
            report = update(detector, step * MILLISECOND, np.full(7, torque), None, v)
        return report

    def test_a_steady_speed_raises_those_of_its_joint(self, detector):
        self.run(detector, 0.0, np.full(1000, -1.5))
        expected = np.full(7, 1.0)
        expected[2] = 1.0 + 2.0 * 1.5
        assert detector.thresholds[0] == pytest.approx(expected)
        assert detector.thresholds[1] == pytest.approx(expected + 4.0)

    def test_a_negative_term_is_refused_by_name(self, robot):
        with pytest.raises(InvalidArgumentError, match='velocity_term'):
            ContactDetector(robot, 1.0, 5.0, velocity_term=-1.0)


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


@pytest.mark.parametrize('name', ['panda', 'ur10', 'xarm7', 'z1', 'tiago'])
def test_a_placeholder_that_would_suit_a_shoulder_is_used_for_no_joint(name):
    text = Path(urdf_path(name)).read_text()
    robot = Robot.from_urdf(text)
    np.testing.assert_array_equal(by_effort_limit(robot, 1.0), robot.effort_limits)
    for placeholder in (1.0, 1000.0):
        changed = Robot.from_urdf(re.sub('effort="[^"]*"', f'effort="{placeholder}"', text))
        ranges = by_effort_limit(changed, 1.0) / robot.effort_limits
        assert not (ranges * robot.effort_limits == placeholder).any()
        assert ranges.min() > 0.05 and ranges.max() < 9.0


def test_speeds_of_sliding_joints_are_scaled_by_their_range():
    robot = small_arm(20, 8, 30)
    assert motion_scales(robot) == pytest.approx([1.0, 1.0, 2.0 / (2.0 * np.pi)])
    slow = slow_speeds(robot, np.array([0.0, 0.01, 1e-5]))
    assert slow == pytest.approx([SLOW, 0.04, SLOW / np.pi])


@pytest.mark.parametrize('point', [(0.0, 0.0, 0.0), (0.1, 0.05, 0.2)])
def test_the_covariance_is_that_of_estimates_under_noise_of_velocities_and_efforts(robot, point):
    """What the observer makes of it is K M times that, so that errors of joints go together."""
    q = np.array([0.3, 0.2, -0.2, 1.0, 0.3, 1.2, 0.3])
    gain, own, velocity = 50.0, 0.01, 1e-3
    estimator = WrenchEstimator(
        robot,
        HAND,
        effort_noise=own,
        momentum_gain=gain,
        velocity_noise=velocity,
        reference_points=point,
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


def test_the_sign_of_efforts_is_judged_where_the_weight_is_well_above_friction():
    arm = Robot.from_urdf(urdf_path('ur10'))
    stretched = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    rng = np.random.default_rng(3)
    check = EffortCheck(arm, EffortModel.ideal(arm))
    effort = -arm.gravity(stretched) + rng.uniform(-16.0, 16.0, arm.nv)
    for step in range(400):
        check.add(step * 1_000_000, stretched, np.zeros(arm.nv), effort)
    assert check.report.verdict is EffortVerdict.OPPOSITE
