# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files start the right nodes with the right parameters.

What they start is data until the last step: only that step needs a machine with launch_ros.
"""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')

from launch_steps import ARM, demo, is_ours, settings, start
from ros_harness import description

from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.settings import Settings
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.dynamics import DynamicsParameters
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.parameters.servo import ServoParameters
from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.settings import declared

PARAMETERS = {
    'kinematics_node': (KinematicsParameters, RobotParameters),
    'dynamics_node': (DynamicsParameters, RobotParameters),
    'contact_node': (ContactParameters, RobotParameters),
    'cartesian_servo_node': (ServoParameters, RobotParameters),
    'impedance_controller_node': (ImpedanceParameters, RobotParameters),
    'robot_simulator': (SimulatorParameters,),
}

XACRO = """<?xml version="1.0"?>
<robot name="stick" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <link name="$(arg prefix)base"/>
</robot>
"""

EVERYTHING = {
    'description_file': ARM,
    'root_joint': 'floating',
    'frame_prefix': 'left/',
    'use_sim_time': 'true',
    'frames': 'tool0, flange_link',
    'contact_frames': 'tool0',
    'publish_tf': 'true',
    'wrench_expressed_in': 'tool0',
    'respawn': 'true',
    'joint_states': '/robot/joint_states',
    'odom': 'odometry',
}


# --- arguments ----------------------------------------------------------------------------------

ALL_ARGUMENTS = {
    'all nodes': arguments.NODES,
    'kinematics': arguments.SHARED + arguments.KINEMATICS,
    'contact': arguments.SHARED + arguments.CONTACT,
    'demo': arguments.demo_arguments(ARM),
}


@pytest.mark.parametrize('taken', ALL_ARGUMENTS.values(), ids=ALL_ARGUMENTS)
def test_every_argument_is_described_once_and_its_default_is_one_of_its_choices(taken):
    assert len({item.name for item in taken}) == len(taken)
    for item in taken:
        assert re.fullmatch(r'[A-Z].{10,}\.', item.description), item.name
        assert not item.choices or item.default in item.choices, item.name


def test_arguments_that_are_not_given_leave_every_parameter_to_the_file():
    (process,) = processes.all_nodes(settings())
    assert all(own == {} for own in process.parameters.values())
    (defaults,) = process.all_parameter_files()
    # What is no default of the nodes: a launch is one command.
    assert yaml.safe_load(Path(defaults).read_text()) == {
        '/**/dynamics_node': {'ros__parameters': {'autostart': True}}
    }


@pytest.mark.parametrize('given', ['', 'true', 'false'])
def test_what_commands_the_robot_starts_by_itself_unless_told_otherwise(given, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('')
    values = {item.name: item.default for item in arguments.SHARED + arguments.SERVO}
    values |= {'autostart': given, 'params_file': str(file)}
    (process,) = processes.servo(Settings(values))
    default, mine, *last = process.all_parameter_files()
    assert mine == str(file)
    section = {'/**/cartesian_servo_node': {'ros__parameters': {'autostart': given == 'true'}}}
    assert [yaml.safe_load(Path(path).read_text()) for path in last] == [section] * bool(given)
    section['/**/cartesian_servo_node']['ros__parameters']['autostart'] = True
    assert yaml.safe_load(Path(default).read_text()) == section


@pytest.mark.parametrize(
    ('values', 'argument'),
    [
        ({'description_file': ARM, 'robot_description': '<robot/>'}, 'robot_description'),
        ({'xacro_args': 'a:=b'}, 'xacro_args'),
        ({'description_file': 'arm.xacro', 'xacro_args': 'a=b'}, 'xacro_args'),
        ({'params_file': 'nowhere.yaml'}, 'params_file'),
        ({'robot_state_publisher': 'true'}, 'robot_state_publisher'),
    ],
)
def test_arguments_that_make_no_sense_are_refused_by_name(values, argument):
    with pytest.raises(InvalidArgumentError) as refusal:
        start(settings(**values))
    assert refusal.value.argument == argument


@pytest.mark.parametrize('given', ['ur5e.yaml', 'config/ur5e.yaml'])
def test_a_file_of_parameters_is_the_users_or_else_one_of_the_package(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (process,) = processes.all_nodes(settings(params_file=given))
    ours = Path(process.all_parameter_files()[-1])
    assert ours.name == 'ur5e.yaml' and tmp_path not in ours.parents
    mine = tmp_path / given
    mine.parent.mkdir(exist_ok=True)
    mine.write_text('')
    (process,) = processes.all_nodes(settings(params_file=given))
    assert process.all_parameter_files()[-1] == str(mine)


def test_a_file_of_parameters_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(InvalidArgumentError, match=r'ur10\.yaml.*kuka_lbr\.yaml.*ur5e\.yaml'):
        start(settings(params_file='ur10.yaml'))


# --- the description ----------------------------------------------------------------------------


def test_the_description_of_a_file_reaches_the_node_that_has_the_robot():
    (process,) = processes.all_nodes(settings(description_file=ARM))
    assert process.parameters['dynamics_node']['robot_description'] == description()


def test_a_xacro_file_is_expanded_with_its_arguments(tmp_path):
    file = tmp_path / 'stick.urdf.xacro'
    file.write_text(XACRO)
    given = settings(description_file=str(file), xacro_args="prefix:='left_'")
    assert read_urdf(given.description).root == given.root_link == 'left_base'


@pytest.mark.parametrize(
    ('name', 'text', 'reason'),
    [
        ('missing.urdf', None, 'No such file'),
        ('missing.xacro', None, 'No such file'),
        ('broken.xacro', '<robot>${1/0}</robot>', 'division by zero'),
        ('latin.urdf', '\xe4'.encode('latin-1'), 'utf-8'),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path, name, text, reason):
    file = tmp_path / name
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelError, match=reason) as refusal:
        read_description_file(file)
    assert str(file) in str(refusal.value)


def test_xacro_arguments_for_a_file_that_takes_none_are_refused():
    with pytest.raises(ModelError, match='it is no'):
        read_description_file(ARM, {'prefix': 'left_'})


def test_a_bad_description_is_left_for_the_nodes_to_refuse():
    given = settings(robot_description='<robot name="a"><link/></robot>')
    (process,) = processes.all_nodes(given)
    assert process.parameters['dynamics_node']['robot_description'] == given.description


# --- processes ----------------------------------------------------------------------------------


def test_the_nodes_share_a_process_or_have_one_each():
    (together,) = processes.all_nodes(settings())
    assert together.executable == 'dynamics_ros'
    apart = [process.executable for process in processes.all_nodes(settings(composed='false'))]
    assert apart == list(together.parameters) == list(processes.NODES)


def test_every_executable_is_one_of_the_package():
    ours = {
        entry.name
        for entry in entry_points(group='console_scripts')
        if entry.value.startswith('dynamics_ros.nodes.')
    }
    alone = [*processes.servo(Settings({})), *processes.impedance(Settings({}))]
    steps = [*demo(composed='false'), *demo(), *alone]
    started = {step.executable for step in steps if is_ours(step)}
    # A page to look on, which a person starts.
    assert started == ours - {'dynamics_ros_viewer'}


def test_the_tool_on_springs_is_connected_to_an_effort_controller():
    controller = '/forward_effort_controller/commands'
    given = {'controlled_frame': 'tool0', 'command_joints': 'a, b', 'command_topic': controller}
    (process,) = processes.impedance(Settings(given | {'mode': 'guiding'}))
    assert process.parameters['impedance_controller_node'] == {
        'frame': 'tool0',
        'command_joints': ['a', 'b'],
        'mode': 'guiding',
    }
    assert ('~/joint_commands', controller) in process.remappings
    (process,) = processes.impedance(Settings({}))
    assert process.remappings == []


def test_the_servo_is_connected_to_a_controller():
    controller = '/joint_trajectory_controller/joint_trajectory'
    given = {'servo_frame': 'tool0', 'command_joints': 'a, b', 'command_topic': controller}
    (process,) = processes.servo(Settings(given | {'command_type': 'position'}))
    assert process.parameters['cartesian_servo_node'] == {
        'frame': 'tool0',
        'command_joints': ['a', 'b'],
        'command_type': 'position',
    }
    assert ('~/joint_commands', controller) in process.remappings
    (process,) = processes.servo(Settings({}))
    assert not any(name.startswith('~') for name, _ in process.remappings)


@pytest.mark.parametrize('composed', ['true', 'false'])
def test_every_parameter_exists_and_takes_its_value(composed):
    steps = [*start(settings(**EVERYTHING, composed=composed)), *demo(composed=composed)]
    for step in filter(is_ours, steps):
        for node, own in step.parameters.items():
            known = {item.name: item for kind in PARAMETERS[node] for item in declared(kind)}
            for name, value in own.items():
                if name != 'use_sim_time':
                    known[name].checked(value)


def test_each_node_gets_the_parameters_of_its_own_frames():
    (process,) = processes.all_nodes(settings(**EVERYTHING))
    assert process.parameters['kinematics_node']['frames'] == ['tool0', 'flange_link']
    assert process.parameters['contact_node']['frames'] == ['tool0']
    assert 'frames' not in process.parameters['dynamics_node']
    assert all(own['use_sim_time'] for own in process.parameters.values())


def test_arguments_come_after_the_file_and_so_before_what_it_says(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('')
    (process,) = processes.all_nodes(settings(params_file=str(file), frames='tool0'))
    _, first, last = process.all_parameter_files()
    assert first == str(file)
    assert yaml.safe_load(Path(last).read_text()) == {
        '/**/kinematics_node': {'ros__parameters': {'frames': ['tool0']}}
    }


def test_topics_are_remapped_only_where_an_argument_says_so():
    (plain,) = processes.all_nodes(settings())
    assert plain.remappings == []
    (other,) = processes.all_nodes(settings(**EVERYTHING))
    assert other.remappings == [('joint_states', '/robot/joint_states'), ('odom', 'odometry')]


def test_the_demo_ends_with_its_simulator_and_knows_its_arm():
    simulator, nodes, *_ = demo()
    assert simulator.required and not nodes.required
    assert Path(nodes.parameter_files[0]).name == 'seven_joint_arm.yaml'
    # Wrenches are at the contact frame, where RViz draws them.
    assert 'wrench.expressed_in' not in nodes.parameters['contact_node']
