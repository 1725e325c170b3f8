# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files that a user gives a tool by mistake, each with the last line that the tool prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dynamics_ros import tools
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.inspect.command import main as inspect

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'

XACRO = """
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
    'a recording that is not there': (
        'calibrate_robot',
        'bag --robot arm.urdf',
        'bag',
        'there is no such recording',
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
    'a kernel of another name': (
        'export_kernels',
        '--robot arm.urdf --output out --kernels gravityy',
        "'gravityy'",
        'expected gravity, ',
    ),
}


@pytest.mark.parametrize('mistake', TOOLS)
def test_what_a_tool_is_given(mistake, tmp_path, monkeypatch, capsys):
    tool, arguments, thing, cure = TOOLS[mistake]
    if tool in ('estimate_bag', 'analyze_recordings'):
        pytest.importorskip('rclpy')
        pytest.importorskip('rosbags')
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
    pytest.importorskip('rclpy')
    from dynamics_ros.demo.known_robots import read_description

    with pytest.raises(DynamicsRosError, match=r"robot 'anymall'.* was 'anymal' meant"):
        read_description('anymall')


def test_a_misspelt_argument_of_a_xacro_file(tmp_path, capsys, caplog):
    pytest.importorskip('xacro')
    file = tmp_path / 'arm.xacro'
    file.write_text(XACRO)
    assert inspect([str(file), '--no-speed', '--xacro', 'length:=2']) == 0
    assert '-2 to 1' in capsys.readouterr().out and not caplog.messages
    assert inspect([str(file), '--no-speed', '--xacro', 'lenght:=2']) == 0
    (line,) = caplog.messages
    assert "'lenght'" in line and "was 'length' meant?" in line
    assert inspect([str(file), '--no-speed', '--xacro', 'length=2']) == 2
    assert "--xacro: 'length=2'; expected NAME:=VALUE" in capsys.readouterr().err
