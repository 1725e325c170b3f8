# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo: the whole job on real processes, checked by roads of its own, clean to the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from patience import PATIENCE
from ros_harness import occupy

from dynamics_ros.demo import known_robots
from dynamics_ros.demo.command import main
from dynamics_ros.demo.processes import DOMAIN_VARIABLE, DemonstrationError, own_domain
from dynamics_ros.errors import ModelError

DOMAIN = 63
MODULE = 'dynamics_ros.demo'
UNUSED_DOMAIN = 231

TRIES = 8
"""Demonstrations, one of which a busy machine has to keep up with."""

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


def finish(process):
    """Exit code, standard output and error of a demonstration that ends by itself."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, out, err


def descendants():
    """Process ids by command of all processes that run in the domain of these tests."""
    wanted = f'ROS_DOMAIN_ID={DOMAIN}'.encode()
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        with suppress(OSError):
            command = (folder / 'cmdline').read_bytes()
            environment = (folder / 'environ').read_bytes().split(b'\0')
            if wanted in environment and b'lib/dynamics_ros/' in command:
                found[command] = int(folder.name)
    return found


def wait_for(process, text):
    """Read what a demonstration says until it says this."""
    while text not in (line := process.stdout.readline()):
        assert line, f'it has ended before {text!r}'


def shown(*arguments, **options):
    """Output, errors and figures of a demonstration that a machine keeps up with."""
    # What a busy machine was too slow for another try may show; what is wrong stays wrong.
    for _ in range(TRIES):
        code, out, err = finish(start(*arguments, '--json', **options))
        assert code == 0, err
        figures = json.loads(out.splitlines()[-1])
        if not figures['late']:
            break
    return out, err, figures


SHORT_MEMORY = (
    'import sys; from dynamics_ros.demo import command, demonstration; '
    'demonstration.LENGTH = 1200; sys.exit(command.main())'
)
"""A demonstration that lasts longer than what it keeps."""


@pytest.mark.ros
@pytest.mark.slow
def test_the_whole_job_works_and_the_last_line_is_one_json_object_with_the_figures():
    out, err, figures = shown('--duration', '6', program=SHORT_MEMORY)
    assert 'all of it worked' in out and err == ''
    assert descendants() == {}
    assert figures['robot'] == 'seven_joint_arm'
    assert (figures['failures'], figures['late']) == ([], [])
    assert figures['joint_state_rate_hz'] > 50.0
    assert max(figures['pose_error_m'], figures['pose_error_rad']) < 1e-9
    assert max(figures['gravity_torque_error_nm'], figures['inverse_dynamics_error_nm']) < 1e-6
    assert figures['push_true_n'] == pytest.approx(20.0)
    assert figures['push_estimated_n'] == pytest.approx(20.0, rel=0.05)
    assert figures['push_error_percent'] < 5.0
    assert 0.0 < figures['push_detected_after_ms'] < 500.0
    assert figures['inverse_kinematics_success'] is True


@pytest.mark.ros
@pytest.mark.slow
def test_a_xacro_robot_with_three_joints_and_absent_meshes_shows_what_its_joints_can_tell(tmp_path):
    file = tmp_path / 'swing.urdf.xacro'
    file.write_text(XACRO)
    *_, figures = shown('--duration', '5', '--robot', str(file))
    assert (figures['robot'], figures['joints'], figures['tool']) == ('swing', 3, 'third')
    assert figures['push_error_percent'] < 5.0


@pytest.mark.ros
@pytest.mark.slow
def test_nodes_that_stand_still_for_a_while_are_called_slow_and_not_wrong():
    process = start('--duration', '5', '--json')
    wait_for(process, 'push 1 at')
    (node,) = (pid for command, pid in descendants().items() if b'ros/dynamics_ros\0' in command)
    os.kill(node, signal.SIGSTOP)
    # More joint states than the node's queue holds, also from a simulator at half of its rate.
    time.sleep(6.0)
    os.kill(node, signal.SIGCONT)
    code, out, err = finish(process)
    figures = json.loads(out.splitlines()[-1])
    assert (code, err, figures['failures']) == (0, '', [])
    assert figures['late'], figures
    assert 'too slow' in out and 'all of it worked' not in out


@pytest.mark.ros
@pytest.mark.slow
def test_ctrl_c_twice_before_the_end_takes_everything_down_and_is_no_success():
    process = start()
    wait_for(process, 'everything runs')
    assert len(descendants()) == 2
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code == 1
    assert err == 'demo: interrupted before everything was shown\n'
    assert descendants() == {}


@pytest.mark.ros
@pytest.mark.slow
def test_not_even_a_killed_demonstration_leaves_processes_behind(tmp_path):
    process = start(TMPDIR=str(tmp_path))  # its files it does leave behind
    wait_for(process, 'everything runs')
    process.kill()
    process.communicate()
    deadline = time.monotonic() + PATIENCE
    while left := descendants():
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_a_robot_that_cannot_be_shown_is_told_in_one_line(tmp_path):
    file = tmp_path / 'robot.urdf'
    file.write_text('<robot name="post"><link name="post"/></robot>')
    code, out, err = finish(start('--duration', '5', '--robot', str(file)))
    assert (code, out) == (1, '')
    assert 'no joint' in err and err.count('\n') == 1
    assert descendants() == {}


def test_a_duration_that_is_too_short_is_refused(capsys):
    with pytest.raises(SystemExit, match='2'):
        main(['--duration', '1'])
    assert 'at least 5' in capsys.readouterr().err


class TestTheDomain:
    """No demonstration may meet another, nor a robot that somebody works with."""

    @pytest.mark.parametrize('port', [0, 12])
    def test_one_where_somebody_is_is_passed_over(self, monkeypatch, port):
        monkeypatch.delenv(DOMAIN_VARIABLE, raising=False)
        with own_domain() as number, own_domain() as another:
            assert number != another
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
            # Port of the second participant, DDSI-RTPS 9.6.1, as the first may have left; or the
            # one that all share, as participants of Cyclone DDS may have no port of their own.
            participant.bind(('', 7400 + 250 * number + port))
            with own_domain() as other:
                assert other != number

    def test_the_one_that_is_named_is_taken_unless_another_demonstration_has_it(self, monkeypatch):
        monkeypatch.setenv(DOMAIN_VARIABLE, str(UNUSED_DOMAIN))
        with own_domain() as named:
            assert named == UNUSED_DOMAIN
            with pytest.raises(DemonstrationError, match='another demonstration'), own_domain():
                pass

    def test_what_is_no_domain_is_refused(self, monkeypatch):
        for text in ('many', '1000'):
            monkeypatch.setenv(DOMAIN_VARIABLE, text)
            with pytest.raises(DemonstrationError, match='not a number'), own_domain():
                pass


@pytest.mark.ros
@pytest.mark.slow
def test_a_quadruped_stands_is_pushed_and_its_feet_are_felt():
    pytest.importorskip('mujoco')
    code, out, err = finish(start('--robot', 'anymal', '--duration', '5', '--json'))
    assert code == 0, out + err
    report = json.loads(out.splitlines()[-1])
    assert not report['failures'] and report['joints'] == 12 and len(report['feet']) == 4
    assert report['true_n'] == pytest.approx(report['weight_n'], rel=0.02)
    assert report['felt_n'] == pytest.approx(report['weight_n'], rel=0.02)
    assert report['pushed_n'] == pytest.approx(report['push_n'], rel=0.2)
    assert 'all of it worked' in out


def test_without_its_packages_the_command_that_adds_them_is_told(monkeypatch):
    monkeypatch.setattr(known_robots, 'find_spec', lambda name: None)
    with pytest.raises(ModelError, match='pip install mujoco example-robot-data'):
        known_robots.read_description('anymal')
