# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every executable says when it is called wrongly: one line with what is wrong and right."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import node_server
import pytest
import yaml
from patience import PATIENCE

pytest.importorskip('rclpy')

from ros_harness import NodeProcess, client, executable

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.process import check_command_line

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
DOMAIN = 94
NUMBERS = {
    'contact_node': 'joint_timeout',
    'robot_simulator': 'joint_state_rate',
    'dynamics_ros_viewer': 'port',
}
"""A number of each of the nodes that start in their own ways."""


def said(name: str, *arguments: str, without: str = '') -> tuple[int, list[str]]:
    """Exit code and lines of an executable that is to end by itself, without some variables."""
    kept = {name: value for name, value in os.environ.items() if name not in without.split()}
    with tempfile.TemporaryFile('w+') as output:
        code = node_server.start([executable(name), *arguments], kept, output).wait(PATIENCE)
        output.seek(0)
        return code, output.read().strip().splitlines()


# --- nodes --------------------------------------------------------------------------------------


NO_ARGUMENT = '--robot arm.urdf: a node takes no such argument; expected --ros-args -p NAME:=VALUE'
NOT_ANY_MORE = '{}: is no parameter any more; expected {}'
UNREADABLE = (
    'robot_description: ROS cannot read it on a command line; expected a file: '
    '-p robot_description_file:=FILE (URDF, xacro, MJCF, SDF)'
)
REFUSED = [
    ('contact_node', '--robot arm.urdf', f'{NO_ARGUMENT}, or --help'),
    ('contact_node', 'joint_timeout:=soon', "joint_timeout: 'soon' is of type str; expected float"),
    ('dynamics_ros_viewer', 'port:=soon', "port: 'soon' is of type str; expected int"),
    (
        'dynamics_ros',
        'feed_forward.refuse_beyond_limits:=false',
        NOT_ANY_MORE.format(
            'feed_forward.refuse_beyond_limits',
            'the violations that ~/compute_trajectory_efforts returns',
        ),
    ),
    (
        'dynamics_ros',
        'identification.effort.scale:=[2.0]',
        NOT_ANY_MORE.format(
            'identification.effort.scale', 'effort.* and friction.*; a goal has the duration'
        ),
    ),
    ('dynamics_node', 'robot_description:=<robot name="a"><!-- a: # --></robot>', UNREADABLE),
    # Longer than an error of rcl.
    ('dynamics_node', f'robot_description:={ARM.read_text()}', UNREADABLE),
]


@pytest.mark.ros
@pytest.mark.parametrize(('name', 'given', 'problem'), REFUSED, ids=range(len(REFUSED)))
def test_a_node_refuses_what_it_cannot_use_in_one_line(name, given, problem):
    words = given.split() if given.startswith('--') else ['--ros-args', '-p', given]
    code, lines = said(name, *words)
    assert code == 1
    assert lines[-1:] == [f'cannot start: {problem}']


@pytest.mark.ros
@pytest.mark.parametrize(('name', 'number'), NUMBERS.items())
def test_a_node_names_a_parameter_that_it_does_not_have_and_goes_on(name, number):
    # A section /** of a file is for all nodes, and not each of them has all of its parameters.
    if name == 'dynamics_ros_viewer':
        pytest.importorskip('viser')
    node = NodeProcess(name, DOMAIN, ['--ros-args', '-p', f'{number[:-1]}:=1.0'])
    told = f'there is no parameter {number[:-1]!r}: its value is not used; was {number!r} meant?'
    try:
        with client(DOMAIN) as ros:
            ros.wait_for(lambda: told in node.printed)
        assert node.alive
    finally:
        code, _ = node.end()
        node.close()
    assert code == 0


def parameter_file(folder: Path, section: str, **values: Any) -> list[str]:
    """Arguments that give the values of one section."""
    path = folder / 'parameters.yaml'
    path.write_text(yaml.safe_dump({section: {'ros__parameters': values}}))
    return ['--ros-args', '--params-file', str(path)]


