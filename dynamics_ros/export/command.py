# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""export_kernels: writes kernels of a URDF as C for a controller."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.model.build import ROOT_JOINTS
from dynamics_ros.model.description_file import read_description_file
from dynamics_ros.multibody.rigid_body_system import DEFAULT_GRAVITY
from dynamics_ros.robot import Robot

from .catalogue import usages
from .files import export_kernels


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files and print their paths; 2 and the reason on standard error if that fails."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.list:
            # Whoever reads may have read enough.
            with suppress(BrokenPipeError):
                _list(_robot(options) if options.robot else None)
                sys.stdout.flush()
            return 0
        for name in ('robot', 'kernels', 'output'):
            if getattr(options, name) is None:
                parser.error(f'--{name} is missing; --list prints what there is')
        kernels = [name for name in options.kernels.split(',') if name]
        for path in export_kernels(
            _robot(options), kernels, options.output, options.prefix, options.casadi
        ):
            print(path)
    except DynamicsRosError as error:
        print(f'export_kernels: {error}', file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='export_kernels', description=__doc__)
    parser.add_argument('--robot', metavar='FILE', help='URDF, or xacro that takes no arguments')
    parser.add_argument('--kernels', metavar='NAMES', help='separated by commas, see --list')
    parser.add_argument('--output', metavar='FOLDER', help='where the files go')
    parser.add_argument('--prefix', help='of all names in C; the name of the robot by default')
    parser.add_argument(
        '--casadi', action='store_true', help='external functions of CasADi too, with Jacobians'
    )
    parser.add_argument('--root-joint', default='fixed', choices=ROOT_JOINTS)
    parser.add_argument(
        '--gravity', nargs=3, type=float, default=DEFAULT_GRAVITY, metavar=('X', 'Y', 'Z'),
        help='in the root frame [m/s^2]',
    )  # fmt: skip
    parser.add_argument(
        '--lock', action='append', default=[], type=_locked, metavar='JOINT=VALUE',
        help='keep a joint at a position [rad or m]; may be given again',
    )  # fmt: skip
    parser.add_argument(
        '--list', action='store_true', help='print all kernels, and of a robot its frames'
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
    text = read_description_file(options.robot)
    return Robot.from_urdf(text, options.root_joint, options.gravity, dict(options.lock))


def _list(robot: Robot | None) -> None:
    listed = usages()
    width = max(map(len, listed))
    for usage, summary in listed.items():
        print(f'{usage:{width}}  {summary}')
    if robot is not None:
        print('\nframes: ' + ' '.join(robot.frame_names))
