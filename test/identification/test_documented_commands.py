# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands that pages show, but for tutorials: run here or by another test, or named as not run.

Words in capitals and the names of descriptions stand for files of the reader; here they are a
simulated arm and recordings of it. What is in brackets is optional, and is given.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from documents import PAGES, ROOT
from documents import commands as lines_of
from patience import PATIENCE
from rclpy.serialization import serialize_message
from ros_harness import occupy, stamp_of
from sensor_msgs.msg import JointState
from simulated_arm import FILE, TEXT, recording, truth
from std_msgs.msg import String
from terminals import Terminals
from test_calibrate_robot import as_bag

from dynamics_ros.identification import JointSamples
from dynamics_ros.recordings.bag import RecordingWriter

DOMAIN = 189
RUN_HERE = [
    page for page in PAGES if page.parent.name != 'tutorials'
]  # test_tutorials.py has those

PROGRAM = re.compile(
    r'(ros2|scripts/|\.ci/|python3? |cc |colcon |rosdep |source |git|bloom|\.venv|export ROS)'
)
"""How a line of code begins that is a command; the others are equations and output."""

HERE = (
    r'ros2 run dynamics_ros calibrate_robot (BAG|plan|WITHOUT)',
    r'ros2 run dynamics_ros (estimate_bag|analyze_recordings)',
    r'ros2 run dynamics_ros (export_kernels|(inspect|doctor)(?! --topic))',
    r'python -m dynamics_ros\.(inspect|doctor)',
    r'scripts/bench --help',
)
"""Commands that end by themselves."""

NODES = (
    r'ros2 run dynamics_ros (robot_simulator|dynamics_node|dynamics_ros_viewer)',
    r'ros2 run dynamics_ros impedance_controller_node --ros-args -p autostart',
)
"""Commands that run until Ctrl-C."""

ELSEWHERE = {
    r'ros2 run dynamics_ros (inspect|doctor) --topic': 'test/doctor/test_doctor.py',
    r'ros2 run dynamics_ros impedance_controller_node --ros-args \.\.\.':
        'test/nodes/impedance/test_nodes_impedance_collisions.py',
    r'ros2 run dynamics_ros contact_node --ros-args .* wrist_sensor.topic:=':
        'test/nodes/contact/test_nodes_wrist_sensor.py',
    r'ros2 run dynamics_ros dynamics_ros --ros-args --enclave':
        'test/security/test_security_enclave.py',
    r'ros2 launch dynamics_ros \w+\.launch\.py': 'test/launching/test_launch.py',
    r'scripts/demo (--robot FILE.urdf)? ': 'test/demo/test_demo.py',
    r'scripts/docs  ': 'test/project/test_documentation_site.py',
    r'scripts/bench( \w+.*)?(  |$)': 'test/benchmarks/test_benchmarks.py',
    r'python -m dynamics_ros\.multibody': 'test/project/test_first_changes.py',
}  # fmt: skip
"""Commands whose programs other tests run, often by their functions and not by a shell."""

NOT_RUN = {
    r'ros2 (action send_goal|service call|lifecycle|control)':
        'needs the ros2 command; test_documentation_commands.py compares the fields of requests',
    r'scripts/demo --viewer$': 'runs until Ctrl-C; test_viewer.py runs the viewer beside the nodes',
    r'ros2 launch (?!dynamics_ros)': 'needs the driver of a robot, or ros2_control',
    r'ros2 run tf2_ros': 'needs tf2_ros',
    r'ros2 security': 'needs the ros2 command; test_security.py makes keys by other means',
    r'export ROS_SECURITY': 'needs the keys of ros2 security',
    r'rosdep|colcon|source install': 'needs a ROS distribution',
    r'git |git-bloom|bloom': 'needs the network and rights on repositories',
    r'\.venv-notebooks|python3 -m venv': 'needs the network',
    r'scripts/docs --links': 'needs the network',
    r'scripts/(test|images)|\.ci/run': 'takes longer than a test may, or runs the tests',
}  # fmt: skip
"""Commands that no test runs, and why."""


def commands(page: Path) -> Iterator[str]:
    """Each command."""
    return filter(PROGRAM.match, lines_of(page))


def prepared(command: str) -> str:
    """The command without a comment, with what is optional, and for the robot of this test."""
    return re.sub(r'\[(-.*?)\]', r'\1', command.partition('  #')[0])


def shown(patterns: tuple[str, ...]) -> list[pytest.param]:
    """A case for each command that matches; those that differ in numbers alone are one."""
    cases = {}
    for page in RUN_HERE:
        for command in commands(page):
            if any(re.match(pattern, command) for pattern in patterns):
                case = pytest.param(page, command, id=f'{page.stem}: {command[:70]}')
                cases.setdefault(re.sub(r'\d+\.\d+', '0', prepared(command)).strip(), case)
    return list(cases.values())