@pytest.mark.ros
@pytest.mark.parametrize(
    ('section', 'values', 'warned'),
    [
        # What is for every node may be for others, and of some version of rclpy.
        ('/**', {'joint_timeou': 1.0}, ["'joint_timeou'"]),
        ('/**/contact_node', {'qos_overrides': {'/odm': {'depth': 1}}}, ["'qos_overrides./odm"]),
        # In the section of one node, nested.
        (
            '/**/contact_node',
            {'observer': {'gian': [25.0]}, 'zzz': 1},
            ["'observer.gian'", "'zzz'"],
        ),
        # Not each of the three has these, but one.
        ('/**', {'frames': ['tool0'], 'command_joints': [], 'feet': {'friction': 0.5}}, []),
    ],
    ids=['of everybody', 'of rclpy', 'of one', 'of some'],
)
def test_the_composed_nodes_warn_once_of_what_none_of_them_has(tmp_path, section, values, warned):
    node = NodeProcess('dynamics_ros', DOMAIN, parameter_file(tmp_path, section, **values))
    try:
        with client(DOMAIN) as ros:
            ros.wait_for_status('contact_node', 'waiting for robot_description')
        lines = [line for line in node.printed.splitlines() if 'there is no parameter' in line]
        assert len(lines) == len(warned)
        assert all(name in line for name, line in zip(warned, lines, strict=True))
    finally:
        code, _ = node.end()
        node.close()
    assert code == 0


@pytest.mark.parametrize(
    ('arguments', 'problem', 'expected'),
    [
        (['--params-file', 'nowhere.yaml'], 'no such file', 'ros__parameters'),
        (['--params-file', '{broken}'], 'line 3', 'ros__parameters'),
        (['--params-file', '{flat}'], 'line 1', '--help'),
        (['--params-file', '{mixed}'], "type 'bool'", 'not 0; "y" "a:=1", not y'),
        (['-p', 'gravity:=[0, 0, -9.81]'], "'-p gravity:=[0, 0, -9.81]'", '0.0, not 0'),
        (['-p', 'frames:=[tool0, y]'], "'-p frames:=[tool0, y]'", '"a:=1", not y'),
        (['-p', 'frames'], "'-p frames'", '--help'),
        (['-p'], '-p', '--help'),
        (['-r', 'a:=:b c'], "'-r a:=:b c'", '--help'),
        (['-r', '__ns:=left'], "'-r __ns:=left'", '--help'),
        (['--log-level', 'loud'], "'--log-level loud'", '--help'),
        (['--frames', 'tool0'], "'--frames'", '--help'),
    ],
)
def test_what_ros_cannot_read_is_named(tmp_path, arguments, problem, expected):
    broken, flat, mixed = (tmp_path / f'{name}.yaml' for name in ('broken', 'flat', 'mixed'))
    mixed.write_text('/**:\n  ros__parameters:\n    frames: [tool0, y]\n')
    broken.write_text('/**:\n  ros__parameters: [\n')
    flat.write_text('gravity: [0.0, 0.0, -9.81]\n')
    given = [word.format(broken=broken, flat=flat, mixed=mixed) for word in arguments]
    with pytest.raises(InvalidArgumentError) as refusal:
        check_command_line(['--ros-args', *given])
    assert problem in refusal.value.problem
    assert expected in refusal.value.expected
    assert not re.search(r'\n|, at \S+:\d', str(refusal.value))


def test_a_list_with_an_argument_of_xacro_comes_with_its_quotes():
    words = ['--ros-args', '-p']
    with pytest.raises(InvalidArgumentError, match='"a:=1", not y'):
        check_command_line([*words, 'robot_description_arguments:=[dof:=7]'])
    check_command_line([*words, 'robot_description_arguments:=["dof:=7"]'])
