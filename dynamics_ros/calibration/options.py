# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Options that several tasks of calibrate_robot have, and types of options."""

from __future__ import annotations

import argparse

from dynamics_ros.command_line import acceleration, finite
from dynamics_ros.multibody.rigid_body_system import DEFAULT_GRAVITY


def add_robot_options(parser: argparse.ArgumentParser) -> None:
    """Options that all tasks have."""
    parser.add_argument('--robot', required=True, metavar='FILE', help='URDF or xacro file')
    parser.add_argument(
        '--lock',
        type=position,
        nargs='+',
        default=[],
        metavar='NAME=POSITION',
        help='joints that are fixed at positions [rad or m]',
    )
    parser.add_argument(
        '--gravity',
        type=acceleration,
        nargs=3,
        default=DEFAULT_GRAVITY,
        metavar=('X', 'Y', 'Z'),
        help='gravity in the root frame [m/s^2]; for a tilted robot (default: 0 0 -9.81)',
    )


def pair(text: str) -> tuple[str, str]:
    """A name and a value, given as NAME=VALUE.

    Raises:
        ArgumentTypeError: it is something else.
    """
    name, equals, value = text.rpartition('=')
    if not equals or not name:
        raise argparse.ArgumentTypeError(f'{text!r} is not NAME=VALUE')
    return name, value


def position(text: str) -> tuple[str, float]:
    """A name and a position, given as NAME=POSITION.

    Raises:
        ArgumentTypeError: it is something else.
    """
    name, value = pair(text)
    return name, finite(value)


def share(text: str) -> float:
    """A number between 0 and 1.

    Raises:
        ArgumentTypeError: it is something else.
    """
    number = finite(text)
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(f'{text} is not between 0 and 1')
    return number
