# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Creates launch descriptions from arguments and processes; the only module with launch_ros."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch_ros.actions import Node
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

from .arguments import Argument
from .processes import Notice, Process, Step
from .settings import Settings

RESPAWN_DELAY = 2.0
"""Delay before a process is restarted [s]."""


def launch_description(
    arguments: Iterable[Argument], steps: Callable[[Settings], Iterable[Step]]
) -> LaunchDescription:
    """Return the launch description of a launch file.

    Args:
        arguments: its arguments.
        steps: returns the processes to start, from the values of the arguments.
    """
    arguments = tuple(arguments)

    def start(context: LaunchContext) -> list[Node | LogInfo]:
        values = {item.name: context.launch_configurations[item.name] for item in arguments}
        # A launch file that includes this one may set a namespace.
        pushed = context.launch_configurations.get('ros_namespace')
        own = prefix_namespace(pushed, values['namespace'] or None)
        values['namespace'] = make_namespace_absolute(own) or ''
        return [_action(step) for step in steps(Settings(values))]

    return LaunchDescription([*map(declared, arguments), OpaqueFunction(function=start)])


def declared(argument: Argument) -> DeclareLaunchArgument:
    """Return the declaration of an argument."""
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        choices=list(argument.choices) or None,
    )


def _action(step: Step) -> Node | LogInfo:
    return LogInfo(msg=step.text) if isinstance(step, Notice) else _node(step)


def _node(process: Process) -> Node:
    name = process.executable
    return Node(
        package=process.package,
        executable=name,
        namespace=process.namespace or None,
        parameters=process.all_parameter_files(),
        remappings=list(process.remappings),
        arguments=list(process.arguments),
        ros_arguments=['--log-level', process.log_level],
        output='screen',
        respawn=process.respawn,
        respawn_delay=RESPAWN_DELAY,
        on_exit=[Shutdown(reason=f'{name} has ended')] if process.required else None,
    )
