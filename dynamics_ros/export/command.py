# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""export_kernels: writes kernels of a robot as C code, or as a ros2_control package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dynamics_ros.command_line import acceleration
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.model.build import ROOT_JOINTS
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.robot import Robot

from .files import export_kernels, usages
from .packages import export_ros2_control


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files and print their paths; 2 and the reason on standard error if that fails."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.list:
            # The reader of the pipe, such as head, may have closed it.
            with suppress(BrokenPipeError):
                _print_kernels(_robot(options) if options.robot else None)
                sys.stdout.flush()
            return 0
        for path in _write(options, parser):
            print(path)
    except DynamicsRosError as error:
        print(f'export_kernels: {error}', file=sys.stderr)
        return 2
    return 0


def _write(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Sequence[Path]:
    package = options.ros2_control
    for name in ('robot', 'output') if package else ('robot', 'kernels', 'output'):
        if getattr(options, name) is None:
            parser.error(f'--{name} is missing; --list prints what there is')
    if package is None:
        if options.tool is not None:
            parser.error('--tool requires --ros2-control')
        kernels = [name for name in options.kernels.split(',') if name]
        return export_kernels(_robot(options), kernels, options.output, options.prefix)
    for name in ('kernels', 'prefix'):
        if getattr(options, name):
            parser.error(f'--{name} and --ros2-control: a package has its own kernels and names')
    text = read_description_file(options.robot)
    return export_ros2_control(_robot(options), text, package, options.output, options.tool)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='export_kernels', description=__doc__)
    parser.add_argument(
        '--robot', metavar='FILE', help='URDF, MJCF or SDF file, or xacro file without arguments'
    )
    parser.add_argument('--kernels', metavar='NAMES', help='comma-separated names; see --list')
    parser.add_argument('--output', metavar='FOLDER', help='folder for the files')
    parser.add_argument('--prefix', help='prefix of all names in C (default: name of the robot)')
    parser.add_argument(
        '--ros2-control',
        metavar='NAME',
        help='instead write the package NAME with controllers and plugins for ros2_control',
    )
    parser.add_argument(
        '--tool',
        metavar='FRAME',
        help='tool frame of that package (default: the end of the longest chain)',
    )
    parser.add_argument(
        '--root-joint',
        choices=ROOT_JOINTS,
        help='joint between world and root link (default: as the description says, or fixed)',
    )
    parser.add_argument(
        '--gravity', nargs=3, type=acceleration, metavar=('X', 'Y', 'Z'),
        help='gravity in the root frame [m/s^2] (default: as the description says, or 0 0 -9.81)',
    )  # fmt: skip
    parser.add_argument(
        '--lock', action='append', default=[], type=_locked, metavar='JOINT=VALUE',
        help='fix a joint at a position [rad or m]; repeatable',
    )  # fmt: skip
    parser.add_argument(
        '--list', action='store_true', help='print all kernels, and with --robot its frames'
    )
    return parser


def _locked(text: str) -> tuple[str, float]:
    joint, equals, value = text.rpartition('=')
    try:
        if joint and equals:
            return joint, float(value)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f'{text!r} given, JOINT=VALUE expected')


def _robot(options: argparse.Namespace) -> Robot:
    return Robot(options.robot, options.root_joint, options.gravity, dict(options.lock))


def _print_kernels(robot: Robot | None) -> None:
    kernels = usages()
    width = max(map(len, kernels))
    for usage, summary in kernels.items():
        print(f'{usage:{width}}  {summary}')
    if robot is not None:
        print('\nframes: ' + ' '.join(robot.frame_names))
