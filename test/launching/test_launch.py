# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files start the right processes with the right parameters."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')

import importlib.metadata

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from launch_files import ROOT
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from ros_harness import NodeProcess, client
from std_msgs.msg import Float64MultiArray

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.dynamics import DynamicsParameters
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.parameters.servo import ServoParameters
from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.settings import declared
from dynamics_ros.wire.conversions import pose_matrix, pose_message
from dynamics_ros_msgs.msg import FootContacts

ARM = str(ROOT / 'urdf' / 'seven_joint_arm.urdf')
ALL, DEMO = 'dynamics.launch.py', 'demo.launch.py'
SERVO, IMPEDANCE = 'cartesian_servo_node.launch.py', 'impedance_controller_node.launch.py'
FILES = sorted(path.name for path in (ROOT / 'launch').glob('*.launch.py'))
SHIPPED = str(ROOT / 'config')

PARAMETERS = {
    'kinematics_node': (KinematicsParameters, RobotParameters),
    'dynamics_node': (DynamicsParameters, RobotParameters),
    'contact_node': (ContactParameters, RobotParameters),
    'cartesian_servo_node': (ServoParameters, RobotParameters),
    'impedance_controller_node': (ImpedanceParameters, RobotParameters),
    'robot_simulator': (SimulatorParameters,),
}

EVERYTHING = {
    'robot_description_file': ARM,
    'robot_description_arguments': "prefix:='left_' gripper:=true",
    'root_joint': 'floating',
    'frame_prefix': 'left/',
    'use_sim_time': 'true',
    'frames': 'tool0, flange_link',
    'contact_frames': 'tool0',
    'calibration_file': 'calibrated.yaml',
    'publish_tf': 'true',
    'autostart': 'false',
    'motion': 'false',
    'frame': 'tool0',
    'command_joints': 'a, b',
    'command_type': 'position',
    'mode': 'guiding',
    'respawn': 'true',
    'joint_states': '/robot/joint_states',
    'odom': 'odometry',
}


def parameters(process):
    """Parameters by node that a process gets from files that were written for it."""
    merged = {}
    for file in process.parameters:
        if not file.startswith(SHIPPED) and 'share/dynamics_ros/config' not in file:
            for section, own in (yaml.safe_load(Path(file).read_text()) or {}).items():
                node = section.removeprefix('/**/')
                merged[node] = merged.get(node, {}) | own['ros__parameters']
    return merged


@pytest.mark.parametrize('name', FILES)
def test_each_file_starts_its_nodes_in_the_namespace(launched, name):
    processes = launched(name, namespace='cell', rviz='false')
    processes = [one for one in processes if hasattr(one, 'executable')]
    own = {ALL: ['dynamics_ros'], DEMO: ['robot_simulator', 'dynamics_ros']}
    expected = own.get(name, [name.removesuffix('.launch.py')])
    assert [process.executable for process in processes] == expected
    assert all(one.namespace.split('/')[0] == 'cell' for one in processes)


def test_every_executable_of_a_node_is_started_by_a_launch_file(launched):
    started = {
        one.executable
        for name in FILES
        for one in launched(name, composed='false', rviz='false')
        if getattr(one, 'package', '') == 'dynamics_ros'
    }
    ours = {
        entry.name
        for entry in entry_points(group='console_scripts')
        if entry.value.startswith('dynamics_ros.nodes.')
    }
    # The viewer is a page to look on, which a person starts; the composed process is in ALL.
    assert started | {'dynamics_ros'} == ours - {'dynamics_ros_viewer'}


def test_arguments_that_are_not_given_leave_every_parameter_to_the_file(launched):
    (process,) = launched(ALL)
    assert parameters(process) == {'dynamics_node': {'autostart': True}}
    assert process.remappings == [] and process.respawn is False


