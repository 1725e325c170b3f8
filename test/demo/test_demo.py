"""scripts/demo: the whole job on real processes, checked by roads of its own, clean to the end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ros_harness import occupy

from dynamics_ros.demo.client import (
    Contact,
    LateError,
    ServiceError,
    State,
    UnansweredError,
    Wrench,
)
from dynamics_ros.demo.demonstration import Demonstration
from dynamics_ros.demo.display import listed
from dynamics_ros.demo.domain import DOMAIN_VARIABLE, DomainError, choose_domain
from dynamics_ros.demo.measures import Measures
from dynamics_ros.demo.report import Report
from dynamics_ros.demo.subject import Subject
from dynamics_ros.demo.tracks import Track

DOMAIN = 63
MODULE = 'dynamics_ros.demo'
UNUSED_DOMAIN = 231
ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
PATIENCE = 60.0
"""s until a wait is given up: far more than it takes, on a busy machine too."""

XACRO = """<robot name="swing" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="0.6"/>
  <link name="base"/>
  <xacro:macro name="rod" params="name parent x axis">
    <joint name="${name}_joint" type="revolute">
      <parent link="${parent}"/><child link="${name}"/>
      <origin xyz="${x} 0 0"/><axis xyz="${axis}"/>
      <limit lower="-2" upper="2" effort="50" velocity="2"/>
    </joint>
    <link name="${name}">
      <inertial>
        <origin xyz="${length / 2} 0 0"/><mass value="1.2"/>
        <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.04"/>
      </inertial>
      <visual><geometry><mesh filename="package://nowhere/rod.stl"/></geometry></visual>
    </link>
  </xacro:macro>
  <xacro:rod name="first" parent="base" x="0" axis="0 0 1"/>
  <xacro:rod name="second" parent="first" x="${length}" axis="0 1 0"/>
  <xacro:rod name="third" parent="second" x="${length}" axis="0 1 0"/>
</robot>
"""


def start(*arguments, program=None, **variables):
    occupy(DOMAIN)
    environment = {**os.environ, 'DYNAMICS_ROS_DEMO_DOMAIN_ID': str(DOMAIN), **variables}
    return subprocess.Popen(
        [sys.executable, *(('-c', program) if program else ('-m', MODULE)), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def descendant(executable):
    """Process id of one of them."""
    (found,) = [number for number, command in running() if executable.encode() in command]
    return found


def finish(process):
    """Exit code, standard output and error of a demonstration that ends by itself."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, out, err


def descendants():
    """Commands of all processes that run in the domain of these tests."""
    return [command for _, command in running()]


def running():
    """Process ids and commands of all of them."""
    wanted = f'ROS_DOMAIN_ID={DOMAIN}'.encode()
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            environment = (folder / 'environ').read_bytes().split(b'\0')
            command = (folder / 'cmdline').read_bytes()
        except OSError:
            continue
        if wanted in environment and b'lib/dynamics_ros/' in command:
            found.append((int(folder.name), command))
    return found


def wait_for(process, text):
    """Read what a demonstration says until it says this."""
    while text not in (line := process.stdout.readline()):
        assert line, f'it has ended before {text!r}'


def wait_until_nothing_runs():
    deadline = time.monotonic() + PATIENCE
    while left := descendants():
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


@pytest.fixture(scope='module')
def result():
    # What a busy machine was too slow for another try may show; what is wrong stays wrong.
    for _ in range(3):
        code, out, err = finish(start('--duration', '5', '--json'))
        if code or not json.loads(out.splitlines()[-1])['late']:
            break
    return code, out, err


@pytest.fixture(scope='module')
def subject():
    return Subject.of(ARM.read_text())


@pytest.mark.ros
@pytest.mark.slow
class TestTheWholeJob:
    def test_all_of_it_works(self, result):
        code, out, err = result
        assert code == 0, err
        assert 'all of it worked' in out
        assert err == ''

    def test_the_last_line_is_one_json_object_with_the_figures(self, result):
        figures = json.loads(result[1].splitlines()[-1])
        assert figures['robot'] == 'seven_joint_arm'
        assert (figures['failures'], figures['late']) == ([], {})
        assert figures['joint_state_rate_hz'] > 50.0
        assert figures['pose_error_m'] < 1e-9
        assert figures['pose_error_rad'] < 1e-9
        assert figures['gravity_torque_error_nm'] < 1e-6
        assert figures['push_true_n'] == pytest.approx(20.0)
        assert figures['push_estimated_n'] == pytest.approx(20.0, rel=0.05)
        assert figures['push_error_percent'] < 5.0
        assert 0.0 < figures['push_detected_after_ms'] < 500.0
        assert figures['inverse_kinematics_success'] is True
        assert figures['inverse_dynamics_error_nm'] < 1e-6

    def test_no_process_is_left_behind(self, result):
        assert result[0] == 0
        assert descendants() == []


@pytest.mark.ros
@pytest.mark.slow
def test_a_xacro_robot_with_three_joints_and_absent_meshes_shows_what_its_joints_can_tell(tmp_path):
    file = tmp_path / 'swing.urdf.xacro'
    file.write_text(XACRO)
    code, out, err = finish(start('--duration', '5', '--json', '--robot', str(file)))
    assert code == 0, err
    figures = json.loads(out.splitlines()[-1])
    assert (figures['robot'], figures['joints'], figures['tool']) == ('swing', 3, 'third')
    assert figures['push_error_percent'] < 5.0


