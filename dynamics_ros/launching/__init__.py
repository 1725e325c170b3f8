# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the launch files and the processes that they start.

Actions are made from the values of the arguments, a dictionary of texts; ``--show-args`` prints the
arguments. An argument that is empty leaves its parameter to ``params_file``.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch_ros.actions import Node

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.model.formats import read_any
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.dynamics import DynamicsParameters
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.parameters.servo import ServoParameters
from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.ros_yaml import temporary_yaml
from dynamics_ros.settings import check_frame_id, declared

PACKAGE = 'dynamics_ros'
NODES = ('kinematics_node', 'dynamics_node', 'contact_node')
COMMANDING = ('dynamics_node', 'cartesian_servo_node', 'impedance_controller_node')
"""Nodes that start by themselves, so that a launch needs no lifecycle manager."""

SWITCH = ('true', 'false')
Values = Mapping[str, str]
"""Text of each launch argument, by name."""


PARAMETERS: dict[str, tuple[type, str]] = {
    'kinematics_node': (KinematicsParameters, 'frames publish_tf'),
    'dynamics_node': (DynamicsParameters, 'autostart'),
    'contact_node': (ContactParameters, 'contact_frames calibration_file'),
    'cartesian_servo_node': (ServoParameters, 'frame command_joints autostart command_type'),
    'impedance_controller_node': (ImpedanceParameters, 'frame command_joints autostart mode'),
    'robot_simulator': (SimulatorParameters, 'motion'),
}
"""Of each node its parameters, and those that are launch arguments, of the same name."""

OF_ROBOT = (
    'robot_description_file robot_description_arguments robot_description root_joint frame_prefix'
)
"""Parameters of the node with the robot that are launch arguments."""

OTHER_NAMES = {'contact_frames': 'frames'}
"""Parameters of launch arguments that have another name."""


TOPICS = {
    'joint_states': 'joint_states',
    'odom': 'odom',
    'robot_description': 'description_topic',
    **dict.fromkeys(('~/joint_trajectory', '~/joint_commands'), 'command_topic'),
}
"""Topics with another name, and the argument that gives it."""

OTHERS: dict[str, tuple[str, tuple[str, ...], str]] = {
    'joint_states': ('joint_states', (), 'Topic of the joint states.'),
    'odom': ('odom', (), 'Topic of the odometry of a moving root link.'),
    'description_topic': ('robot_description', (), 'Topic of the robot description.'),
    'command_topic': (
        *('', ()),
        "Topic of the controller, as '/effort_controller/commands'. Empty: that of the node.",
    ),
    'namespace': ('', (), "Namespace of all nodes, topics and services, as 'left_arm'."),
    'params_file': (
        *('', ()),
        'YAML file of parameters, or the name of one in config/ of this package: ur5e.yaml. '
        'dynamics_ros.yaml there lists all parameters. Arguments given here come before what the '
        'file says. Empty: the defaults.',
    ),
    'log_level': ('info', ('debug', 'info', 'warn', 'error'), 'Lowest level that is logged.'),
    'use_sim_time': ('false', SWITCH, 'Use the time of the topic /clock.'),
    'respawn': ('false', SWITCH, 'Start a node that has died again after two seconds.'),
    'composed': (
        *('true', SWITCH),
        'Run all nodes in one process with one model and one subscription; false: one process '
        'each.',
    ),
    'rviz': (
        *('false', (*SWITCH, 'auto')),
        'Open RViz with the model, frames, forces and contacts; auto: if it is installed.',
    ),
}
"""Default, choices and description of each argument that is not a parameter."""


def arguments(names: str, **defaults: str) -> list[DeclareLaunchArgument]:
    """Return arguments; one of a parameter that is empty leaves it to ``params_file``."""
    kinds = (*PARAMETERS.values(), (RobotParameters, OF_ROBOT))
    found = []
    for name in names.split():
        if name in OTHERS:
            default, choices, text = OTHERS[name]
        else:
            kind = next(kind for kind, own in kinds if name in own.split())
            parameter = OTHER_NAMES.get(name, name)
            item = next(item for item in declared(kind) if item.name == parameter)
            choices = SWITCH if item.type is bool else item.constraint.choices
            default, choices = '', choices and ('', *choices)
            otherwise = 'true' if name == 'autostart' else 'the default of the node'
            text = f'{item.constraint.description}. Not given: params_file, or {otherwise}'
            if item.type == tuple[str, ...]:
                text += ". Several as 'first,second'"
        default, allowed = defaults.get(name, default), list(choices) or None
        found.append(
            DeclareLaunchArgument(name, default_value=default, description=text, choices=allowed)
        )
    return found


