# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which processes the launch files start, with which parameters; as data, free of launch."""

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
"""Those that are, or can be, managed nodes."""

HOST = 'dynamics_node'
"""The node that has the parameters of the robot where all nodes share a process."""

RVIZ_CONFIG = 'dynamics.rviz'
WORLD = 'world'
"""The frame that several robots stand in."""

SIMULATED_ARM = 'seven_joint_arm'
"""The package's own robot: the name of its URDF and of its parameter file."""

SIMULATED_ROBOT = 'simulated_robot'
"""The parameter file for any other robot in the simulator."""


@dataclass(frozen=True)
class Process:
    """An executable to start.

    Attributes:
        executable: its name.
        parameters: node name to the parameters of that node; they win over those of the files.
        defaults: the same, and those of the files win.
        package: where it is.
        parameter_files: YAML files, the later wins.
        namespace: of its nodes, or ''.
        remappings: from, to.
        arguments: of the command line.
        log_level: of all of its loggers.
        respawn: start it again when it has died.
        required: all others end with it.
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
        """The files, and those with parameters and defaults for as long as this program runs."""
        return [*_written(self.defaults), *self.parameter_files, *_written(self.parameters)]


@dataclass(frozen=True)
class Notice:
    """A sentence for whoever launches."""

    text: str


Step = Process | Notice


def node(settings: Settings, name: str) -> Iterator[Process]:
    """One node in a process of its own."""
    yield _of_nodes(settings, name, (name,), host=name)


def servo(settings: Settings) -> Iterator[Process]:
    """The node that leads a frame, connected to a controller."""
    for process in node(settings, SERVO):
        topic = settings['command_topic']
        led = [(name, topic) for name in ('~/joint_trajectory', '~/joint_commands') if topic]
        yield replace(process, remappings=[*process.remappings, *led])


def impedance(settings: Settings) -> Iterator[Process]:
    """The node that has a tool on springs, connected to an effort controller."""
    for process in node(settings, IMPEDANCE):
        topic = settings['command_topic']
        led = [('~/joint_commands', topic)] if topic else []
        yield replace(process, remappings=[*process.remappings, *led])


def all_nodes(settings: Settings) -> Iterator[Process]:
    """The three nodes, in one process or in three."""
    if settings.is_on('composed'):
        yield _of_nodes(settings, COMPOSED, NODES, host=HOST)
    else:
        for name in NODES:
            yield from node(settings, name)


def robot_state_publisher(settings: Settings) -> Iterator[Process]:
    """A robot_state_publisher, if it is asked for."""
    name = 'robot_state_publisher'
    if not settings.is_on(name):
        return
    _require(name, name)
    if not settings.description:
        raise InvalidArgumentError(name, 'has no description', 'description_file')
    if settings.is_on('publish_tf'):
        raise InvalidArgumentError('publish_tf', f'true beside a {name}', 'one: both publish /tf')
    own = {'robot_description': settings.description, **settings.given('frame_prefix')}
    yield _process(settings, name, {name: own}, package=name)


def rviz(settings: Settings) -> Iterator[Step]:
    """RViz, if it is asked for."""
    yield from _rviz(settings, lambda config: adapted(config, settings))


def side_by_side(settings: Settings, places: Mapping[str, Sequence[float]]) -> Iterator[Step]:
    """What several robots share: the places of simulated ones, and one RViz for all of them.

    Args:
        settings: with the namespace and the prefix that the robots have in common.
        places: name of a robot to x, y, z of its root link in the frame ``world`` [m].
    """
    simulated = settings.is_on('simulated')
    if simulated and not settings.description:
        settings = Settings(settings.values | {'description_file': str(simulated_arm())})
    world = settings['frame_prefix'] + WORLD
    robots = {name: settings.of_robot(name) for name in places}
    if simulated:
        for name, robot in robots.items():
            yield _place(name, robot, world, places[name])
    settings = settings.with_default('rviz', 'auto' if simulated else 'false')
    fixed = settings['fixed_frame'] or world
    yield from _rviz(settings, lambda config: adapted_for_several(config, robots, fixed))


def _place(name: str, robot: Settings, world: str, place: Sequence[float]) -> Step:
    """What says where a robot stands."""
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
    """RViz, if it is asked for, with the configuration of this package made to fit."""
    wish = settings['rviz']
    if wish == 'auto' and not is_installed('rviz2'):
        yield Notice('RViz is not started: the package rviz2 is not installed')
    elif wish in ('true', 'auto'):
        _require('rviz', 'rviz2')
        arguments = ['-d', settings['rviz_config'] or _adapted_config(adapt)]
        if settings['fixed_frame']:
            arguments += ['-f', settings['fixed_frame']]
        yield _process(settings, 'rviz2', {'rviz': {}}, package='rviz2', arguments=arguments)


def demo(settings: Settings) -> Iterator[Step]:
    """A simulated robot, the nodes on it, and RViz."""
    simulated = {
        'robot_description': settings.description,
        **settings.given('motion', 'frame_prefix'),
    }
    simulator = _process(settings, 'robot_simulator', {'robot_simulator': simulated})
    yield replace(simulator, required=True)
    is_own_arm = Path(settings['description_file']) == simulated_arm()
    file = _config(f'{SIMULATED_ARM if is_own_arm else SIMULATED_ROBOT}.yaml')
    for process in all_nodes(settings):
        yield replace(process, parameter_files=(file, *process.parameter_files))
    yield from rviz(settings)


def simulated_arm() -> Path:
    """The URDF file of the package's own arm."""
    return Path(get_package_share_directory(PACKAGE), 'urdf', f'{SIMULATED_ARM}.urdf')


