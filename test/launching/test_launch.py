# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files start the right nodes with the right parameters, and RViz sees their topics.

What they start is data until the last step: only that step needs a machine with launch_ros.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, WrenchStamped
from ros_harness import LATCHED, PATIENCE, NodeProcess, client, description, occupy
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, ModelError
from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.rviz import adapted
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

DOMAIN = 71
ROOT = Path(__file__).parents[2]
LAUNCH_FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
ARM = str(ROOT / 'urdf' / 'seven_joint_arm.urdf')
RVIZ_FILE = ROOT / 'config' / 'dynamics.rviz'
RVIZ_CONFIG = yaml.safe_load(RVIZ_FILE.read_text())

PARAMETERS = {
    'kinematics_node': (KinematicsParameters, RobotParameters),
    'dynamics_node': (DynamicsParameters, RobotParameters),
    'contact_node': (ContactParameters, RobotParameters),
    'cartesian_servo_node': (ServoParameters, RobotParameters),
    'impedance_controller_node': (ImpedanceParameters, RobotParameters),
    'robot_simulator': (SimulatorParameters,),
}
MESSAGES = {
    '/robot_description': String,
    '/kinematics_node/markers': MarkerArray,
    '/contact_node/markers': MarkerArray,
    '/kinematics_node/tool0/pose': PoseStamped,
    '/contact_node/tool0/wrench': WrenchStamped,
}
"""The topics of the interface that RViz shows of the arm, and their types."""

TWO = ('left', 'right')
"""The robots of two_robots.launch.py."""

