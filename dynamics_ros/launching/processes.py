# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Processes of the launch files and their parameters, as data independent of launch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)

from dynamics_ros.errors import InvalidArgumentError

from .rviz import adapted, adapted_for_several
from .settings import Settings
from .temporary import temporary_yaml

PACKAGE = 'dynamics_ros'
COMPOSED = 'dynamics_ros'
NODES = ('kinematics_node', 'dynamics_node', 'contact_node')
SERVO = 'cartesian_servo_node'
IMPEDANCE = 'impedance_controller_node'
COMMANDING = (SERVO, IMPEDANCE, 'dynamics_node')
"""Nodes that are, or can become, managed nodes."""

HOST = 'dynamics_node'
"""Node with the parameters of the robot if all nodes share a process."""

RVIZ_CONFIG = 'dynamics.rviz'
WORLD = 'world'
"""Common root frame of several robots."""

SIMULATED_ARM = 'seven_joint_arm'
"""Robot of this package: name of its URDF and of its parameter file."""

SIMULATED_ROBOT = 'simulated_robot'
"""Parameter file for other robots in the simulator."""


@dataclass(frozen=True)
class Process:
    """Executable to start.

    Attributes:
        executable: name of the executable.
        parameters: parameters by name of the node; they override those of the files.
        package: package of the executable.
        parameter_files: YAML files; later files override earlier ones.
        namespace: namespace of its nodes, or ''.
        remappings: pairs of a name and its replacement.
        arguments: arguments of the command line.
        log_level: level of all its loggers.
        respawn: whether to restart the process after it has died.
        required: whether the launch ends with this process.
        defaults: parameters by name of the node; those of the files override them.
    """

    executable: str
    parameters: dict[str, dict[str, Any]]
    package: str = PACKAGE
    parameter_files: Sequence[str] = ()
    namespace: str = ''
    remappings: Sequence[tuple[str, str]] = ()
    arguments: Sequence[str] = ()
    log_level: str = 'info'
    respawn: bool = False
    required: bool = False
    defaults: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def all_parameter_files(self) -> list[str]:
        """Return all parameter files, including temporary ones with defaults and parameters."""
        return [
            *_temporary_files(self.defaults),
            *self.parameter_files,
            *_temporary_files(self.parameters),
        ]


@dataclass(frozen=True)
class Notice:
    """Message to the user of the launch file."""

    text: str


Step = Process | Notice


def node(settings: Settings, name: str) -> Iterator[Process]:
    """Yield the process of one node."""
    yield _of_nodes(settings, name, (name,), host=name)


def servo(settings: Settings) -> Iterator[Process]:
    """Yield the process of cartesian_servo_node, with its topic remapped to a controller."""
    for process in node(settings, SERVO):
        topic = settings['command_topic']
        remapped = [(name, topic) for name in ('~/joint_trajectory', '~/joint_commands') if topic]
        yield replace(process, remappings=[*process.remappings, *remapped])


def impedance(settings: Settings) -> Iterator[Process]:
    """Yield the process of impedance_controller_node, with its topic remapped to a controller."""
    for process in node(settings, IMPEDANCE):
        topic = settings['command_topic']
        remapped = [('~/joint_commands', topic)] if topic else []
        yield replace(process, remappings=[*process.remappings, *remapped])


def all_nodes(settings: Settings) -> Iterator[Process]:
    """Yield the processes of the three nodes: one for all, or one for each."""
    if settings.is_on('composed'):
        yield _of_nodes(settings, COMPOSED, NODES, host=HOST)
    else:
        for name in NODES:
            yield from node(settings, name)


def robot_state_publisher(settings: Settings) -> Iterator[Process]:
    """Yield the process of robot_state_publisher if the argument of that name is set."""
    name = 'robot_state_publisher'
    if not settings.is_on(name):
        return
    _require(name, name)
    if not settings.description:
        raise InvalidArgumentError(name, 'has no description', 'description_file')
    if settings.is_on('publish_tf'):
        raise InvalidArgumentError('publish_tf', f'true beside a {name}', 'one: both publish /tf')
    own = {'robot_description': settings.description, **settings.as_parameters('frame_prefix')}
    yield _process(settings, name, {name: own}, package=name)