@pytest.mark.ros
@pytest.mark.slow
def test_a_demonstration_that_outlasts_what_it_keeps_goes_on():
    program = (
        'import sys; from dynamics_ros.demo import __main__, tracks; '
        'tracks.LENGTH = 1200; sys.exit(__main__.main())'
    )
    code, out, err = finish(start('--duration', '6', program=program))
    assert (code, err) == (0, '')
    assert 'all of it worked' in out


@pytest.mark.ros
@pytest.mark.slow
def test_nodes_that_stand_still_for_a_while_are_called_slow_and_not_wrong():
    process = start('--duration', '5', '--json')
    wait_for(process, 'push at')
    node = descendant('lib/dynamics_ros/dynamics_ros')
    os.kill(node, signal.SIGSTOP)
    time.sleep(3.0)
    os.kill(node, signal.SIGCONT)
    code, out, err = finish(process)
    figures = json.loads(out.splitlines()[-1])
    assert (code, err, figures['failures']) == (0, '', [])
    assert figures['late'], figures
    assert 'too slow' in out and 'all of it worked' not in out


@pytest.mark.ros
@pytest.mark.slow
def test_ctrl_c_before_the_end_takes_everything_down_and_is_no_success():
    process = start()
    wait_for(process, 'everything runs')
    assert len(descendants()) == 2
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code == 1
    assert err == 'demo: interrupted before everything was shown\n'
    assert descendants() == []


@pytest.mark.ros
@pytest.mark.slow
def test_not_even_a_killed_demonstration_leaves_processes_behind(tmp_path):
    process = start(TMPDIR=str(tmp_path))  # its files it does leave behind
    wait_for(process, 'everything runs')
    process.kill()
    process.communicate()
    wait_until_nothing_runs()


@pytest.mark.parametrize(
    ('content', 'told'),
    [
        (None, 'cannot be read'),
        ('robot.xml', 'is no URDF'),
        ('<robot name="broken"', 'malformed'),
        ('<robot name="post"><link name="post"/></robot>', 'no joint'),
    ],
    ids=['no such file', 'no XML', 'malformed', 'nothing moves'],
)
def test_a_robot_that_cannot_be_shown_is_told_in_one_line(content, told, tmp_path):
    file = tmp_path / 'robot.urdf'
    if content is not None:
        file.write_text(content)
    code, out, err = finish(start('--duration', '5', '--robot', str(file)))
    assert code == 1
    assert out == ''
    assert told in err and err.count('\n') == 1
    assert descendants() == []


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ([13.123, -0.0004, 4.0], '13.12 0.00 4.00'),
        ([1239.06, -1.06], '1239.06 -1.06'),
        ([0.0321, -1e-17], '0.0321 0.0000'),
        ([0.0, -0.0], '0.00 0.00'),
        (np.arange(11.0), '0.00 1.00 2.00 3.00 4.00 5.00 6.00 7.00 and 3 more'),
        ([], ''),
    ],
)
def test_numbers_are_listed_as_a_person_reads_them(values, text):
    assert listed(np.array(values)) == text


def test_a_duration_that_is_too_short_is_refused():
    code, _, err = finish(start('--duration', '1'))
    assert code == 2
    assert 'at least 5' in err


class TestTheDomain:
    """No demonstration may meet another, nor a robot that somebody works with."""

    def test_two_demonstrations_never_share_one(self, monkeypatch):
        monkeypatch.delenv(DOMAIN_VARIABLE, raising=False)
        with closing(choose_domain()) as one, closing(choose_domain()) as other:
            assert one.number != other.number

    def test_one_where_somebody_is_is_passed_over(self, monkeypatch):
        monkeypatch.delenv(DOMAIN_VARIABLE, raising=False)
        with closing(choose_domain()) as chosen:
            number = chosen.number
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
            # Port of the second participant, DDSI-RTPS 9.6.1: the first may have left.
            participant.bind(('', 7400 + 250 * number + 12))
            with closing(choose_domain()) as other:
                assert other.number != number

    def test_the_one_that_is_named_is_taken_unless_another_demonstration_has_it(self, monkeypatch):
        monkeypatch.setenv(DOMAIN_VARIABLE, str(UNUSED_DOMAIN))
        with closing(choose_domain()) as named:
            assert named.number == UNUSED_DOMAIN
            with pytest.raises(DomainError, match='another demonstration'):
                choose_domain()

    @pytest.mark.parametrize('text', ['many', '-1', '1000'])
    def test_what_is_no_domain_is_refused(self, monkeypatch, text):
        monkeypatch.setenv(DOMAIN_VARIABLE, text)
        with pytest.raises(DomainError, match='not a number'):
            choose_domain()


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
    def test_one_that_does_not_answer(self, subject, outputs, late):
        demonstration = Demonstration(subject, None, DOMAIN, 0.0)
        client = SimpleNamespace(wrench=SimpleNamespace(count=0), rate=lambda: 100.0)

        def ask():
            began = time.monotonic()
            time.sleep(0.1)
            client.wrench.count = outputs * 100.0 * (time.monotonic() - began) * 1.01
            raise UnansweredError('nobody answers')

        report = demonstration.report
        assert demonstration._ask(client, report, 'figure', ask) is None
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
        assert demonstration._ask(client, report, 'figure', ask) is None
        assert (bool(report.late), bool(report.failures)) == (late, not late)
