# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What scripts/demo makes of what it has heard: wrong is a failure, and late is late."""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
import yaml

from benchmarks.robots import urdf_path
from dynamics_ros.demo import screen as screens
from dynamics_ros.demo.arm import PUSH_TOLERANCE, ArmDemonstration, ArmReport, Measures, State, ask
from dynamics_ros.demo.client import ServiceError, Track
from dynamics_ros.demo.screen import Cell, Screen, View, listed
from dynamics_ros.demo.subject import Subject
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.recordings.settings import read_parameters, settings_of
from dynamics_ros.simulation import Actuators, SimulatedRobot, slow_motion
from dynamics_ros_msgs.msg import ContactState

FIRST = 10**9
"""Stamp of the first message [ns]."""

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


@pytest.fixture(scope='module')
def subject():
    return Subject.of(ARM.read_text())


def empty_report(subject):
    return ArmReport(robot=subject.robot.name, joints=subject.robot.nv, tool=subject.tool)


class TestTheChecks:
    """The demonstration is no proof unless it fails when something is wrong."""

    @pytest.fixture
    def report(self, subject):
        return empty_report(subject)

    @pytest.fixture
    def client(self, subject):
        """What a client has received of nodes that make no mistake, 2 s at 100 Hz, half pushed."""
        names = ['joint_states', 'pose', 'gravity', 'wrench', 'contact', 'true_pose', 'true_wrench']
        one = SimpleNamespace(**{name: Track() for name in names})
        one.tracks = lambda: [getattr(one, name) for name in names]
        pose = subject.reference.pose(subject.posture, subject.tool)
        gravity = subject.reference.gravity_torques(subject.posture)
        still = np.zeros(subject.robot.nv)
        for number in range(200):
            stamp = 10**9 + number * 10**7
            pushed = number >= 100
            force = np.concatenate([pose[:3, :3].T @ subject.force * pushed, np.zeros(3)])
            one.joint_states.add(stamp, State(subject.posture, still))
            one.pose.add(stamp, pose)
            one.true_pose.add(stamp, pose)
            one.gravity.add(stamp, gravity)
            one.wrench.add(stamp, force)
            one.true_wrench.add(stamp, force)
            link = 'hand' if pushed else ''
            one.contact.add(stamp, ContactState(state=int(pushed), link=link))
        return one

    def measure_push(self, report, client, subject):
        Measures(report, client, subject, FIRST).push(quiet=10**9, duration=1.0)

    def test_nothing_is_wrong_with_what_is_right(self, report, client, subject):
        Measures(report, client, subject, FIRST).poses()
        Measures(report, client, subject, FIRST).gravity()
        self.measure_push(report, client, subject)
        assert report.failures == []
        assert report.push_error_percent == pytest.approx(0.0, abs=1e-9)
        assert report.push_detected_after_ms == 0.0
        assert report.contact_link == 'hand'

    def test_a_pose_that_is_off_is_a_failure(self, report, client, subject):
        stamp, moved = client.pose.newest, client.pose.latest.copy()
        moved[0, 3] += 1e-5
        client.pose.add(stamp, moved)
        Measures(report, client, subject, FIRST).poses()
        assert report.pose_error_m == pytest.approx(1e-5)
        assert len(report.failures) == 1 and 'pose' in report.failures[0]

    def test_a_gravity_torque_that_is_off_is_a_failure(self, report, client, subject):
        client.gravity.add(10**9, client.gravity.messages[10**9] + 0.01)
        Measures(report, client, subject, FIRST).gravity()
        assert report.gravity_torque_error_nm == pytest.approx(0.01)
        assert 'gravity' in report.failures[0]

    def test_a_force_that_is_off_by_more_than_five_percent_is_a_failure(
        self, report, client, subject
    ):
        stamp, wrench = client.wrench.newest, client.wrench.latest
        for number in range(100):
            time_ns = stamp - number * 10**7
            client.wrench.add(time_ns, 1.06 * wrench)
        self.measure_push(report, client, subject)
        assert report.push_error_percent == pytest.approx(6.0)
        assert '6.0 %' in report.failures[0]

    def test_a_push_that_is_not_detected_is_a_failure(self, report, client, subject):
        for stamp in client.contact.stamps():
            client.contact.add(stamp, ContactState())
        self.measure_push(report, client, subject)
        assert report.failures == ['the push was not detected within 500 ms']

    def test_an_estimate_that_is_off_after_a_gap_is_late_and_not_wrong(
        self, report, client, subject
    ):
        kept, doubled = client.wrench, Track()
        for stamp, wrench in kept.messages.items():
            # Nothing for 0.4 s of the push; then 0.2 s of an observer that settles anew.
            since = stamp - 2 * 10**9
            if since <= 2 * 10**8 or since > 6 * 10**8:
                factor = 2.0 if since > 0 else 1.0
                doubled.add(stamp, factor * wrench)
        client.wrench = doubled
        Measures(report, client, subject, FIRST).push(quiet=10**9, duration=1.0)
        assert report.failures == []
        assert 'missed' in report.late['push']

    def test_a_detection_that_was_missed_is_late_and_not_wrong(self, report, client, subject):
        contacts, wrenches, client.contact, client.wrench = (
            client.contact, client.wrench, Track(), Track()
        )  # fmt: skip
        for stamp in [t for t in contacts.stamps() if t <= 2 * 10**9]:
            client.contact.add(stamp, ContactState())
            client.wrench.add(stamp, wrenches.messages[stamp])
        Measures(report, client, subject, FIRST).push(quiet=10**9, duration=1.0)
        assert report.failures == []
        assert 'not detected' in report.late['contact']

    def test_another_round_forgets_figures_and_lateness_but_no_failure(self, report, subject):
        report.late['push'] = 'behind'
        for number in range(100):
            report.require(False, f'failure {number}')
        report.push_true_n = 7.0
        again = report.next()
        assert (again.rounds, again.late, again.push_true_n) == (2, {}, None)
        assert again.failures == report.failures
        assert again.failures[0] == 'failure 0' and len(again.failures) == 20

    def test_a_solution_elsewhere_is_a_failure(self, report, subject):
        target = subject.reference.pose(subject.target(), subject.tool)
        Measures(report, None, subject).inverse_kinematics(target, subject.posture, 0.001)
        assert not report.inverse_kinematics_success and report.failures
        other = empty_report(subject)
        Measures(other, None, subject).inverse_kinematics(target, subject.target(), 0.001)
        assert other.inverse_kinematics_success and not other.failures

    @pytest.mark.parametrize('torque', [10.0001, np.nan])
    def test_torques_that_are_off_are_a_failure(self, report, subject, torque):
        measures = Measures(report, None, subject)
        measures.inverse_dynamics(np.array([10.0, 0.0]), np.array([torque, 0.0]), 0.001)
        assert 'inverse dynamics' in report.failures[0]


