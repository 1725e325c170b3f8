# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes, each with the one line that a user gets: it names the thing and the cure.

What nodes say of the graph around them comes with its cure from `doctor` (test_doctor_checks.py),
and what is odd about a description from `inspect`; test_command_lines.py has arguments of nodes,
test/multibody/test_natural_calls.py calls of the library.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dynamics_ros import Robot, tools
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.inspect.command import main as inspect
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.model.mesh_file import resolve_mesh
from dynamics_ros.nodes.robot_request import read_description

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


def line_of(call):
    """The message of the error that a call ends with."""
    with pytest.raises(DynamicsRosError) as raised:
        call()
    return str(raised.value)


# --- descriptions -------------------------------------------------------------------------------

XACRO = '<robot name="x" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm prefix="a"/></robot>'

REFUSED = {
    'xacro as URDF': (XACRO, 'xacro:arm', 'run xacro first'),
    'no such file': ('robot.urdf', "'robot.urdf'", 'No such file'),
    'no such xacro': ('robot.urdf.xacro', "'robot.urdf.xacro'", 'read: No such file'),
    'a description in place of its file': (
        lambda: read_description_file('<robot name="arm"/>'),
        '<robot name="arm"/>',
        'give the path of its file',
    ),
    'a file in place of its description': (
        lambda: read_description('arm.urdf'),
        "'arm.urdf'",
        'robot_description_file',
    ),
    'an address as a path': ('package://arm/arm.urdf', "'package://arm/arm.urdf'", 'give the path'),
    'an address as the file of a tool': (
        lambda: read_description_file('package://arm/arm.urdf'),
        "'package://arm/arm.urdf'",
        'give the path',
    ),
    'an empty file': (
        lambda: read_description_file(ARM.parents[1] / 'resource' / 'dynamics_ros'),
        "resource/dynamics_ros'",
        'is empty',
    ),
}


@pytest.mark.parametrize('mistake', REFUSED)
def test_a_description_that_cannot_be_used(mistake):
    source, thing, cure = REFUSED[mistake]
    line = line_of(source if callable(source) else lambda: Robot.from_urdf(source))
    assert thing in line
    assert cure in line
    assert '\n' not in line


def test_a_mesh_of_a_package_that_is_not_sourced():
    line = line_of(lambda: resolve_mesh('package://arm_description/meshes/link.stl'))
    assert "'package://arm_description/meshes/link.stl'" in line
    assert "source the workspace that has the package 'arm_description'" in line


# --- tools --------------------------------------------------------------------------------------


TURNED = """
<robot name="one" xmlns:xacro="http://ros.org/wiki/xacro">
  <xacro:arg name="length" default="1"/>
  <link name="base"/>
  <link name="rod">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="swing" type="revolute">
    <parent link="base"/>
    <child link="rod"/>
    <axis xyz="0 1 0"/>
    <limit lower="-$(arg length)" upper="1" velocity="1" effort="1"/>
  </joint>
</robot>
"""

TOOLS = {
    'a folder as a description': ('inspect', 'folder', "'folder'", 'Is a directory'),
    'parameters as a description': ('inspect', 'arm.yaml', "'arm.yaml'", 'XML begins with "<"'),
    'a frame of another robot': ('inspect', 'arm.urdf --frame tool', "frame 'tool'", 'tool0'),
    'a table without a clock': (
        'calibrate_robot',
        'table.csv --robot arm.urdf',
        'no column of time among a, b',
        'name it "time" [s]',
    ),
    'a folder that is no bag': (
        'estimate_bag',
        'folder --output out',
        'folder',
        'it has no metadata.yaml',
    ),
    'a tab in a file of parameters': (
        'estimate_bag',
        'folder --output out --parameters tabs.yaml',
        'tabs.yaml: line 2',
        'indent with spaces',
    ),
    'a folder without bags': (
        'analyze_recordings',
        'folder --output out',
        'folder',
        'expected a bag, a folder of bags or a pattern',
    ),
}


@pytest.mark.parametrize('mistake', TOOLS)
def test_what_a_tool_is_given(mistake, tmp_path, monkeypatch, capsys):
    tool, arguments, thing, cure = TOOLS[mistake]
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'arm.urdf').write_text(ARM.read_text())
    (tmp_path / 'arm.yaml').write_text('/**/contact_node: {ros__parameters: {frames: [tool0]}}\n')
    (tmp_path / 'tabs.yaml').write_text('/**/contact_node:\n\tros__parameters:\n')
    (tmp_path / 'table.csv').write_text('a,b\n1,2\n')
    monkeypatch.setattr(sys, 'argv', [tool, *arguments.split()])
    with pytest.raises(SystemExit) as ended:
        sys.exit(getattr(tools, tool)())
    assert ended.value.code not in (None, 0)
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert thing in line
    assert cure in line


def test_a_misspelt_robot_of_the_demonstration():
    from dynamics_ros.demo.known_robots import read_description as described

    with pytest.raises(DynamicsRosError, match=r"robot 'anymall'.* was 'anymal' meant"):
        described('anymall')


def test_a_misspelt_argument_of_a_xacro_file(tmp_path, capsys, caplog):
    pytest.importorskip('xacro')
    file = tmp_path / 'arm.xacro'
    file.write_text(TURNED)
    assert inspect([str(file), 'length:=2']) == 0
    assert '-2 to 1' in capsys.readouterr().out and not caplog.messages
    assert inspect([str(file), 'lenght:=2']) == 0
    (line,) = caplog.messages
    assert "'lenght'" in line and "was 'length' meant?" in line
    assert inspect([str(file), 'length=2']) == 2
    assert "argument: 'length=2'; expected NAME:=VALUE" in capsys.readouterr().err
