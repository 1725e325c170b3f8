# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes, each with the one line that a user gets: it names the thing and the cure.

What nodes say of the graph around them is told with its cure by `doctor`; that it comes to this in
real nodes is tested where the nodes are. `test_typical_mistakes_of_tools.py` has those of tools.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation.effort_model import EffortModel
from dynamics_ros.estimation.efforts import EffortCheck
from dynamics_ros.estimation.samples.position_check import joints_far_beyond_limits, limits_problem
from dynamics_ros.inspect.command import main as inspect
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.model.mesh_file import resolve_mesh
from dynamics_ros.nodes.robot_request import RobotMaker, RobotRequest, read_description
from dynamics_ros.parameters.dynamics import PayloadParameters

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
BODY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
NODE = '/contact_node'


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM, backend='python')


def urdf(joint=LIMIT, body=BODY, kind='revolute', child='rod', more=''):
    return (
        f'<robot name="one"><link name="base"/><link name="rod">{body}</link>{more}'
        f'<joint name="swing" type="{kind}"><parent link="base"/><child link="{child}"/>'
        f'<axis xyz="0 1 0"/>{joint}</joint></robot>'
    )


def line_of(call):
    """The message of the error that a call ends with."""
    with pytest.raises(DynamicsRosError) as raised:
        call()
    return str(raised.value)


# --- descriptions -------------------------------------------------------------------------------

XACRO = '<robot name="x" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm prefix="a"/></robot>'

HEAVY = RobotRequest(
    description=ARM.read_text(), backend='python', payload=PayloadParameters(frame='', mass=2.0)
)

REFUSED = {
    'xacro as URDF': (XACRO, 'xacro:arm', 'run xacro first'),
    'SDF as URDF': ('<sdf version="1.7"/>', '<sdf>', 'convert SDF to URDF'),
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
    'a payload that nothing carries': (
        lambda: RobotMaker().make(HEAVY, lambda robot, frame: None),
        'payload.frame',
        'the frame that carries the 2 kg',
    ),
    'an address as a path': ('package://arm/arm.urdf', "'package://arm/arm.urdf'", 'give the path'),
    'an empty description': ('', 'robot description', 'empty'),
    'XML that breaks off': ('<robot name="a"><link', 'line 1', 'malformed XML'),
    'two robots in one file': (urdf(more='<link name="other"/>'), "'other'", 'a robot is one tree'),
    'a link that is not there': (urdf(child='rood'), "joint 'swing'", "no link 'rood'"),
    'a type that is not URDF': (urdf(kind='universal'), "joint 'swing'", 'expected one of fixed'),
    'an axis of zeros': (
        urdf().replace('xyz="0 1 0"', 'xyz="0 0 0"'),
        "joint 'swing' axis",
        'has no direction',
    ),
    'limits upside down': (
        urdf('<limit lower="1" upper="-1"/>'),
        "joint 'swing' limit",
        'lower 1 is above upper -1',
    ),
    'a decimal comma': (
        urdf(f'<origin xyz="0 0 1,5"/>{LIMIT}'),
        "joint 'swing' origin",
        'a decimal point is written "."',
    ),
    'a negative mass': (
        urdf(body=BODY.replace('mass value="1"', 'mass value="-1"')),
        "link 'rod' inertial mass",
        'is negative',
    ),
    'a name that is there twice': (
        urdf(more='<link name="rod"/>'),
        "link 'rod'",
        'a second link of this name',
    ),
    'a mimic of nobody': (
        urdf(f'{LIMIT}<mimic joint="swin"/>'),
        "joint 'swing' mimic",
        "no joint 'swin'",
    ),
}


@pytest.mark.parametrize('mistake', REFUSED)
def test_a_description_that_cannot_be_used(mistake):
    source, thing, cure = REFUSED[mistake]
    line = line_of(source if callable(source) else lambda: Robot.from_urdf(source))
    assert thing in line
    assert cure in line
    assert '\n' not in line