def test_a_robot_whose_links_have_no_mass_is_no_success():
    urdf = re.sub('<inertial>.*?</inertial>', '', ARM.read_text(), flags=re.DOTALL)
    (failure,) = ArmDemonstration(urdf, MagicMock(), 0.0).report.failures
    assert "no mass is given for 'shoulder_link'" in failure


@pytest.mark.parametrize('late', [True, False])
def test_a_service_that_timed_out_is_late_and_one_that_failed_is_wrong(subject, late):
    def question():
        raise ServiceError('no answer', late=late)

    report = empty_report(subject)
    assert ask(report, 'figure', question) is None
    assert (bool(report.late), bool(report.failures)) == (late, not late)


def test_the_summary_names_push_and_calls_and_fits_a_terminal(subject):
    report = empty_report(subject).next()
    report.push_true_n, report.push_estimated_n = 20.0, 19.9
    report.late['push'] = 'long ' * 30
    text = report.summary()
    assert 'push 2 at tool0' in text and 'inverse dynamics, call 2' in text
    assert max(map(len, text.splitlines())) <= 80


VIEW = View(
    'arm',
    ('joint', 'position', 'gravity', 'external'),
    [(f'a_joint_with_a_long_name_{k}', (Cell(-1.5), Cell(-45.0, 60.0), Cell(9.0, 3.0)))
     for k in range(10)],
    {'push': 20.0, 'estimated': 19.0},
    'tool 1.000 2.000 3.000 m',
)  # fmt: skip


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(screens.time, 'monotonic', lambda: now[0])
    return now