def rviz(settings: Settings) -> Iterator[Step]:
    """Yield the process of RViz if the argument ``rviz`` asks for it."""
    yield from _rviz(settings, lambda config: adapted(config, settings))


def side_by_side(settings: Settings, places: Mapping[str, Sequence[float]]) -> Iterator[Step]:
    """Yield the shared processes of several robots: static transforms, and one RViz for all.

    Args:
        settings: settings, with the common namespace and frame prefix of the robots.
        places: x, y, z of the root link of each robot in the frame ``world`` [m], by its name.
    """
    simulated = settings.is_on('simulated')
    if simulated and not settings.description:
        settings = Settings(settings.values | {'description_file': str(simulated_arm())})
    world = settings['frame_prefix'] + WORLD
    robots = {name: settings.for_robot(name) for name in places}
    if simulated:
        for name, robot in robots.items():
            yield _static_transform(name, robot, world, places[name])
    settings = settings.with_default('rviz', 'auto' if simulated else 'false')
    fixed = settings['fixed_frame'] or world
    yield from _rviz(settings, lambda config: adapted_for_several(config, robots, fixed))


def _static_transform(name: str, robot: Settings, world: str, place: Sequence[float]) -> Step:
    """Return the static transform of a robot in the frame ``world``, or why there is none."""
    if not robot.root_link:
        return Notice(f'nothing says where {name} stands: its root link is not known at launch')
    if not is_installed('tf2_ros'):
        return Notice(f'nothing says where {name} stands: the package tf2_ros is not installed')
    arguments = [
        word for axis, x in zip('xyz', place, strict=True) for word in (f'--{axis}', str(x))
    ]
    arguments += ['--frame-id', world, '--child-frame-id', robot['frame_prefix'] + robot.root_link]
    publisher = 'static_transform_publisher'
    return _process(robot, publisher, {publisher: {}}, package='tf2_ros', arguments=arguments)