ODD = {
    'no inertia': (urdf(body=''), "'rod'", 'no mass is given'),
    'no limits': (urdf(''), "'swing'", 'it is taken as unlimited'),
    'limits in degrees': (
        urdf('<limit lower="-180" upper="180" velocity="1" effort="1"/>'),
        "'swing'",
        'URDF has radians',
    ),
    'lengths in millimetres': (
        urdf(f'<origin xyz="0 0 333"/>{LIMIT}'),
        "'swing'",
        'URDF has metres',
    ),
    'an axis that is there twice': (
        urdf(f'<axis xyz="1 0 0"/>{LIMIT}'),
        "<axis> is in 'swing'",
        'the first counts',
    ),
}


@pytest.mark.parametrize('mistake', ODD)
def test_a_description_that_is_usable_and_odd(mistake, tmp_path, capsys):
    text, thing, cure = ODD[mistake]
    file = tmp_path / 'one.urdf'
    file.write_text(text)
    assert inspect([str(file)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith('  ! ')]
    assert any(thing in line and cure in line for line in lines), lines


def test_a_mesh_of_a_package_that_is_not_sourced():
    line = line_of(lambda: resolve_mesh('package://arm_description/meshes/link.stl'))
    assert "'package://arm_description/meshes/link.stl'" in line
    assert "source the workspace that has the package 'arm_description'" in line


# --- the library --------------------------------------------------------------------------------

CALLS = {
    'a wrong frame': (
        lambda arm, q: arm.forward_kinematics(q, 'tool_0'),
        "unknown frame 'tool_0'",
        'tool0',
    ),
    'a wrong joint': (
        lambda arm, q: Robot.from_urdf(ARM, locked_joints={'elbow': 0.0}),
        "unknown joint 'elbow'",
        'elbow_pitch',
    ),
    'joints of another robot': (lambda arm, q: arm.gravity(q[:6]), 'q: shape (6,)', '(..., 7)'),
    'a position that is missing': (
        lambda arm, q: arm.gravity([0.0] * 6 + [np.nan]),
        'q: nan at [6]',
        'finite',
    ),
    'a pose of seven numbers without a quaternion': (
        lambda arm, q: arm.inverse_kinematics(np.ones(7), 'tool0'),
        'target: a quaternion of length 2',
        'a unit quaternion (x, y, z, w)',
    ),
    'a quaternion and a position': (
        lambda arm, q: arm.inverse_kinematics(([0, 0, 0, 1], [0, 0, 1]), 'tool0'),
        'target: a quaternion before its position',
        '(position, quaternion x y z w)',
    ),
    'a pose that is none': (
        lambda arm, q: arm.inverse_kinematics(1.1 * np.eye(4), 'tool0'),
        'target: not a rigid pose',
        'a rotation matrix',
    ),
    'an option of another library': (
        lambda arm, q: arm.inverse_kinematics(np.eye(4), 'tool0', tolerance=1e-3),
        'tolerance: no such option',
        'rotation_tolerance',
    ),
    'a reference of another library': (
        lambda arm, q: arm.jacobian(q, 'tool0', 'global'),
        "reference: 'global'",
        "'world', 'local'",
    ),
    'a force as a wrench': (
        lambda arm, q: arm.inverse_dynamics(q, q, q, {'tool0': [0, 0, 10]}),
        "external_wrenches['tool0']: shape (3,)",
        '(..., 6)',
    ),
    'gravity as a number': (
        lambda arm, q: Robot.from_urdf(ARM, gravity=9.81),
        'gravity: 9.81',
        'three finite numbers',
    ),
    'a root joint of another library': (
        lambda arm, q: Robot.from_urdf(ARM, root_joint='free'),
        "root_joint: 'free'",
        'floating',
    ),
    'a quaternion of zeros': (
        lambda arm, q: Robot.from_urdf(ARM, 'floating', backend='python').gravity(np.zeros(14)),
        'q: quaternion of length 0',
        '(x, y, z, w)',
    ),
    'a seed of another library': (
        lambda arm, q: arm.inverse_kinematics(np.eye(4), 'tool0', q0=q),
        'q0: no such option',
        'seed',
    ),
    'a kernel that there is not': (
        lambda arm, q: arm.kernel('mass_matrx'),
        "unknown name 'mass_matrx'",
        'mass_matrix',
    ),
}


@pytest.mark.parametrize('mistake', CALLS)
def test_a_call_that_cannot_be_right(mistake, arm):
    call, thing, cure = CALLS[mistake]
    line = line_of(lambda: call(arm, np.zeros(7)))
    assert thing in line
    assert cure in line
    assert '\n' not in line


def test_degrees_for_radians_in_joint_states(arm):
    line = limits_problem(joints_far_beyond_limits(arm, np.full(7, 45.0)))
    assert line.startswith('far beyond the joint limits: shoulder_yaw is at 45')
    assert 'degrees?' in line


def test_degrees_for_radians_in_a_joint_that_is_locked(caplog):
    Robot.from_urdf(ARM, locked_joints={'elbow_pitch': 90.0}, backend='python')
    (line,) = caplog.messages
    assert line.startswith("locked_joints: 'elbow_pitch' is at 90 (limits ")
    assert 'degrees?' in line


EFFORTS = {
    'currents in place of torques': (
        lambda gravity: 0.1 * gravity,
        'efforts look like currents or another unit, about 0.1 of',
        'set effort.scale',
    ),
    'torques without what carries the robot': (
        lambda gravity: 0.0 * gravity + 0.01,
        'efforts look gravity-compensated',
        'set effort.includes_gravity to false',
    ),
    'torques of the other sign': (
        lambda gravity: -gravity,
        'efforts look to be of the opposite sign',
        'set effort.scale to -1',
    ),
    'no torque sensors': (
        lambda gravity: 0.0 * gravity,
        'efforts are all zero',
        'this robot does not report them',
    ),
}


@pytest.mark.parametrize('mistake', EFFORTS)
def test_efforts_that_are_not_what_the_parameters_say(mistake, arm):
    efforts, thing, cure = EFFORTS[mistake]
    q = np.array([0.35, 0.8, 0.25, 1.2, 0.2, 1.2, 0.0])
    check = EffortCheck(arm, EffortModel.ideal(arm))
    for step in range(100):
        check.add(1 + 10_000_000 * step, q, np.zeros(7), efforts(arm.gravity(q)))
    line = check.report.advice
    assert thing in line and cure in line


# --- nodes --------------------------------------------------------------------------------------

STATUSES = {
    'no description': (
        'silent: waiting for robot_description: /robot_description has no publisher',
        'waiting_for_description',
        'robot_state_publisher',
    ),
    'joint states on another topic': (
        'silent: waiting for swing: /joint_states has no publisher, no message so far',
        'no_publisher',
        'remap',
    ),
    'another type on the topic': (
        'silent: waiting for swing: /joint_states has 1 publisher that cannot be heard here',
        'incompatible_publisher',
        'the same type',
    ),
    'names of another robot': (
        'silent: waiting for swing: messages so far lack their positions; joint_states name joints '
        "that robot 'one' does not have: elbow",
        'unknown_joints',
        'prefixes',
    ),
    'effort missing': ('silent: no effort of swing', 'effort_missing', 'docs/efforts.md'),
    'stamp missing': (
        'silent: joint_states carry no stamp, which the observer needs',
        'stamp_missing',
        'stamp',
    ),
    'the driver has died': (
        'silent: joint_states have stopped coming: /joint_states has 1 publisher',
        'states_stopped',
        'driver',
    ),
    'a twist in the axes of odom': (
        "silent: the linear velocity of odom looks to be in the axes of 'odom'; nav_msgs/Odometry "
        'has it in those of child_frame_id',
        'odometry_axes',
        'rotate it by the inverse of the pose',
    ),
    'a twist that is not filled in': (
        'publishing; the twist of odom is always zero in linear.z, although the poses move so: use '
        'a state estimator that fills it in',
        'odometry_incomplete',
        'all six components',
    ),
    'a managed node that nobody activates': (
        'silent: unconfigured',
        'unconfigured',
        'ros2 lifecycle set',
    ),
}
"""What a node says on /diagnostics, its code, and what helps, as `doctor` has it."""


@pytest.mark.parametrize('mistake', STATUSES)
def test_what_a_silent_node_says_comes_with_its_cure(mistake):
    pytest.importorskip('rclpy')
    from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

    from dynamics_ros.doctor.checks import findings
    from dynamics_ros.doctor.graph import Graph

    message, reason, cure = STATUSES[mistake]
    graph = Graph(domain=0, seconds=5.0)
    graph.nodes.update([NODE])
    values = [KeyValue(key='reason', value=reason)]
    status = DiagnosticStatus(level=DiagnosticStatus.WARN, message=message, values=values)
    graph.statuses = {NODE: status}
    (finding,) = findings(graph)
    assert finding.problem == f'{NODE}: {message}'
    assert cure in finding.advice


GRAPHS = {
    'nothing can be heard': ((), {}, 'ROS_DOMAIN_ID=0', 'RMW_IMPLEMENTATION'),
    'two nodes of one name': ((NODE, NODE), {}, NODE, 'namespaces'),
    'reliable wanted, best effort offered': (
        (NODE, '/driver', '/rviz'),
        {'/joint_states': ('/driver', '/rviz')},
        '/rviz cannot hear /driver on /joint_states',
        'ask for less',
    ),
    'a bag played without its clock': (
        (NODE,),
        {'/clock': (None, NODE)},
        'nobody publishes /clock',
        '--clock',
    ),
    'two nodes that move one robot': (
        (NODE, '/teleop', '/planner', '/arm'),
        {'/arm/joint_trajectory': ('/teleop /planner', '/arm')},
        '2 nodes can command /arm/joint_trajectory: /planner, /teleop',
        'deactivate',
    ),
}
"""Nodes; topics with who publishes best effort and who wants more; what `doctor` has of them."""


@pytest.mark.parametrize('mistake', GRAPHS)
def test_what_is_wrong_between_nodes(mistake):
    pytest.importorskip('rclpy')
    from diagnostic_msgs.msg import DiagnosticStatus
    from rclpy.qos import QoSProfile, qos_profile_sensor_data

    from dynamics_ros.doctor.checks import findings
    from dynamics_ros.doctor.graph import Endpoint, Graph, Topic

    def endpoints(nodes, qos):
        return tuple(Endpoint(node, 'one/msg/Kind', qos) for node in (nodes or '').split())

    nodes, topics, problem, cure = GRAPHS[mistake]
    graph = Graph(domain=0, seconds=5.0)
    graph.nodes.update(nodes)
    graph.statuses = {node: DiagnosticStatus() for node in nodes if node == NODE}
    for name, (senders, listeners) in topics.items():
        wanted = QoSProfile(depth=1) if listeners == '/rviz' else qos_profile_sensor_data
        sent = endpoints(senders, qos_profile_sensor_data)
        graph.topics[name] = Topic(name, sent, endpoints(listeners, wanted))
    (finding,) = findings(graph)
    assert problem in finding.problem
    assert cure in finding.advice


ARGUMENTS = {
    'an argument that is not for ROS': (['--robot', 'arm.urdf'], '--robot', '--ros-args'),
    'a parameter without a value': (['--ros-args', '-p', 'frames'], 'frames', 'what --help says'),
    'a file that is not there': (
        ['--ros-args', '--params-file', 'nowhere.yaml'],
        'nowhere.yaml',
        'no such file',
    ),
    'a tab in a file of parameters': (
        ['--ros-args', '--params-file', 'tabs.yaml'],
        "tabs.yaml: line 2: found character '\\t'",
        'indent with spaces',
    ),
}


@pytest.mark.parametrize('mistake', ARGUMENTS)
def test_arguments_of_a_node(mistake, tmp_path, monkeypatch):
    pytest.importorskip('rclpy')
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'tabs.yaml').write_text('/**/contact_node:\n\tros__parameters:\n')
    from dynamics_ros.nodes.process import check_command_line

    arguments, thing, cure = ARGUMENTS[mistake]
    line = line_of(lambda: check_command_line(arguments))
    assert thing in line
    assert cure in line


def test_there_are_thirty_of_them():
    tables = (REFUSED, ODD, CALLS, EFFORTS, STATUSES, GRAPHS, ARGUMENTS)
    assert sum(map(len, tables)) >= 50