ROBOT = (
    'robot_description_file robot_description_arguments robot_description root_joint odom '
    'use_sim_time '
)
PROCESS = 'namespace frame_prefix joint_states description_topic params_file log_level respawn '
OUTPUTS = 'frames contact_frames calibration_file composed publish_tf rviz '


REMOVED = {
    'description_file': 'robot_description_file',
    'xacro_args': 'robot_description_arguments',
    'servo_frame': 'frame',
    'controlled_frame': 'frame',
    'wrench_expressed_in': 'params_file with wrench.expressed_in of contact_node',
}
"""Arguments of earlier versions, which launch would ignore, and what to use now."""


def launch_description(
    names: str, actions: Callable[[Values], Iterable[Any]], **defaults: str
) -> LaunchDescription:
    """Return the launch description of a launch file.

    Args:
        names: names of its arguments.
        actions: returns what to start from the values of the arguments.
        defaults: defaults that differ.

    Raises:
        InvalidArgumentError: at launch, for an argument that does not fit.
    """

    def start(context: LaunchContext) -> list[Any]:
        values = dict(context.launch_configurations)
        for name in REMOVED.keys() & values.keys():
            raise InvalidArgumentError(name, 'is no argument any more', REMOVED[name])
        check_frame_id('frame_prefix', values.get('frame_prefix', ''))
        if values.get('robot_description_file') and values.get('robot_description'):
            problem = 'is given, and robot_description_file too'
            raise InvalidArgumentError('robot_description', problem, 'one of them')
        return list(actions(values))

    return LaunchDescription([*arguments(names, **defaults), OpaqueFunction(function=start)])


def one_node(name: str) -> LaunchDescription:
    """Return the launch description of one node in a process of its own."""
    _, own = PARAMETERS[name]
    names = ROBOT + PROCESS + own + (' command_topic' if 'command_joints' in own else '')
    return launch_description(names, lambda values: [_node(values, name, (name,))])


def nodes(values: Values, default_file: str = '') -> list[Node]:
    """Return the processes of the three nodes: one for all with ``composed``, else one each.

    Args:
        values: values of the launch arguments.
        default_file: parameter file that comes before ``params_file``.
    """
    if values['composed'] == 'true':
        return [_node(values, PACKAGE, NODES, default_file)]
    return [_node(values, name, (name,), default_file) for name in NODES]


def all_nodes() -> LaunchDescription:
    """Return the launch description of the three nodes, with RViz if it is asked for."""
    names = ROBOT + PROCESS + OUTPUTS + 'autostart'
    return launch_description(names, lambda values: [*nodes(values), *rviz(values)])


def demo() -> LaunchDescription:
    """Return the launch description of a simulated robot, all nodes on it and RViz."""

    def actions(values: Values) -> list[Any]:
        own_arm = not values['robot_description_file']
        end = Shutdown(reason='robot_simulator has ended')
        simulator = _node(values, 'robot_simulator', ('robot_simulator',), on_exit=[end])
        file = 'seven_joint_arm.yaml' if own_arm else 'simulated_robot.yaml'
        # The nodes get the description from the topic of the simulator.
        described = dict(values) | {'robot_description_file': '', 'robot_description_arguments': ''}
        return [simulator, *nodes(described, config(file)), *rviz(values)]

    names = f'robot_description_file robot_description_arguments motion {PROCESS}{OUTPUTS}'
    return launch_description(names, actions, publish_tf='true', motion='true', rviz='auto')


