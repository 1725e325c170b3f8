# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""doctor: prints nodes and topic rates of the ROS graph, its problems, and remedies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rclpy.utilities import remove_ros_args

from dynamics_ros.command_line import INTERRUPTED, show
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.model.urdf import parse_urdf
from dynamics_ros.wire.description_topic import published_description

from .checks import findings
from .observer import observe
from .screen import screen

SECONDS = 5.0
"""Observation time [s], long enough for discovery and for statuses at 1 Hz."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Observe the graph and print the report; return 1 if something is wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(prog='doctor', description=__doc__)
    parser.add_argument(
        '--seconds',
        type=_seconds,
        default=SECONDS,
        help='duration of the observation [s] (default: %(default)s)',
    )
    parser.add_argument(
        '--topic',
        metavar='NAME',
        help='compare joint states with the description on a topic, such as /robot_description',
    )
    try:
        own = remove_ros_args(given)
    except Exception as error:  # the class of this error differs between versions of rclpy
        problem, _, _ = str(error).partition(' Error: ')
        print(f'doctor: {problem} Expected --ros-args as ROS documents them', file=sys.stderr)
        return 2
    options = parser.parse_args(own)
    print(f'looking for {options.seconds:g} s ...', file=sys.stderr, flush=True)
    try:
        described = () if options.topic is None else _joints(published_description(options.topic))
        graph = observe(options.seconds, given)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (DynamicsRosError, RuntimeError) as error:
        print(f'doctor: {error}', file=sys.stderr)
        return 2
    graph.described = described
    found = findings(graph)
    show(screen(graph, found))
    return int(bool(found))


def _joints(description: str) -> tuple[str, ...]:
    """Return the joints that joint states have to report."""
    return tuple(
        joint.name
        for joint in parse_urdf(description).joints
        if joint.type in ('revolute', 'continuous', 'prismatic') and joint.mimic is None
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.5 <= seconds <= 600.0:
        raise argparse.ArgumentTypeError(f'{text!r} given, 0.5 to 600 s expected')
    return seconds
