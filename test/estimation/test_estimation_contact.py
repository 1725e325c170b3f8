# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact state, touched link, taring, and what an effort means."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import ContactDetector, ContactState, EffortModel, Tare

MILLISECOND = 1_000_000
"""ns"""

NONE, CONTACT, COLLISION = ContactState


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('xarm7'))


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
            self.detector.update(self.now, external)
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
            assert detector.update(0, J.T @ torque_about_the_axis).link == link

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
        assert np.array_equal(result.offset, tare.offset)
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
        tare = Tare(3, max_velocity=0.02, max_deviation=0.5)
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

    def test_a_few_samples_over_the_whole_window_are_too_few(self):
        tare = Tare(3)
        for step in range(5):
            tare.add(step * 250 * MILLISECOND, np.ones(3), np.zeros(3))
        assert tare.take().reason == 'too_few_samples'

    def test_a_tare_can_be_undone_step_by_step(self):
        tare = Tare(3)
        last = fill(tare, [1.0, 1.0, 1.0])
        tare.take()
        fill(tare, [2.0, 2.0, 2.0], start=last + MILLISECOND)
        tare.take()
        assert tare.undo() and tare.offset == pytest.approx([1.0, 1.0, 1.0])
        assert tare.undo() and not tare.offset.any()
        assert not tare.undo()

    @pytest.mark.parametrize('setting', ['window', 'max_velocity', 'max_deviation'])
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
        ],
    )
    def test_a_bad_value_is_named(self, pendulum, values):
        with pytest.raises(InvalidArgumentError, match=rf'^{next(iter(values))}'):
            EffortModel.ideal(pendulum).with_values(**values)