TYPES_OF_DISPLAYS = {
    'rviz_default_plugins/RobotModel': String,
    'rviz_default_plugins/MarkerArray': MarkerArray,
    'rviz_default_plugins/Pose': PoseStamped,
    'rviz_default_plugins/Wrench': WrenchStamped,
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


def settings(**values: str) -> Settings:
    """What the launch file of all nodes gets when these arguments are given."""
    return Settings({item.name: item.default for item in arguments.NODES} | values)


def demo(**values: str) -> list[processes.Step]:
    """What the demo starts."""
    taken = arguments.demo_arguments(str(processes.simulated_arm()))
    return list(processes.demo(Settings({item.name: item.default for item in taken} | values)))


def shown(config) -> dict[str, str]:
    """Topic to class of the display that is enabled for it."""
    return {
        display[key]['Value']: display['Class']
        for display in config['Visualization Manager']['Displays']
        for key in ('Topic', 'Description Topic')
        if key in display and display['Enabled']
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


def start(given: Settings) -> list[processes.Step]:
    """All that the launch file of all nodes starts."""
    parts = (processes.robot_state_publisher, processes.all_nodes, processes.rviz)
    return list(chain.from_iterable(part(given) for part in parts))


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


def is_ours(step: processes.Step) -> bool:
    return isinstance(step, processes.Process) and step.package == 'dynamics_ros'


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


# --- packages that may be missing ---------------------------------------------------------------


@pytest.fixture
def with_rviz(tmp_path, monkeypatch):
    """A machine where ROS finds rviz2, robot_state_publisher and tf2_ros."""
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    for name in ('rviz2', 'robot_state_publisher', 'tf2_ros'):
        (index / name).touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path}:{os.environ["AMENT_PREFIX_PATH"]}')


@pytest.fixture
def without_rviz(monkeypatch):
    """A machine where ROS finds our package and nothing else."""
    prefix = processes.get_package_prefix('dynamics_ros')
    monkeypatch.setenv('AMENT_PREFIX_PATH', prefix)


@pytest.mark.parametrize(
    ('argument', 'package'),
    [('rviz', 'rviz2'), ('robot_state_publisher', 'robot_state_publisher')],
)
def test_a_missing_package_that_is_asked_for_is_named(without_rviz, argument, package):
    with pytest.raises(DynamicsRosError, match=f'package {package} is not installed'):
        start(settings(**{argument: 'true', 'description_file': ARM}))


def test_the_demo_does_without_rviz_where_there_is_none_and_says_so(without_rviz):
    *_, notice = demo()
    assert 'rviz2 is not installed' in notice.text


def test_the_demo_opens_rviz_where_it_is_installed(with_rviz):
    *_, rviz = demo()
    assert (rviz.package, rviz.executable) == ('rviz2', 'rviz2')
    option, path = rviz.arguments
    assert option == '-d'
    assert shown(yaml.safe_load(Path(path).read_text())) == shown(RVIZ_CONFIG)


def test_a_configuration_of_the_user_is_opened_as_it_is(with_rviz):
    *_, rviz = start(settings(rviz='true', rviz_config='mine.rviz', fixed_frame='map'))
    assert list(rviz.arguments) == ['-d', 'mine.rviz', '-f', 'map']


def test_robot_state_publisher_gets_the_description_and_must_be_alone_on_tf(with_rviz):
    wish = {'robot_state_publisher': 'true', 'description_file': ARM}
    publisher, _ = start(settings(**wish, frame_prefix='left/'))
    own = publisher.parameters['robot_state_publisher']
    assert own == {'robot_description': description(), 'frame_prefix': 'left/'}
    with pytest.raises(InvalidArgumentError, match='publish_tf'):
        start(settings(**wish, publish_tf='true'))


# --- RViz ---------------------------------------------------------------------------------------


def test_rviz_shows_topics_of_the_interface_in_displays_of_their_type():
    assert {
        topic: TYPES_OF_DISPLAYS[display] for topic, display in shown(RVIZ_CONFIG).items()
    } == MESSAGES


def test_rviz_draws_in_the_root_link_of_the_arm():
    frame = RVIZ_CONFIG['Visualization Manager']['Global Options']['Fixed Frame']
    assert frame == read_urdf(ARM).root


def test_rviz_follows_namespace_frames_and_prefix():
    config = adapted(
        RVIZ_CONFIG,
        settings(
            description_file=ARM,
            namespace='left',
            frame_prefix='l/',
            frames='tool0,flange_link',
            wrench_expressed_in='tool0',
        ),
    )
    assert set(shown(config)) == {
        '/left/robot_description',
        '/left/kinematics_node/markers',
        '/left/contact_node/markers',
        '/left/kinematics_node/tool0/pose',
        '/left/kinematics_node/flange_link/pose',
        '/left/contact_node/tool0/wrench',
    }
    manager = config['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'l/base_link'
    (model,) = [item for item in manager['Displays'] if 'TF Prefix' in item]
    assert model['TF Prefix'] == 'l'


def test_rviz_shows_a_wrench_only_where_it_would_draw_it_right():
    at_the_tool = settings(description_file=ARM, wrench_expressed_in='tool0')
    in_the_root = settings(description_file=ARM, wrench_expressed_in='base_link')
    topic = '/contact_node/tool0/wrench'
    assert topic in shown(adapted(RVIZ_CONFIG, at_the_tool))
    assert topic in shown(adapted(RVIZ_CONFIG, settings(description_file=ARM)))
    assert topic not in shown(adapted(RVIZ_CONFIG, in_the_root))


def test_rviz_draws_a_robot_that_moves_in_the_frame_of_its_odometry():
    config = adapted(RVIZ_CONFIG, settings(description_file=ARM, root_joint='floating'))
    assert config['Visualization Manager']['Global Options']['Fixed Frame'] == 'odom'


# --- two robots ---------------------------------------------------------------------------------


PLACES = {'left': (0.0, 0.5, 0.0), 'right': (0.0, -0.5, 0.0)}


def together(**values: str) -> list[processes.Step]:
    """What two robots share."""
    given = {item.name: item.default for item in arguments.SIDE_BY_SIDE} | values
    return list(processes.side_by_side(Settings(given), PLACES))


def test_two_simulated_robots_stand_in_one_tree_and_one_window(with_rviz):
    left, right, rviz = together()
    for step, name, y in ((left, 'left', '0.5'), (right, 'right', '-0.5')):
        assert (step.package, step.executable) == ('tf2_ros', 'static_transform_publisher')
        assert step.namespace == name  # two nodes of one name
        place = ['--x', '0.0', '--y', y, '--z', '0.0']
        assert step.arguments == [
            *place, '--frame-id', 'world', '--child-frame-id', f'{name}/base_link'
        ]  # fmt: skip
    config = yaml.safe_load(Path(rviz.arguments[1]).read_text())
    assert config['Visualization Manager']['Global Options']['Fixed Frame'] == 'world'
    assert shown(config) == {
        f'/{name}{topic}': kind for name in TWO for topic, kind in shown(RVIZ_CONFIG).items()
    }
    names = [display['Name'] for display in config['Visualization Manager']['Displays']]
    assert len(set(names)) == len(names)
    assert names.count('Grid') == names.count('Links') == 1
    models = [d for d in config['Visualization Manager']['Displays'] if 'TF Prefix' in d]
    assert [model['TF Prefix'] for model in models] == [*TWO]


def test_two_robots_in_a_cell_have_its_namespace_and_prefix(with_rviz):
    left, _, rviz = together(namespace='/cell', frame_prefix='cell/')
    assert left.namespace == '/cell/left'
    assert left.arguments[-3:] == ['cell/world', '--child-frame-id', 'cell/left/base_link']
    config = yaml.safe_load(Path(rviz.arguments[1]).read_text())
    assert '/cell/right/kinematics_node/markers' in shown(config)


def test_where_real_robots_stand_is_not_said_for_them(with_rviz):
    assert together(simulated='false') == []
    (rviz,) = together(simulated='false', rviz='true', fixed_frame='cell')
    assert list(rviz.arguments[2:]) == ['-f', 'cell']


def test_two_robots_do_without_tf2_and_rviz_and_say_so(without_rviz):
    left, right, rviz = together()
    assert left.text == 'nothing says where left stands: the package tf2_ros is not installed'
    assert 'right' in right.text and 'rviz2 is not installed' in rviz.text


# --- for real -----------------------------------------------------------------------------------


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
def test_two_robots_publish_all_that_rviz_shows_and_mix_nothing():
    started = []
    steps = [
        step
        for name in TWO
        for step in demo(namespace=f'/{name}', frame_prefix=f'{name}/', rviz='false')
    ]
    try:
        for step in filter(is_ours, steps):
            words = ['--ros-args', '-r', f'__ns:={step.namespace}']
            for file in step.all_parameter_files():
                words += ['--params-file', file]
            started.append(NodeProcess(step.executable, DOMAIN, words))
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
def test_the_launch_file_compiles_and_says_what_it_starts(path):
    code = compile(path.read_text(), str(path), 'exec')
    assert 'generate_launch_description' in code.co_names
    assert code.co_consts[0].strip()


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
    given = {'namespace': namespace, 'description_file': ARM, 'rviz': 'false'}
    names = [action.node_executable for action in visited(path, **given)]
    assert names == STARTED[path.name]


def test_launch_starts_a_process_for_each_node_on_request():
    path = ROOT / 'launch' / 'dynamics.launch.py'
    names = [action.node_executable for action in visited(path, composed='false')]
    assert names == list(processes.NODES)


def test_launch_leaves_the_simulators_out_where_robots_are_real():
    path = ROOT / 'launch' / 'two_robots.launch.py'
    robots = visited(path, simulated='false', namespace='cell', frame_prefix='cell_')
    assert [robot.node_executable for robot in robots] == ['dynamics_ros'] * 2


def test_launch_opens_one_window_for_two_robots(with_rviz):
    started = visited(ROOT / 'launch' / 'two_robots.launch.py', description_file=ARM)
    names = [action.node_executable for action in started]
    places = ['static_transform_publisher'] * 2
    assert names == [*['robot_simulator', 'dynamics_ros'] * 2, *places, 'rviz2']


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