@pytest.mark.parametrize('given', ['', 'true', 'false'])
def test_what_commands_the_robot_starts_by_itself_unless_told_otherwise(launched, given, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('')
    (process,) = launched(SERVO, autostart=given, params_file=str(file))
    default, mine, *last = process.parameters
    assert mine == str(file)
    assert len(last) == bool(given)
    assert 'autostart: true' in Path(default).read_text()
    assert parameters(process)['cartesian_servo_node'] == {'autostart': given != 'false'}


@pytest.mark.parametrize('name', FILES)
@pytest.mark.parametrize('composed', ['true', 'false'])
def test_every_parameter_exists_and_takes_its_value(launched, name, composed):
    taken = {item.name for item in launched.arguments(name)}
    given = {one: value for one, value in EVERYTHING.items() if one in taken}
    checked = set()
    for process in launched(name, **given, composed=composed, rviz='false'):
        if getattr(process, 'package', '') != 'dynamics_ros':
            continue
        for node, own in parameters(process).items():
            known = {item.name: item for kind in PARAMETERS[node] for item in declared(kind)}
            for parameter, value in own.items():
                checked.add(parameter)
                if parameter != 'use_sim_time':
                    known[parameter].checked(value)
    unused = {'respawn', 'joint_states', 'odom', 'contact_frames'}
    assert checked | {'autostart'} >= given.keys() - unused


def test_each_node_gets_the_parameters_of_its_own(launched):
    (process,) = launched(ALL, **EVERYTHING)
    own = parameters(process)
    assert own['kinematics_node']['frames'] == ['tool0', 'flange_link']
    assert own['contact_node'] == {
        'frames': ['tool0'],
        'calibration_file': 'calibrated.yaml',
        'use_sim_time': True,
    }
    assert 'frames' not in own['dynamics_node']
    assert own['dynamics_node']['robot_description_file'] == ARM
    arguments = own['dynamics_node']['robot_description_arguments']
    assert arguments == ['prefix:=left_', 'gripper:=true']
    assert all(node['use_sim_time'] for node in own.values())
    remapped = [('joint_states', '/robot/joint_states'), ('odom', 'odometry')]
    assert process.remappings == remapped and process.respawn is True


@pytest.mark.parametrize('given', ['ur5e.yaml', 'config/ur5e.yaml'])
def test_a_file_of_parameters_is_the_users_or_one_of_us(launched, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (process,) = launched(ALL, params_file=given)
    ours = Path(process.parameters[-1])
    assert ours.name == 'ur5e.yaml' and tmp_path not in ours.parents
    mine = tmp_path / given
    mine.parent.mkdir(exist_ok=True)
    mine.write_text('')
    (process,) = launched(ALL, params_file=given)
    assert process.parameters[-1] == str(mine)


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'params_file': 'ur10.yaml'}, r'params_file.*ur10\.yaml.*kuka_lbr\.yaml.*ur5e\.yaml'),
        ({'frame_prefix': '/left/'}, 'frame_prefix'),
        ({'description_file': ARM}, 'description_file: .*; expected robot_description_file'),
        ({'servo_frame': 'tool0'}, 'servo_frame: .*; expected frame'),
        (
            {'robot_description_file': ARM, 'robot_description': '<robot/>'},
            'robot_description: is given, and robot_description_file too',
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused_by_name(launched, with_rviz, values, message):
    with pytest.raises(InvalidArgumentError, match=message):
        launched(ALL, **values)


@pytest.mark.parametrize('name', [SERVO, IMPEDANCE])
def test_a_node_that_commands_is_connected_to_a_controller(launched, name):
    (process,) = launched(name, command_topic='/controller/commands')
    assert ('~/joint_commands', '/controller/commands') in process.remappings


def test_the_demo_ends_with_its_simulator_and_knows_its_arm(launched):
    simulator, nodes = launched(DEMO, rviz='false')
    assert simulator.on_exit and not hasattr(nodes, 'on_exit')
    assert Path(nodes.parameters[1]).name == 'seven_joint_arm.yaml'
    simulator, nodes = launched(DEMO, rviz='false', robot_description_file='other.urdf')
    assert Path(nodes.parameters[1]).name == 'simulated_robot.yaml'
    own = parameters(simulator)['robot_simulator']
    assert own == {'motion': True, 'robot_description_file': 'other.urdf'}


def test_a_missing_package_that_is_asked_for_is_named_and_the_demo_does_without(
    launched, without_rviz
):
    with pytest.raises(DynamicsRosError, match='package rviz2 is not installed'):
        launched(ALL, rviz='true', robot_description_file=ARM)
    *_, notice = launched(DEMO)
    assert 'rviz2 is not installed' in notice.msg


def test_rviz_shows_the_topics_below_its_namespace_in_the_root_link(launched, with_rviz):
    *_, rviz = launched(ALL, rviz='auto', robot_description_file=ARM, namespace='left')
    option, file, *frame = rviz.arguments
    assert (rviz.package, rviz.namespace, option) == ('rviz2', 'left', '-d')
    displays = yaml.safe_load(Path(file).read_text())['Visualization Manager']['Displays']
    topics = [one[key] for one in displays for key in ('Topic', 'Description Topic') if key in one]
    shown = {'robot_description', 'kinematics_node/markers', 'contact_node/markers'}
    assert {topic['Value'] for topic in topics} == shown
    assert frame == ['-f', read_urdf(ARM).root]


DOMAIN = 74
CONFIG = Path(__file__).parents[2] / 'config'
HANDS = 'left_gripper', 'right_gripper'
FEET = 'LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT'
LOCKED = ('head_pan', 'l_gripper_l_finger_joint', 'r_gripper_l_finger_joint')
COMMANDS = '/dynamics_node/gravity_commands'

# A pose goes through a quaternion and back.
SAME = 1e-12


def described(name: str) -> str:
    """A robot of example-robot-data."""
    files = importlib.metadata.files('example-robot-data') or ()
    file = next(file for file in files if file.name == name)
    return Path(str(file.locate())).read_text()


@pytest.mark.ros
@pytest.mark.parametrize(
    ('config', 'name', 'root', 'frames', 'others'),
    [
        (
            *('two_arms.yaml', 'baxter.urdf', 'fixed', HANDS),
            {COMMANDS: Float64MultiArray}
            | {f'/contact_node/{hand}/wrench': WrenchStamped for hand in HANDS},
        ),
        (
            *('quadruped.yaml', 'anymal.urdf', 'floating', FEET),
            {'/contact_node/foot_contacts': FootContacts},
        ),
    ],
    ids=['two arms', 'quadruped'],
)
def test_all_frames_have_their_outputs(tmp_path, config, name, root, frames, others):
    urdf = described(name)
    locked = dict.fromkeys(LOCKED, 0.0) if root == 'fixed' else {}
    robot = Robot.from_urdf(urdf, root, locked_joints=locked)
    q, base = (
        robot.random_configuration(np.random.default_rng(4)),
        robot.nv - len(robot.joint_names),
    )
    odometry = Odometry(child_frame_id=robot.body_names[0])
    odometry.header.frame_id = 'odom'
    if base:
        odometry.pose.pose = pose_message(robot.forward_kinematics(q, robot.body_names[0]))
    description = tmp_path / 'description.yaml'
    quoted = urdf.replace("'", "''")
    description.write_text(
        f"/**:\n  ros__parameters:\n    autostart: true\n    robot_description: '{quoted}'\n"
    )
    files = (CONFIG / config, description)
    arguments = [word for file in files for word in ('--params-file', str(file))]
    node = NodeProcess('dynamics_ros', DOMAIN, ['--ros-args', *arguments])
    with client(DOMAIN) as one:
        poses = {x: one.listen(PoseStamped, f'/kinematics_node/{x}/pose') for x in frames}
        received = {topic: one.listen(kind, topic) for topic, kind in others.items()}

        def tell() -> None:
            effort, joints = robot.gravity(q)[base:], q[robot.nq - len(robot.joint_names) :]
            state = one.joint_state(robot.joint_names, joints, 0.0 * joints, effort)
            odometry.header.stamp = state.header.stamp
            one.publish('/odom', odometry)
            one.publish_joint_state(state)

        try:
            one.wait_for(lambda: all([*poses.values(), *received.values()]), meanwhile=tell)
            for frame, messages in poses.items():
                expected = robot.forward_kinematics(q, frame)
                assert_allclose(pose_matrix(messages[-1].pose, 'pose'), expected, atol=SAME)
                assert messages[-1].header.frame_id == ('odom' if base else robot.root_frame)
            if base:
                assert received['/contact_node/foot_contacts'][-1].feet == list(frames)
            else:
                gravity = dict(zip(robot.joint_names, robot.gravity(q), strict=True))
                left = [x for joint, x in gravity.items() if joint.startswith('left')]
                assert_allclose(received[COMMANDS][-1].data[:7], left, atol=1e-9)
        finally:
            node.close()
