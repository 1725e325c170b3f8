# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What scripts/demo makes of what it has heard: wrong is a failure, and late is late."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dynamics_ros.demo.client import (
    Contact,
    LateError,
    ServiceError,
    State,
    UnansweredError,
    Wrench,
)
from dynamics_ros.demo.demonstration import Demonstration
from dynamics_ros.demo.measures import Measures
from dynamics_ros.demo.report import Report
from dynamics_ros.demo.subject import Subject
from dynamics_ros.demo.tracks import Track

DOMAIN = 193
"""That is in reports; nobody is there."""

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def subject():
    return Subject.of(ARM.read_text())


class TestTheChecks:
    """The demonstration is no proof unless it fails when something is wrong."""

    @pytest.fixture
    def report(self, subject):
        return Report.of(subject, DOMAIN)

    @pytest.fixture
    def client(self, subject):
        """What a client has received of nodes that make no mistake, 2 s at 100 Hz, half pushed."""
        one = SimpleNamespace(
            **{
                name: Track()
                for name in (
                    'joint_states', 'pose', 'gravity', 'wrench', 'contact',
                    'true_pose', 'true_wrench',
                )
            }
        )  # fmt: skip
        pose = subject.reference.pose(subject.posture, subject.tool)
        gravity = subject.reference.gravity_torques(subject.posture)
        still = np.zeros(subject.robot.nv)
        for number in range(200):
            stamp = 10**9 + number * 10**7
            pushed = number >= 100
            force = np.concatenate([subject.force * pushed, np.zeros(3)])
            one.joint_states.add(stamp, State(subject.posture, still, gravity))
            one.pose.add(stamp, pose)
            one.true_pose.add(stamp, pose)
            one.gravity.add(stamp, gravity)
            one.wrench.add(stamp, Wrench(subject.robot.root_frame, force))
            in_tool = np.concatenate([pose[:3, :3].T @ force[:3], np.zeros(3)])
            one.true_wrench.add(stamp, Wrench(subject.tool, in_tool))
            one.contact.add(stamp, Contact(int(pushed), 'hand' if pushed else ''))
        return one

    def measure_push(self, report, client, subject):
        Measures(report, client, subject).push(quiet=10**9, duration=1.0)

    def test_nothing_is_wrong_with_what_is_right(self, report, client, subject):
        Measures(report, client, subject).poses()
        Measures(report, client, subject).gravity()
        self.measure_push(report, client, subject)
        assert report.failures == []
        assert report.push_error_percent == pytest.approx(0.0, abs=1e-9)
        assert report.push_detected_after_ms == 0.0
        assert report.contact_link == 'hand'

    def test_a_pose_that_is_off_is_a_failure(self, report, client, subject):
        stamp, moved = client.pose.newest, client.pose.latest.copy()
        moved[0, 3] += 1e-5
        client.pose.add(stamp, moved)
        Measures(report, client, subject).poses()
        assert report.pose_error_m == pytest.approx(1e-5)
        assert len(report.failures) == 1 and 'pose' in report.failures[0]

    def test_stamps_that_do_not_match_are_a_failure(self, report, client, subject):
        client.pose = Track()
        for number in range(100):
            client.pose.add(number, np.eye(4))
        Measures(report, client, subject).poses()
        assert report.pose_error_m is None
        assert 'too few' in report.failures[0]

    def test_a_gravity_torque_that_is_off_is_a_failure(self, report, client, subject):
        client.gravity.add(10**9, client.gravity.get(10**9) + 0.01)
        Measures(report, client, subject).gravity()
        assert report.gravity_torque_error_nm == pytest.approx(0.01)
        assert 'gravity' in report.failures[0]

    def test_a_force_that_is_off_by_more_than_five_percent_is_a_failure(
        self, report, client, subject
    ):
        stamp, wrench = client.wrench.newest, client.wrench.latest
        for number in range(100):
            time_ns = stamp - number * 10**7
            client.wrench.add(time_ns, Wrench(wrench.frame_id, 1.06 * wrench.values))
        self.measure_push(report, client, subject)
        assert report.push_error_percent == pytest.approx(6.0)
        assert '6.0 %' in report.failures[0]

    def test_a_push_that_is_not_detected_is_a_failure(self, report, client, subject):
        client.contact = Track()
        self.measure_push(report, client, subject)
        assert report.failures == ['the push was not detected']

    def test_a_contact_before_the_push_is_a_failure(self, report, client, subject):
        client.contact.add(10**9 + 4 * 10**8, Contact(1, 'hand'))
        self.measure_push(report, client, subject)
        assert 'before the push' in report.failures[0]

    def test_an_estimate_that_is_off_after_a_gap_is_late_and_not_wrong(
        self, report, client, subject
    ):
        kept, doubled = client.wrench, Track()
        for stamp, wrench in kept.items():
            # Nothing for 0.4 s of the push; then 0.2 s of an observer that settles anew.
            since = stamp - 2 * 10**9
            if since <= 2 * 10**8 or since > 6 * 10**8:
                factor = 2.0 if since > 0 else 1.0
                doubled.add(stamp, Wrench(wrench.frame_id, factor * wrench.values))
        client.wrench = doubled
        Measures(report, client, subject).push(quiet=10**9, duration=1.0)
        assert report.failures == []
        assert 'missed' in report.late['push']

    def test_a_detection_that_was_missed_is_late_and_not_wrong(self, report, client, subject):
        contacts, wrenches, client.contact, client.wrench = (
            client.contact, client.wrench, Track(), Track()
        )  # fmt: skip
        for stamp in contacts.stamps(0, 2 * 10**9):
            client.contact.add(stamp, Contact(0, ''))
            client.wrench.add(stamp, wrenches.get(stamp))
        Measures(report, client, subject).push(quiet=10**9, duration=1.0)
        assert report.failures == []
        assert 'not detected' in report.late['contact']

    def test_a_push_whose_first_messages_were_missed_is_no_failure(self, report, client, subject):
        truth, client.true_wrench = client.true_wrench, Track()
        still = Wrench(subject.tool, np.zeros(6))
        for stamp, wrench in truth.items():
            # Nothing for the first 0.2 s of the push; it ends before the messages do.
            since = stamp - 2 * 10**9
            if not 0 <= since < 2 * 10**8:
                client.true_wrench.add(stamp, wrench if since < 8 * 10**8 else still)
        Measures(report, client, subject).push(quiet=10**9, duration=0.8)
        assert report.failures == []
        assert report.push_true_n == pytest.approx(np.linalg.norm(subject.force))
        assert report.push_error_percent == pytest.approx(0.0, abs=1e-9)

    def test_few_messages_are_late_and_not_wrong(self, report, client, subject):
        client.pose, poses = Track(), client.pose
        for stamp, pose in list(poses.items())[::25]:
            client.pose.add(stamp, pose)
        Measures(report, client, subject).poses()
        assert report.failures == []
        assert 'too few' in report.late['pose of the tool']

    def test_between_two_ticks_is_little_work(self, report, client, subject):
        """What the display shows goes on while figures are computed."""
        work = [0]
        most = [0]

        def read(message):
            work[0] += 1
            most[0] = max(most[0], work[0])
            return message

        def tick():
            work[0] = 0

        for name, track in vars(client).items():
            slow = Track(read)
            for stamp, value in track.items():
                slow.add(stamp, value)
            setattr(client, name, slow)
        measures = Measures(report, client, subject, tick)
        for measure in (
            measures.poses, measures.gravity, lambda: measures.push(10**9, 1.0)
        ):  # fmt: skip
            measure()
        assert report.failures == []
        assert 0 < most[0] <= 4

    def test_another_round_forgets_figures_and_lateness_but_no_failure(self, report):
        report.came_late('push', 'behind')
        for number in range(100):
            report.require(False, f'failure {number}')
        report.gravity_samples = 7
        again = report.next()
        assert (again.rounds, again.late, again.gravity_samples) == (2, {}, 0)
        assert again.failures == report.failures
        assert again.failures[0] == 'failure 0' and len(again.failures) == 20

    def test_a_solution_elsewhere_is_a_failure(self, report, subject):
        target = subject.reference.pose(subject.target(), subject.tool)
        report.measure_inverse_kinematics(subject, target, subject.posture, 0.001)
        assert not report.inverse_kinematics_success and report.failures
        other = Report.of(subject, DOMAIN)
        other.measure_inverse_kinematics(subject, target, subject.target(), 0.001)
        assert other.inverse_kinematics_success and not other.failures

    def test_torques_that_are_off_are_a_failure(self, report):
        report.measure_inverse_dynamics(np.array([10.0, 0.0]), np.array([10.0, 1e-4]), 0.001)
        assert 'inverse dynamics' in report.failures[0]