def test_each_command_is_run_or_it_is_said_why_not():
    kinds = {'here': HERE, 'node': NODES, 'elsewhere': (*ELSEWHERE,), 'not run': (*NOT_RUN,)}
    wrong, used = {}, set()
    for page in RUN_HERE:
        for command in commands(page):
            found = [
                (kind, one)
                for kind, some in kinds.items()
                for one in some
                if re.match(one, command)
            ]
            used.update(found)
            if not found:
                wrong[command] = page.name
    assert wrong == {}
    assert {one for some in kinds.values() for one in some} == {one for _, one in used}
    for path in ELSEWHERE.values():
        assert (ROOT / path).is_file(), path


def of_a_fleet(samples: JointSamples, path: Path) -> None:
    """Record samples with the description of the robot."""
    path.parent.mkdir(parents=True)
    with RecordingWriter(path, 'mcap') as writer:
        writer.write('/robot_description', String, 1, serialize_message(String(data=TEXT)))
        rows = zip(samples.time, samples.position, samples.velocity, samples.effort, strict=True)
        for time_, q, v, tau in rows:
            message = JointState(name=list(samples.joint_names), position=q, velocity=v, effort=tau)
            message.header.stamp = stamp_of(10**9 + round(time_ * 1e9))
            writer.write(
                '/joint_states', JointState, 10**9 + round(time_ * 1e9), serialize_message(message)
            )


@pytest.fixture(scope='module')
def files(tmp_path_factory) -> Path:
    """The files of a reader: descriptions, recordings without and with a payload, parameters."""
    folder = tmp_path_factory.mktemp('reader')
    for name in ('FILE.urdf', 'arm.urdf', 'robot.urdf'):
        shutil.copy(FILE, folder / name)
    arm = truth(2)
    samples = recording(arm, rate=100.0, noise=0.3, seed=2)
    for name in ('BAG', 'WITHOUT'):
        as_bag(samples, folder / name, 'mcap')
    as_bag(samples.between(0.0, 0.1), folder / 'SHORT', 'mcap')
    of_a_fleet(samples.between(0.0, 0.4), folder / 'fleet' / 'robot07' / 'first')
    heavy = arm.robot.with_payload('tool0', 3.0, np.array([0.03, 0.02, 0.08]), 0.003 * np.eye(3))
    loaded = recording(replace(arm, robot=heavy), rate=100.0, noise=0.3, seed=12)
    as_bag(loaded, folder / 'WITH', 'mcap')
    (folder / 'YAML').write_text('/**/contact_node:\n  ros__parameters: {frames: [tool0]}\n')
    for name in ('benchmarks', 'scripts', 'urdf'):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture
def terminals(files: Path, tmp_path: Path) -> Iterator[Terminals]:
    occupy(DOMAIN)
    shutil.rmtree(files / 'bin', ignore_errors=True)
    some = Terminals(files, DOMAIN)
    try:
        yield some
    finally:
        some.close()


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.parametrize(('page', 'command'), shown(HERE))
def test_a_command_ends_well(page: Path, command: str, files: Path, terminals: Terminals) -> None:
    if 'scripts/bench' in command:
        command = command.replace('scripts/bench', 'python3 -m benchmarks')
    if 'estimate_bag' in command:  # it would locate contacts for a minute
        command = command.replace(' BAG ', ' SHORT ')
    command = re.sub(r'--seconds \d+', '--seconds 1', command)
    findings = r'(ros2 run dynamics_ros (inspect|doctor)|python -m dynamics_ros\.(inspect|doctor))'
    # These tell by 1 that they found something, as of an arm without meshes or an empty graph.
    allowed = ' || test $? -eq 1' if re.match(findings, command) else ''
    shutil.rmtree(files / 'OUT', ignore_errors=True)
    terminals.run(prepared(command) + allowed)


@pytest.mark.ros
@pytest.mark.slow
@pytest.mark.parametrize(('page', 'command'), shown(NODES))
def test_a_node_starts_and_ends_with_ctrl_c(
    page: Path, command: str, files: Path, terminals: Terminals
) -> None:
    if 'viewer' in command:
        pytest.importorskip('viser')
    before = len(terminals.logs())  # of the nodes that ran in this terminal before
    terminals.start('1', prepared(command))
    deadline = time.monotonic() + PATIENCE
    while not re.search(r'\[(INFO|WARN)\]', log := terminals.logs()[before:]):
        assert time.monotonic() < deadline, log
        time.sleep(0.1)
    terminals.end('1')
    log = terminals.logs()[before:]
    assert 'Traceback' not in log and '[ERROR]' not in log and '[FATAL]' not in log