def is_installed(package: str) -> bool:
    """Whether ROS finds a package here."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _of_nodes(settings: Settings, executable: str, nodes: Sequence[str], host: str) -> Process:
    """A process of our nodes; the host gets the parameters of the robot."""
    robot = settings.given('root_joint', 'frame_prefix')
    if settings.description:
        robot['robot_description'] = settings.description
    parameters = {name: _own_parameters(settings, name) for name in nodes}
    parameters[host] |= robot
    process = _process(settings, executable, parameters)
    # So that a launch is one command: a managed node waits for somebody else.
    defaults = {name: {'autostart': True} for name in nodes if name in COMMANDING}
    return replace(process, respawn=settings.is_on('respawn'), defaults=defaults)


def _own_parameters(settings: Settings, node: str) -> dict[str, Any]:
    if node == 'kinematics_node':
        frames = {'frames': settings.frames} if settings.frames else {}
        return frames | settings.given('publish_tf')
    if node == 'contact_node':
        frames = {'frames': settings.contact_frames} if settings.contact_frames else {}
        expressed_in = settings['wrench_expressed_in']
        return frames | ({'wrench.expressed_in': expressed_in} if expressed_in else {})
    if node == SERVO:
        frame = {'frame': settings['servo_frame']} if settings['servo_frame'] else {}
        joints = {'command_joints': settings.command_joints} if settings.command_joints else {}
        return frame | joints | settings.given('command_type', 'autostart')
    if node == IMPEDANCE:
        frame = {'frame': settings['controlled_frame']} if settings['controlled_frame'] else {}
        joints = {'command_joints': settings.command_joints} if settings.command_joints else {}
        return frame | joints | settings.given('mode', 'autostart')
    return settings.given('autostart')


def _written(parameters: Mapping[str, dict[str, Any]]) -> list[str]:
    """A YAML file of parameters by node, where there are any."""
    # The wildcard holds in any namespace; each node of the process gets what is its own.
    by_node = {f'/**/{name}': {'ros__parameters': own} for name, own in parameters.items() if own}
    return [temporary_yaml(by_node)] if by_node else []


def _process(
    settings: Settings,
    executable: str,
    parameters: dict[str, dict[str, Any]],
    package: str = PACKAGE,
    arguments: Sequence[str] = (),
) -> Process:
    """A process with what all of them have in common."""
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
        parameter_files=_existing(settings['params_file']) if package == PACKAGE else (),
        namespace=settings['namespace'],
        remappings=[(name, to) for name, to in topics.items() if to not in ('', name)],
        arguments=arguments,
        log_level=settings['log_level'] or 'info',
    )


def _existing(path: str) -> tuple[str, ...]:
    """The file of that path, or else the one of this package: 'ur5e.yaml' or 'config/ur5e.yaml'."""
    if not path:
        return ()
    file = Path(path).expanduser().resolve()
    ours = Path(_config(Path(path).name))
    if file.is_file():
        return (str(file),)
    if Path(path).parent in (Path(), Path('config')) and ours.is_file():
        return (str(ours),)
    there = ', '.join(sorted(other.name for other in ours.parent.glob('*.yaml')))
    raise InvalidArgumentError(
        'params_file', f'no file {str(file)!r}', f'a YAML file, or of this package: {there}'
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
