# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two robots, each with its namespace and its frames; an example to copy. docs/launch.md."""

from launch.actions import LogInfo
from launch_ros.actions import Node

from dynamics_ros.launching import (
    SWITCH,
    all_nodes,
    argument,
    config,
    demo,
    demo_arguments,
    is_installed,
    launch_description,
    rviz,
)

PLACES = {'left': 0.5, 'right': -0.5}
"""Where the simulated robots stand: y of the root link in the frame 'world' [m]."""

ARGUMENTS = (
    argument(
        'simulated',
        'Simulated robots, as in demo.launch.py. false: nodes for robots whose own bring-up '
        'publishes robot_description and joint_states in the same namespaces. The other arguments '
        'hold for both robots.',
        'true',
        SWITCH,
    ),
    argument('root_link', 'Root link of the simulated robots.', 'base_link'),
    *demo_arguments(),
)


def generate_launch_description():
    """Change `values` of one robot in `robots` where something holds for it alone."""
    return launch_description(ARGUMENTS, robots)


def robots(values):
    """The nodes of both robots, where they stand, and one RViz."""
    simulated = values['simulated'] == 'true'
    window = values | {'rviz_config': values['rviz_config'] or config('two_robots.rviz')}
    window['fixed_frame'] = values['fixed_frame'] or 'world'
    for name, y in PLACES.items():
        prefix = f'{values["frame_prefix"]}{name}/'
        own = values | {
            'namespace': '/'.join(filter(None, (values['namespace'], name))),
            'frame_prefix': prefix,
            'rviz': 'false',
        }
        yield from demo(own) if simulated else all_nodes(own)
        if simulated:
            yield stands_at(y, prefix + values['root_link'], own['namespace'])
    if simulated or values['rviz'] == 'true':
        yield from rviz(window)


def stands_at(y, root_link, namespace):
    """A static transform from 'world' to a root link."""
    if not is_installed('tf2_ros'):
        return LogInfo(msg=f'{root_link} has no place: the package tf2_ros is not installed')
    return Node(
        package='tf2_ros',
        executable='static_transform_publisher',
        namespace=namespace,
        arguments=['--y', str(y), '--frame-id', 'world', '--child-frame-id', root_link],
    )
