# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two robots, each with its namespace and its frames; an example to copy. docs/launch.md."""

from functools import partial
from pathlib import Path

from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution

from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.actions import declared, launch_description

PLACES = {'left': (0.0, 0.5, 0.0), 'right': (0.0, -0.5, 0.0)}
"""Where the simulated robots stand: x, y, z of the root link in the frame 'world' [m]."""


def generate_launch_description():
    """Give a robot here what holds for it alone: robot('left', params_file='left.yaml')."""
    together = partial(processes.side_by_side, places=PLACES)
    return LaunchDescription(
        [
            declared(arguments.SIMULATED),
            robot('left'),
            robot('right'),
            # Last: what it declares is not for the launch files of the robots.
            launch_description(arguments.SIDE_BY_SIDE, together),
        ]
    )


def robot(name, **arguments):
    """One robot in namespace NAME whose frames are called NAME/..."""
    names = {
        'namespace': PathJoinSubstitution([LaunchConfiguration('namespace', default=''), name]),
        'frame_prefix': [LaunchConfiguration('frame_prefix', default=''), f'{name}/'],
        'rviz': 'false',
    }
    simulated = LaunchConfiguration('simulated')
    # Without the group, what is given to one robot would hold for the next one too.
    return GroupAction(
        [
            include('demo.launch.py', names | arguments, IfCondition(simulated)),
            include('dynamics.launch.py', names | arguments, UnlessCondition(simulated)),
        ]
    )


def include(file, arguments, condition):
    """A launch file of this folder."""
    path = str(Path(__file__).with_name(file))
    return IncludeLaunchDescription(path, launch_arguments=arguments.items(), condition=condition)