def rviz(values: Values) -> list[Any]:
    """Return the process of RViz if the argument ``rviz`` asks for it.

    Its configuration names topics without a leading slash, so that they follow the namespace.
    """
    if values['rviz'] == 'false':
        return []
    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError:
        problem = 'the package rviz2 is not installed'
        if values['rviz'] == 'auto':
            return [LogInfo(msg=f'RViz is not started: {problem}')]
        package = f'ros-{os.environ.get("ROS_DISTRO", "<distro>")}-rviz2'
        raise InvalidArgumentError('rviz', problem, f'{package}, or false') from None
    moves = values.get('root_joint') in ('floating', 'planar')
    fixed = 'odom' if moves else values['frame_prefix'] + _root_link(values)
    own = [_parameter_file({'rviz': clock})] if (clock := _clock(values)) else []
    shown = ['-d', config('dynamics.rviz'), '-f', fixed]
    return [_process(values, 'rviz2', 'rviz2', own, arguments=shown)]


def _node(
    values: Values, executable: str, names: Iterable[str], default_file: str = '', **options: Any
) -> Node:
    """Return a process with nodes of this package; the robot's parameters are of one of them."""
    own = {name: _clock(values) | _given(values, PARAMETERS[name][1]) for name in names}
    own['dynamics_node' if 'dynamics_node' in own else next(iter(own))] |= _given(values, OF_ROBOT)
    defaults = {name: {'autostart': True} for name in own if name in COMMANDING}
    files = [
        *([_parameter_file(defaults)] if defaults else []),
        *([default_file] if default_file else []),
        *([found_parameter_file(values['params_file'])] if values['params_file'] else []),
        *([_parameter_file(own)] if any(own.values()) else []),
    ]
    if executable != 'robot_simulator':
        options |= {'respawn': values['respawn'] == 'true', 'respawn_delay': 2.0}
    return _process(values, PACKAGE, executable, files, **options)


def _process(
    values: Values, package: str, executable: str, parameters: list[str], **options: Any
) -> Node:
    """Return a process with the options that all of them have."""
    given = [(topic, values.get(name) or topic) for topic, name in TOPICS.items()]
    return Node(
        package=package,
        executable=executable,
        namespace=values['namespace'] or None,
        parameters=parameters,
        remappings=[(topic, name) for topic, name in given if name != topic],
        ros_arguments=['--log-level', values['log_level']],
        output='screen',
        **options,
    )


def _clock(values: Values) -> dict[str, Any]:
    return {'use_sim_time': True} if values.get('use_sim_time') == 'true' else {}


def _given(values: Values, names: str) -> dict[str, Any]:
    """Return the parameters of the arguments that the launch file has and that are not empty."""
    given: dict[str, Any] = {}
    for name in names.split():
        text, parameter = values.get(name, ''), OTHER_NAMES.get(name, name)
        if name == 'robot_description_arguments':
            value: Any = shlex.split(text)
        elif name in ('frames', 'contact_frames', 'command_joints'):
            value = [word for word in re.split(r'[,\s]+', text) if word]
        else:
            value = text == 'true' if text in SWITCH else text
        if text:
            given[parameter] = value
    return given


def _root_link(values: Values) -> str:
    """Return the root link; 'base_link' without a readable description, which the nodes report."""
    file, text = values['robot_description_file'], values.get('robot_description', '')
    words = shlex.split(values['robot_description_arguments'])
    pairs = [word.partition(':=') for word in words]
    try:
        if file:
            return read_any(Path(file), {name: value for name, _, value in pairs}).robot.root
        return read_urdf(text).root
    except DynamicsRosError:
        return 'base_link'


def _parameter_file(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """Write parameters by node to a temporary file; each node of a process gets its own."""
    return temporary_yaml(
        {f'/**/{name}': {'ros__parameters': dict(own)} for name, own in parameters.items() if own}
    )


def found_parameter_file(path: str) -> str:
    """Return the file of a path, or one of this package such as 'ur5e.yaml', 'config/ur5e.yaml'.

    Raises:
        InvalidArgumentError: there is none; it names those of this package.
    """
    file, own = Path(os.path.expanduser(path)).resolve(), Path(config(Path(path).name))
    if file.is_file():
        return str(file)
    if Path(path).parent in (Path(), Path('config')) and own.is_file():
        return str(own)
    available = ', '.join(sorted(other.name for other in own.parent.glob('*.yaml')))
    raise InvalidArgumentError(
        'params_file', f'no file {str(file)!r}', f'a YAML file, or of this package: {available}'
    )


def config(name: str) -> str:
    """Return the path of a file in config/ of this package."""
    return str(Path(get_package_share_directory(PACKAGE), 'config', name))
