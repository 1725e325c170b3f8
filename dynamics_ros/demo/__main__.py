# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Command line of ``scripts/demo``: ``python -m dynamics_ros.demo``."""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import sys
import threading
import time
import webbrowser
from contextlib import closing

from dynamics_ros.errors import DynamicsRosError

from .description import read_description
from .domain import DomainError, choose_domain
from .known_robots import LEGGED, legged_description
from .processes import ChildError, Children

MIN_DURATION = 5.0
"""Least duration of a round [s]."""

VIEWER_START = 2.0
"""Time from the start of the viewer to opening the page in a browser [s]."""


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration, and return the exit code: 0 if there was no failure."""
    began = time.monotonic()
    options = _parse(arguments)
    try:
        legged = options.robot in LEGGED
        urdf = legged_description(options.robot) if legged else read_description(options.robot)
        with closing(choose_domain()) as domain:
            os.environ['ROS_DOMAIN_ID'] = str(domain.number)
            os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
            with Children() as running:
                if legged:
                    return _demonstrate_legged(running, options)
                running.start('robot_simulator', {'robot_simulator': {'robot_description': urdf}})
                if options.viewer:
                    _show(running)
                return _demonstrate(urdf, running, options, domain.number, began)
    except (DynamicsRosError, ChildError, DomainError) as error:
        return _fail(str(error), options)
    except KeyboardInterrupt:
        return _fail('interrupted before everything was shown', options)


def _demonstrate(
    urdf: str, running: Children, options: argparse.Namespace, domain_id: int, began: float
) -> int:
    # The import takes as long as the start of the other processes, so it runs in parallel with it.
    from .subject import Subject

    subject = Subject.of(urdf)
    running.start('dynamics_ros', subject.node_parameters())
    from .demonstration import Demonstration
    from .display import summary

    demonstration = Demonstration(subject, running, domain_id, began)
    try:
        demonstration.run(options.duration)
    except KeyboardInterrupt:
        if not demonstration.complete:
            raise
    except ChildError as error:
        demonstration.report.require(False, str(error))
    report = demonstration.report
    print(summary(report))
    for failure in report.failures:
        print(f'demo: {failure}', file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(report.as_json()), flush=True)
    return 1 if report.failures else 0


def _demonstrate_legged(running: Children, options: argparse.Namespace) -> int:
    from .legged import demonstrate_legged

    if options.viewer:
        _show(running)
    report = demonstrate_legged(options.robot, running, options.duration)
    print(report.summary())
    for failure in report.failures:
        print(f'demo: {failure}', file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(report.as_json()), flush=True)
    return 1 if report.failures else 0


def _show(running: Children) -> None:
    """Start the viewer, and open its page in a browser if there is one."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    running.start('dynamics_ros_viewer', {'dynamics_ros_viewer': {'port': port}})
    address = f'http://localhost:{port}'
    print(f'the page is at {address}', flush=True)
    opening = threading.Timer(VIEWER_START, webbrowser.open, (address,))
    opening.daemon = True
    opening.start()


def _fail(failure: str, options: argparse.Namespace) -> int:
    print(f'demo: {failure}', file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps({'robot': options.robot, 'failures': [failure]}), flush=True)
    return 1


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='scripts/demo',
        description='Runs the nodes with a simulated robot and checks their outputs. The exit code '
        'is 0 unless an output is wrong; figures that the machine is too slow for are reported.',
    )
    parser.add_argument(
        '--duration',
        type=_duration,
        default=math.inf,
        metavar='S',
        help=f'duration [s], at least {MIN_DURATION:g} (default: until Ctrl-C)',
    )
    parser.add_argument(
        '--robot',
        metavar='FILE',
        help='URDF or xacro file, or the name of a legged robot, simulated in MuJoCo: '
        + ', '.join(LEGGED)
        + ' (default: the seven-joint arm)',
    )
    parser.add_argument(
        '--viewer',
        action='store_true',
        help='show the robot on a local web page; needs the Python package viser',
    )
    parser.add_argument(
        '--json', action='store_true', help='print one JSON object as the last line'
    )
    return parser.parse_args(arguments)


def _duration(text: str) -> float:
    value = float(text)
    if not MIN_DURATION <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text} is not at least {MIN_DURATION:g}')
    return value


if __name__ == '__main__':
    sys.exit(main())
