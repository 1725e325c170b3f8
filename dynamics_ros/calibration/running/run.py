# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subcommand ``calibrate_robot run``: moves a robot, records it and identifies it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from dynamics_ros.calibration import command
from dynamics_ros.calibration.outputs import check_outputs
from dynamics_ros.calibration.plan import read_trajectory, without_shapes
from dynamics_ros.calibration.recorded import add_robot_options
from dynamics_ros.calibration.tables import write_table
from dynamics_ros.command_line import finite
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.identification.excitation.way import Clearance, Motion, check_motion, straight_way
from dynamics_ros.model.collision_geometry import read_collision_geometry
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.robot import Robot

from .mover import Mover

START_TOLERANCE = 0.05
"""Maximum distance of a joint from where it was commanded [rad], times its ``motion_scales``."""

DEFAULT_ACTION = '/joint_trajectory_controller/follow_joint_trajectory'


def run(arguments: list[str]) -> None:
    """Moves, records and identifies the robot.

    Raises:
        DynamicsRosError, OSError: it failed; if the robot moved, says whether it is at rest.
        KeyboardInterrupt: a signal interrupted the motion; the robot is at rest.
    """
    options, rest = _parser().parse_known_args(arguments)
    identification = [str(options.record), '--robot', options.robot, *_robot_args(options), *rest]
    # Checks before anything moves.
    outputs = command.output_files(command.parser().parse_args(identification))
    check_outputs(
        {'--record': options.record, **outputs}, [Path(options.robot), options.trajectory]
    )
    text = read_description_file(options.robot)
    robot = Robot.from_urdf(text, gravity=options.gravity, locked_joints=dict(options.lock))
    planned = _planned(robot, read_trajectory(options.trajectory))
    geometry = read_collision_geometry(text)
    clearance = Clearance(robot, geometry, options.floor) if geometry.triangles else None
    if clearance is None:
        print(without_shapes(options.floor))
    check_motion(robot, planned, 'the trajectory', clearance)
    with Mover(robot, options.action, options.joint_states) as mover:
        here = mover.resting_place()
        near = START_TOLERANCE * motion_scales(robot)
        way = straight_way(robot, here, planned.q[0], options.speed)
        check_motion(robot, way, 'the way to its start', clearance)
        print(_announcement(robot, options.action, way, planned))
        _ask(options.yes)
        if (np.abs(mover.resting_place() - here) > near).any():
            raise DynamicsRosError('the robot has been moved meanwhile: nothing was sent')
        mover.follow(way)
        if (np.abs(mover.resting_place() - planned.q[0]) > near).any():
            raise DynamicsRosError('the robot did not reach the start of the trajectory')
        samples = mover.follow(planned)
        mover.resting_place()
    write_table(options.record, samples)
    print(f'{options.record}: {len(samples)} samples; the robot rests')
    command.calibrate(identification)


def _robot_args(options: argparse.Namespace) -> list[str]:
    """Returns robot options to pass on to the identification."""
    arguments = ['--gravity', *map(str, options.gravity)]
    if options.lock:
        arguments += ['--lock', *(f'{name}={value}' for name, value in options.lock)]
    return arguments


def _planned(robot: Robot, motion: Motion) -> Motion:
    if set(motion.joint_names) != set(robot.joint_names):
        raise InvalidArgumentError(
            'the trajectory',
            f'is of {", ".join(motion.joint_names)}',
            f'{", ".join(robot.joint_names)}; lock other joints with --lock',
        )
    if np.abs(motion.v[[0, -1]]).max() > 1e-3:
        raise InvalidArgumentError(
            'the trajectory', 'does not begin and end at rest', 'one that does'
        )
    return motion.of(robot.joint_names)


def _announcement(robot: Robot, action: str, way: Motion, planned: Motion) -> str:
    rows = [
        f'  {name:24} {here:8.3f} -> {start:8.3f}, then {low:.3f} to {high:.3f}, at most {v:.3f}/s'
        for name, here, start, low, high, v in zip(
            robot.joint_names,
            way.q[0],
            planned.q[0],
            planned.q.min(axis=0),
            planned.q.max(axis=0),
            np.abs(planned.v).max(axis=0),
            strict=True,
        )
    ]
    return '\n'.join(
        [
            f'{action} moves the robot for {way.duration:.1f} s to the start, at most '
            f'{np.abs(way.v).max():.2f}/s, then {planned.duration:.1f} s through the trajectory:',
            *rows,
            'What stands around the robot is not known here. Keep a hand on the emergency stop.',
        ]
    )


def _ask(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise DynamicsRosError('no terminal to confirm that the robot may move: --yes says so')
    if input('Move the robot? [y/N] ').strip().lower() not in ('y', 'yes'):
        raise DynamicsRosError('nothing was sent')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f'{command.NAME} run',
        description='Moves a robot along a planned trajectory, records it, and identifies it. '
        f'All other options are those of {command.NAME}.',
    )
    add_robot_options(parser)
    parser.add_argument(
        '--trajectory',
        type=Path,
        required=True,
        metavar='YAML',
        help=f'trajectory written by {command.NAME} plan',
    )
    parser.add_argument(
        '--action',
        default=DEFAULT_ACTION,
        help='FollowJointTrajectory action of the controller (default: %(default)s)',
    )
    parser.add_argument(
        '--joint-states',
        default='/joint_states',
        metavar='TOPIC',
        help='topic of the joint states (default: %(default)s)',
    )
    parser.add_argument(
        '--record',
        type=Path,
        default=Path('recording.csv'),
        metavar='CSV',
        help='file for the recorded joint states (default: %(default)s)',
    )
    parser.add_argument(
        '--speed',
        type=_speed,
        default=0.2,
        help='largest joint speed to the start [rad/s or m/s] (default: %(default)s)',
    )
    parser.add_argument(
        '--floor',
        type=finite,
        metavar='HEIGHT',
        help='least height of links in the root frame [m] (default: not checked)',
    )
    parser.add_argument('--yes', action='store_true', help='move without confirmation')
    return parser


def _speed(text: str) -> float:
    speed = float(text)
    if not 0.0 < speed <= 1.0:
        raise argparse.ArgumentTypeError(f'{text} is not between 0 and 1 rad/s or m/s')
    return speed