def _rviz(settings: Settings, adapt: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[Step]:
    """Yield the process of RViz if it is asked for, with an adapted configuration."""
    value = settings['rviz']
    if value == 'auto' and not is_installed('rviz2'):
        yield Notice('RViz is not started: the package rviz2 is not installed')
    elif value in ('true', 'auto'):
        _require('rviz', 'rviz2')
        arguments = ['-d', settings['rviz_config'] or _adapted_config(adapt)]
        if settings['fixed_frame']:
            arguments += ['-f', settings['fixed_frame']]
        yield _process(settings, 'rviz2', {'rviz': {}}, package='rviz2', arguments=arguments)


def demo(settings: Settings) -> Iterator[Step]:
    """Yield the processes of a simulated robot, its nodes, and RViz."""
    simulated = {
        'robot_description': settings.description,
        **settings.as_parameters('motion', 'frame_prefix'),
    }
    simulator = _process(settings, 'robot_simulator', {'robot_simulator': simulated})
    yield replace(simulator, required=True)
    is_own_arm = Path(settings['description_file']) == simulated_arm()
    file = _config(f'{SIMULATED_ARM if is_own_arm else SIMULATED_ROBOT}.yaml')
    for process in all_nodes(settings):
        yield replace(process, parameter_files=(file, *process.parameter_files))
    yield from rviz(settings)


def simulated_arm() -> Path:
    """Return the URDF file of the arm of this package."""
    return Path(get_package_share_directory(PACKAGE), 'urdf', f'{SIMULATED_ARM}.urdf')


def is_installed(package: str) -> bool:
    """Return whether a ROS package is installed."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _of_nodes(settings: Settings, executable: str, nodes: Sequence[str], host: str) -> Process:
    """Return a process with nodes of this package; ``host`` gets the parameters of the robot."""
    robot = settings.as_parameters('root_joint', 'frame_prefix')
    if settings.description:
        robot['robot_description'] = settings.description
    parameters = {name: _own_parameters(settings, name) for name in nodes}
    parameters[host] |= robot
    process = _process(settings, executable, parameters)
    # Nodes start themselves by default, so that a launch needs no lifecycle manager.
    defaults = {name: {'autostart': True} for name in nodes if name in COMMANDING}
    return replace(process, respawn=settings.is_on('respawn'), defaults=defaults)


def _own_parameters(settings: Settings, node: str) -> dict[str, Any]:
    if node == 'kinematics_node':
        frames = {'frames': settings.frames} if settings.frames else {}
        return frames | settings.as_parameters('publish_tf')
    if node == 'contact_node':
        frames = {'frames': settings.contact_frames} if settings.contact_frames else {}
        expressed_in = settings['wrench_expressed_in']
        return frames | ({'wrench.expressed_in': expressed_in} if expressed_in else {})
    if node == SERVO:
        frame = {'frame': settings['servo_frame']} if settings['servo_frame'] else {}
        joints = {'command_joints': settings.command_joints} if settings.command_joints else {}
        return frame | joints | settings.as_parameters('command_type', 'autostart')
    if node == IMPEDANCE:
        frame = {'frame': settings['controlled_frame']} if settings['controlled_frame'] else {}
        joints = {'command_joints': settings.command_joints} if settings.command_joints else {}
        return frame | joints | settings.as_parameters('mode', 'autostart')
    return settings.as_parameters('autostart')


def _temporary_files(parameters: Mapping[str, dict[str, Any]]) -> list[str]:
    """Write parameters by name of the node to a temporary YAML file; return its path, if any."""
    # The wildcard matches any namespace; each node of the process gets its own parameters.
    by_node = {f'/**/{name}': {'ros__parameters': own} for name, own in parameters.items() if own}
    return [temporary_yaml(by_node)] if by_node else []


def _process(
    settings: Settings,
    executable: str,
    parameters: dict[str, dict[str, Any]],
    package: str = PACKAGE,
    arguments: Sequence[str] = (),
) -> Process:
    """Return a process with the settings that apply to all processes."""
    clock = {'use_sim_time': True} if settings.is_on('use_sim_time') else {}
    topics = {
        'joint_states': settings['joint_states'],
        'odom': settings['odom'],
        'robot_description': settings['description_topic'],
    }
    return Process(
        executable,
        {name: own | clock for name, own in parameters.items()},
        package,
        parameter_files=_parameter_file(settings['params_file']) if package == PACKAGE else (),
        namespace=settings['namespace'],
        remappings=[(name, to) for name, to in topics.items() if to not in ('', name)],
        arguments=arguments,
        log_level=settings['log_level'] or 'info',
    )


def _parameter_file(path: str) -> tuple[str, ...]:
    """Return the file of a path, or one of this package such as 'ur5e.yaml', 'config/ur5e.yaml'."""
    if not path:
        return ()
    file = Path(path).expanduser().resolve()
    own_file = Path(_config(Path(path).name))
    if file.is_file():
        return (str(file),)
    if Path(path).parent in (Path(), Path('config')) and own_file.is_file():
        return (str(own_file),)
    available = ', '.join(sorted(other.name for other in own_file.parent.glob('*.yaml')))
    raise InvalidArgumentError(
        'params_file', f'no file {str(file)!r}', f'a YAML file, or of this package: {available}'
    )


def _require(argument: str, package: str) -> None:
    if not is_installed(package):
        raise InvalidArgumentError(
            argument,
            f'the package {package} is not installed',
            f'ros-{os.environ.get("ROS_DISTRO", "<distro>")}-{package.replace("_", "-")}, or false',
        )


def _adapted_config(adapt: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    config = yaml.safe_load(Path(_config(RVIZ_CONFIG)).read_text(encoding='utf-8'))
    return temporary_yaml(adapt(config), suffix='.rviz')


def _config(name: str) -> str:
    return str(Path(get_package_share_directory(PACKAGE), 'config', name))