def test_lines_keep_a_steady_rate_and_catch_nothing_up(clock, capsys):
    screen = Screen(lambda: VIEW)

    def lines_until(end):
        while clock[0] < end - 1e-9:
            screen.update()
            clock[0] += 0.02
        return capsys.readouterr().out.splitlines()

    assert len(lines_until(105.0)) == 5
    clock[0] = 109.0  # nothing could be shown for four seconds
    assert len(lines_until(112.0)) == 3
    screen.event('pushed')
    assert capsys.readouterr().out == '  12.0 s  pushed\n'


def test_the_table_has_bars_and_lines_over_time_within_80_columns(clock):
    console = pytest.importorskip('rich.console')
    screen = Screen(lambda: VIEW)
    screen._history = {'push': [0.0, 10.0, 20.0]}
    stream = io.StringIO()
    console.Console(file=stream, width=80).print(screen._block(VIEW))
    text = stream.getvalue()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert text.count('-45.000') == 8 and 'and 2 more' in text
    assert '▄█' in text and '20.00 N' in text


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ([13.123, -0.0004, 4.0], '13.12 0.00 4.00'),
        ([1239.06, -1.06], '1239.06 -1.06'),
        ([0.0321, -1e-17], '0.0321 0.0000'),
        (np.arange(11.0), '0.00 1.00 2.00 3.00 4.00 5.00 6.00 7.00 and 3 more'),
        ([], ''),
    ],
)
def test_numbers_are_listed_as_a_person_reads_them(values, text):
    assert listed(np.array(values)) == text


BEGIN, END = 300, 900
"""ms of the push."""


@pytest.mark.parametrize('name', ['panda', 'xarm7', 'ur5', 'kinova', 'tiago'])
def test_the_push_is_found(name, tmp_path):
    subject = Subject.of(urdf_path(name).read_text())
    robot, tool, push = subject.robot, subject.tool, np.linalg.norm(subject.force)
    file = tmp_path / 'contact.yaml'
    asked = {'ros__parameters': subject.node_parameters()['contact_node']}
    file.write_text(yaml.safe_dump({'contact_node': asked}))
    values = settings_of(ContactParameters, read_parameters(file, 'contact_node'))
    pipeline = ContactPipeline(robot, values, tool)
    pipeline.compile(wait=True)
    buffer = StateBuffer(robot, (), joint_timeout=1.0)
    actuators = Actuators.for_robot(robot, subject.posture, tool)
    simulated = SimulatedRobot(robot, actuators, slow_motion(robot, subject.posture))
    errors = []
    for k in range(END):
        if k == BEGIN:
            simulated.push(tool, np.r_[subject.force, 0.0, 0.0, 0.0], (END - BEGIN) * 1e-3, tool)
        simulated.step()
        sample = simulated.sample()
        stamp = divmod(10**9 + sample.time, 10**9)
        buffer.update(JointValues(*stamp, robot.joint_names, sample.q, sample.v, sample.effort))
        state = buffer.state()
        external = pipeline.update(state)
        # Fifteen time constants of the observer later the push stands for itself.
        if k > BEGIN + 200:
            (found,) = pipeline.wrenches(state, external.values)
            assert not found.degraded
            errors.append(np.linalg.norm(found.wrench[:3] - subject.force) / push)
    assert np.median(errors) < 0.01 * PUSH_TOLERANCE
