# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subcommand ``calibrate_robot plan``: plans an exciting trajectory for identification."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from yaml import YAMLError

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.files import write_files
from dynamics_ros.identification.excitation.clearance import Clearance
from dynamics_ros.identification.excitation.fourier import Excitation, plan_excitation
from dynamics_ros.identification.excitation.way import Motion
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.robot import Robot
from dynamics_ros.ros_yaml import read_yaml, yaml_text

from .outputs import check_outputs
from .plan_page import plan_page

MAX_DURATION = 3600.0
"""s of a trajectory that is read."""

DURATIONS = 1.0, 600.0
"""Shortest and longest motion [s]."""


def plan(options: argparse.Namespace, locked: dict[str, float]) -> str:
    """Plans and writes the trajectory; returns a summary as text.

    Args:
        options: command line options.
        locked: positions of joints that do not move.

    Raises:
        DynamicsRosError: the robot is not valid, or no motion was found.
    """
    if options.output.suffix not in ('.yaml', '.csv'):
        raise InvalidArgumentError('--output', str(options.output), 'a name in .yaml or .csv')
    low, high = DURATIONS
    if not low <= options.duration <= high:
        raise InvalidArgumentError('--duration', f'{options.duration:g} s', f'{low:g} to {high:g}')
    for name in ('seed', 'iterations'):
        if getattr(options, name) < 0:
            raise InvalidArgumentError(f'--{name}', str(getattr(options, name)), '0 or more')
    stem = options.output.with_suffix('')
    files = [stem.with_suffix(suffix) for suffix in ('.yaml', '.csv')]
    outputs: dict[str, Path | None] = {f'--output {file.name}': file for file in files}
    check_outputs(outputs | {'--report': options.report}, [Path(options.robot)])
    text = read_description_file(options.robot)
    robot = Robot.from_urdf(text, gravity=options.gravity, locked_joints=locked)
    if not robot.nv:
        raise InvalidArgumentError('robot', 'no joint of it moves', 'a joint that is not locked')
    geometry = read_collision_geometry(text)
    excitation = plan_excitation(
        robot,
        duration=options.duration,
        clearance=Clearance(robot, geometry, options.floor) if geometry.triangles else None,
        seed=options.seed,
        iterations=options.iterations,
    )
    lines = [f'without collision shapes: {problem}' for problem in geometry.problems]
    if not geometry.triangles:
        lines.append(without_shapes(options.floor))
    apart = (
        f', links at least {excitation.clearance:.3f} m apart'
        if np.isfinite(excitation.clearance)
        else ''
    )
    start = ', '.join(f'{n} {x:.3f}' for n, x in zip(robot.joint_names, excitation.q[0]))
    texts = [
        f'{stem}.yaml, {stem}.csv: {excitation.time[-1]:g} s, condition number of the base '
        f'parameters {excitation.condition:.1f}{apart}',
        f'move there first: {start}',
    ]
    contents: dict[Path, str | bytes] = {
        files[0]: trajectory_yaml(robot, excitation),
        files[1]: trajectory_csv(robot, excitation),
    }
    if options.report is not None:
        contents[options.report] = plan_page(robot, excitation, [*lines, *texts])
    write_files(contents)
    lines += [
        *texts,
        'expected deviations, for efforts known to 2 % of their limits:',
    ]
    lines += [
        f'  {value:10.4g} +- {deviation:8.2g}  {name}'
        for name, value, deviation in zip(
            excitation.names, excitation.values, excitation.deviations, strict=True
        )
    ]
    return '\n'.join(lines)


def without_shapes(floor: float | None) -> str:
    """A sentence on what is not checked of a robot whose description has no collision shapes."""
    below = '' if floor is None else ' and go below the floor: --floor has no effect'
    return f'the description has no shapes for collision: links may touch{below}'


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


def read_trajectory(path: Path) -> Motion:
    """Reads a trajectory written by ``plan``, or another JointTrajectory in YAML.

    Raises:
        InvalidArgumentError: the file contains no valid trajectory.
    """
    try:
        content = read_yaml(path)
        names, points = tuple(content['joint_names']), content['points']
        stamps = [point['time_from_start'] for point in points]
        time = np.array([float(one['sec']) + 1e-9 * float(one['nanosec']) for one in stamps])
        columns = [
            np.array([point[word] for point in points], dtype=np.float64)
            for word in ('positions', 'velocities', 'accelerations')
        ]
    except (OSError, YAMLError, TypeError, KeyError, ValueError) as error:
        problem = f'{path}: {type(error).__name__}: {error}'
        raise InvalidArgumentError(
            'trajectory', problem, 'a file of calibrate_robot plan'
        ) from error
    if not all(isinstance(name, str) for name in names):
        problem = f'{path}: a name in joint_names is not a text for YAML: {names}'
        raise InvalidArgumentError('trajectory', problem, 'the names quoted, as in "y"')
    whole = all(column.shape == (len(time), len(names)) for column in columns)
    forward = (
        len(time) > 1
        and time[0] >= 0.0
        and time[-1] <= MAX_DURATION
        and bool((np.diff(time) > 0.0).all())
    )
    if not whole or not forward or len(set(names)) < len(names):
        problem = f'{path}: its points do not match its joints, or its times do not increase'
        raise InvalidArgumentError('trajectory', problem, 'a file of calibrate_robot plan')
    return Motion(names, time, *columns)


def trajectory_csv(robot: Robot, excitation: Excitation) -> str:
    """Returns CSV rows with time, then position, velocity and acceleration of each joint."""
    words = ('position', 'velocity', 'acceleration')
    header = ['time', *(f'{name}.{word}' for word in words for name in robot.joint_names)]
    table = np.column_stack([excitation.time, excitation.q, excitation.v, excitation.a])
    lines = [','.join(f'{x:.9g}' for x in row) for row in table]
    return '\n'.join([','.join(header), *lines]) + '\n'
