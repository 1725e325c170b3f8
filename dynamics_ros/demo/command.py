# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Command line of ``scripts/demo``."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from dynamics_ros.errors import DynamicsRosError

from .known_robots import LEGGED, read_description
from .processes import Children, DemonstrationError, own_domain

if TYPE_CHECKING:
    from .demonstration import Demonstration

MIN_DURATION = 5.0
"""Least duration of a round [s]."""


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration, and return the exit code: 0 if there was no failure."""
    began = time.monotonic()
    options = _parse(arguments)
    try:
        urdf = read_description(options.robot)
        with own_domain() as domain_id:
            os.environ['ROS_DOMAIN_ID'] = str(domain_id)
            os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
            with Children() as running:
                return _demonstrate(urdf, running, options, began)
    except (DynamicsRosError, DemonstrationError) as error:
        failure = str(error)
    except KeyboardInterrupt:
        failure = 'interrupted before everything was shown'
    return _end({'robot': options.robot, 'failures': [failure]}, options)


def _demonstrate(urdf: str, running: Children, options: argparse.Namespace, began: float) -> int:
    if options.viewer:
        running.start('dynamics_ros_viewer', {'dynamics_ros_viewer': {'open': True}})
        print('the viewer opens http://localhost:8080', flush=True)
    course: Demonstration  # imported late, because these modules read ROS_DOMAIN_ID
    if options.robot in LEGGED:
        from .legged import LeggedDemonstration

        course = LeggedDemonstration(LEGGED[options.robot], urdf, running, began)
    else:
        from .arm import ArmDemonstration

        course = ArmDemonstration(urdf, running, began)
    try:
        course.run(options.duration)
    except KeyboardInterrupt:
        if not course.complete:
            raise
    except DemonstrationError as error:
        course.failures.append(str(error))
    print(course.summary())
    return _end({**course.report, 'failures': course.failures}, options)


def _end(report: dict[str, Any], options: argparse.Namespace) -> int:
    """Print the failures of a report, and the report if it is wanted; return the exit code."""
    for failure in report['failures']:
        print(f'demo: {failure}', file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(report), flush=True)
    return 1 if report['failures'] else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='scripts/demo',
        description='Runs the nodes with a simulated robot and checks their outputs. The exit code '
        'is 0 unless an output is wrong; figures that the machine is too slow for are reported.',
    )
    add = parser.add_argument
    least = f'duration [s], at least {MIN_DURATION:g} (default: until Ctrl-C)'
    add('--duration', type=float, default=math.inf, metavar='S', help=least)
    robots = 'URDF or xacro file, or the name of a legged robot, simulated in MuJoCo: '
    robots += f'{", ".join(LEGGED)} (default: the seven-joint arm)'
    add('--robot', metavar='FILE', help=robots)
    page = 'show the robot on a local web page; needs the Python package viser'
    add('--viewer', action='store_true', help=page)
    add('--json', action='store_true', help='print one JSON object as the last line')
    options = parser.parse_args(arguments)
    if not options.duration >= MIN_DURATION:  # nor a number
        parser.error(f'--duration: {options.duration:g} s is not at least {MIN_DURATION:g} s')
    return options
