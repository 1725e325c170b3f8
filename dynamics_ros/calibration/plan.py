# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subcommand ``calibrate_robot plan``: plans an exciting trajectory for identification."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dynamics_ros.command_line import finite
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.files import write_files
from dynamics_ros.identification.excitation.clearance import Clearance
from dynamics_ros.identification.excitation.fourier import Excitation, plan_excitation
from dynamics_ros.model.collision_geometry import by_reason, read_collision_geometry
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.robot import Robot
from dynamics_ros.ros_yaml import yaml_text

from .outputs import check_outputs
from .recorded import add_robot_options

DURATIONS = 1.0, 600.0
"""Shortest and longest motion [s]."""


def plan(arguments: list[str]) -> None:
    """Plans and writes the trajectory, and prints a summary.

    Raises:
        DynamicsRosError: the robot is not valid, or no motion was found.
    """
    parser = argparse.ArgumentParser(
        prog='calibrate_robot plan',
        description='Plans an exciting trajectory for an identification, within the limits.',
    )
    add_robot_options(parser)
    parser.add_argument(
        '--output',
        type=Path,
        required=True,
        metavar='TRAJECTORY',
        help='name of the .yaml file',
    )
    parser.add_argument(
        '--duration', type=float, default=20.0, help='duration [s], 1 to 600 (default: %(default)s)'
    )
    parser.add_argument(
        '--floor',
        type=finite,
        metavar='HEIGHT',
        help='least height of links in the root frame [m] (default: not checked)',
    )
    options = parser.parse_args(arguments)
    if options.output.suffix != '.yaml':
        raise InvalidArgumentError('--output', str(options.output), 'a name in .yaml')
    low, high = DURATIONS
    if not low <= options.duration <= high:
        raise InvalidArgumentError('--duration', f'{options.duration:g} s', f'{low:g} to {high:g}')
    check_outputs({'--output': options.output}, [Path(options.robot)])
    text = read_description_file(options.robot)
    robot = Robot.from_urdf(text, gravity=options.gravity, locked_joints=dict(options.lock))
    if not robot.nv:
        raise InvalidArgumentError('robot', 'no joint of it moves', 'a joint that is not locked')
    geometry = read_collision_geometry(text)
    excitation = plan_excitation(
        robot,
        duration=options.duration,
        clearance=Clearance(robot, geometry, options.floor) if geometry.triangles else None,
    )
    lines = [f'without collision shapes: {problem}' for problem in by_reason(geometry.problems)]
    if not geometry.triangles:
        below = '' if options.floor is None else ' and go below the floor: --floor has no effect'
        lines.append(f'the description has no shapes for collision: links may touch{below}')
    apart = (
        f', links at least {excitation.clearance:.3f} m apart'
        if np.isfinite(excitation.clearance)
        else ''
    )
    lines.append(
        f'{options.output}: {excitation.time[-1]:g} s, condition number of the base '
        f'parameters {excitation.condition:.1f}{apart}'
    )
    start = ', '.join(f'{n} {x:.3f}' for n, x in zip(robot.joint_names, excitation.q[0]))
    lines.append(f'move there first: {start}')
    write_files({options.output: trajectory_yaml(robot, excitation)})
    print('\n'.join(lines))


def trajectory_yaml(robot: Robot, excitation: Excitation) -> str:
    """Returns a trajectory_msgs/msg/JointTrajectory as YAML, as accepted by ``ros2 topic pub``."""
    points = []
    rows = zip(excitation.time, excitation.q, excitation.v, excitation.a, strict=True)
    for time, q, v, a in rows:
        nanoseconds = round(time * 1e9)
        values = {'positions': q, 'velocities': v, 'accelerations': a}
        point = {name: [round(float(x), 9) for x in row] for name, row in values.items()}
        seconds = {'sec': nanoseconds // 10**9, 'nanosec': nanoseconds % 10**9}
        points.append({**point, 'time_from_start': seconds})
    content = {'joint_names': list(robot.joint_names), 'points': points}
    return yaml_text(content, default_flow_style=None)
