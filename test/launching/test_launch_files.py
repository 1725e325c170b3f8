# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What two launched robots publish, and what launch itself makes of the launch files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

from launch_files import ROOT
from ros_harness import LATCHED, NodeProcess, client, occupy
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

DOMAIN = 71
TWO = ('left', 'right')
ARM = str(ROOT / 'urdf' / 'seven_joint_arm.urdf')
MESSAGES = {
    '/robot_description': String,
    '/kinematics_node/markers': MarkerArray,
    '/contact_node/markers': MarkerArray,
}
"""Topics that RViz shows, and their types."""

LAUNCH_FILES = sorted((ROOT / 'launch').glob('*.launch.py'))


def hear_all_that_rviz_shows(*robots: str) -> None:
    """Wait until each robot is on its topics, and see that it is nowhere else.

    Args:
        robots: names, each a namespace and the prefix of its frames.
    """
    with client(DOMAIN) as ears:
        heard = {
            name: [
                ears.listen(kind, f'/{name}{topic}', LATCHED if kind is String else 10)
                for topic, kind in MESSAGES.items()
            ]
            for name in robots
        }
        tf = ears.listen(TFMessage, '/tf', 10)
        ears.wait_for(lambda: all(chain(*heard.values())) and owners(frames_of(tf)) == {*robots})
        for name, received in heard.items():
            assert owners(frames_of(chain(*received))) == {name}
            ears.wait_for(lambda told=f'{name}/kinematics_node: outputs': told in ears.diagnostics)


def frames_of(messages: Iterable) -> Iterator[str]:
    """The frames that messages name in headers and transforms."""
    for message in messages:
        for part in getattr(message, 'transforms', None) or getattr(message, 'markers', [message]):
            if hasattr(part, 'header'):
                yield part.header.frame_id
            if hasattr(part, 'child_frame_id'):
                yield part.child_frame_id


def owners(frames: Iterable[str]) -> set[str]:
    """The prefixes of frames."""
    return {frame.partition('/')[0] for frame in frames}


@pytest.mark.ros
def test_two_robots_publish_all_that_rviz_shows_and_mix_nothing(launched):
    started = []
    actions = launched('two_robots.launch.py', rviz='false')
    try:
        for action in actions:
            if getattr(action, 'package', '') == 'dynamics_ros':
                words = ['--ros-args', '-r', f'__ns:=/{action.namespace}']
                for file in action.parameters:
                    words += ['--params-file', file]
                started.append(NodeProcess(action.executable, DOMAIN, words))
        hear_all_that_rviz_shows(*TWO)
    finally:
        ends = [process.end() for process in started]
        for process in started:
            process.close()
    assert [code for code, _ in ends] == [0, 0, 0, 0]


# --- where launch is installed ------------------------------------------------------------------


def load(path: Path):
    """The description of a launch file, loaded as `ros2 launch` does."""
    pytest.importorskip('launch_ros')
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    return get_launch_description_from_python_launch_file(str(path))


def visited(path: Path, **values: str):
    """The actions that a launch file comes to with these arguments."""
    found = load(path)
    from launch import LaunchContext

    context = LaunchContext()
    context.launch_configurations.update(values)
    return list(leaves(found.entities, context))


def leaves(entities, context):
    """The actions at the end, through all that is included."""
    for entity in entities:
        if hasattr(entity, 'node_executable'):
            yield entity
        else:
            yield from leaves(entity.visit(context) or [], context)


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
def test_launch_shows_a_description_for_every_argument(path):
    shown_arguments = load(path).get_launch_arguments()
    assert len(shown_arguments) > 10
    for argument in shown_arguments:
        assert argument.description.endswith(('.', ']')), argument.name


STARTED = {
    'two_robots.launch.py': ['robot_simulator', 'dynamics_ros'] * 2,
    'dynamics.launch.py': ['dynamics_ros'],
    'demo.launch.py': ['robot_simulator', 'dynamics_ros'],
    'kinematics_node.launch.py': ['kinematics_node'],
    'dynamics_node.launch.py': ['dynamics_node'],
    'contact_node.launch.py': ['contact_node'],
    'cartesian_servo_node.launch.py': ['cartesian_servo_node'],
    'impedance_controller_node.launch.py': ['impedance_controller_node'],
}


@pytest.mark.parametrize('path', LAUNCH_FILES, ids=lambda path: path.name)
@pytest.mark.parametrize('namespace', ['', 'left'])
def test_launch_starts_the_nodes(path, namespace):
    given = {'namespace': namespace, 'robot_description_file': ARM, 'rviz': 'false'}
    names = [action.node_executable for action in visited(path, **given)]
    assert names == STARTED[path.name]


@pytest.mark.ros
def test_launch_runs_two_robots_and_ends_them_with_an_interrupt():
    pytest.importorskip('launch_ros')
    occupy(DOMAIN)
    program = (
        'import sys; from launch import LaunchService; from launch.actions import '
        'IncludeLaunchDescription as Include; service = LaunchService(); '
        'service.include_launch_description(Include(sys.argv[1], launch_arguments='
        '[("rviz", "false")])); sys.exit(service.run())'
    )
    launch = subprocess.Popen(
        [sys.executable, '-c', program, str(ROOT / 'launch' / 'two_robots.launch.py')],
        env={**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        hear_all_that_rviz_shows(*TWO)
        launch.send_signal(signal.SIGINT)
        printed, _ = launch.communicate(timeout=PATIENCE)
    finally:
        # Killed, it would leave what it has started.
        with suppress(ProcessLookupError):
            os.killpg(launch.pid, signal.SIGKILL)
        launch.wait()
    assert launch.returncode == 0, printed
    assert 'process has died' not in printed
    assert printed.count('process has finished cleanly') == 4