def test_a_robot_whose_links_have_no_mass_is_no_success():
    urdf = re.sub('<inertial>.*?</inertial>', '', ARM.read_text(), flags=re.DOTALL)
    (failure,) = Demonstration(Subject.of(urdf), None, DOMAIN, 0.0).report.failures
    assert "no mass is given for 'shoulder_link'" in failure


class TestQuestions:
    """A service that does not answer is a failure, unless its node does not keep up either."""

    @pytest.mark.parametrize(('outputs', 'late'), [(0.3, True), (1.0, False)])
    def test_one_that_does_not_answer(self, subject, outputs, late, monkeypatch):
        demonstration = Demonstration(subject, None, DOMAIN, 0.0)
        client = SimpleNamespace(wrench=SimpleNamespace(count=0), rate=lambda: 100.0)

        now = [time.monotonic()]
        monkeypatch.setattr(time, 'monotonic', lambda: now[0])

        def ask():
            now[0] += 3.0
            client.wrench.count = outputs * 3.0 * 100.0
            raise UnansweredError('nobody answers')

        report = demonstration.report
        assert demonstration._call_service(client, report, 'figure', ask) is None
        assert report.late == ({'figure': 'nobody answers'} if late else {})
        assert report.failures == ([] if late else ['nobody answers'])

    @pytest.mark.parametrize(
        ('error', 'late'), [(LateError('timed out'), True), (ServiceError('refused'), False)]
    )
    def test_one_that_answers_that_it_did_not_work(self, subject, error, late):
        demonstration = Demonstration(subject, None, DOMAIN, 0.0)
        client = SimpleNamespace(wrench=SimpleNamespace(count=0))

        def ask():
            raise error

        report = demonstration.report
        assert demonstration._call_service(client, report, 'figure', ask) is None
        assert (bool(report.late), bool(report.failures)) == (late, not late)
