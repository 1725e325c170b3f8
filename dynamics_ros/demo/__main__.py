# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Command line of ``scripts/demo``: ``python -m dynamics_ros.demo``.

The nodes run on a simulated robot, which is pushed in rounds. On an overloaded machine messages are
lost, and an observer that missed joint states needs time to settle again. A wrong estimate is
therefore a failure only if no message of the round was missed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from dynamics_ros.errors import DynamicsRosError

from .processes import Children, DemonstrationError, own_domain
from .robots import ANYMAL, Arm, Demonstrated, Quadruped, read_description
from .screen import Screen

if TYPE_CHECKING:
    from .client import Client

MIN_DURATION = 5.0
"""Least duration [s]."""

TOLERANCE = 5.0
"""Tolerance of the estimate in steady state [%]."""

_ROUND = 12.0  # s, duration of a round, if there are several
_QUIET = 0.1  # share of a round before the push
_PUSH = 0.35  # share of a round that the push lasts
_MAX_PUSH_DURATION = 4.0  # s
_PAUSE = 0.3  # s, after the push
_SETTLED = 0.4  # share of the push after which it is in steady state
_EDGE = 50_000_000  # ns excluded at the end of the push

GREEN, RED, YELLOW, PLAIN = (f'\033[{n}m' for n in (32, 31, 33, 0))
"""Escape sequences of a terminal."""


class Demonstration:
    """Pushes a simulated robot in rounds, and compares the estimate with the truth."""

    def __init__(self, shown: Demonstrated, began: float) -> None:
        self._shown, self._began = shown, began
        self._rounds = 0
        self._slow = False
        self._result = ''
        self._failures: list[str] = []
        if shown.robot.massless_bodies:
            self._failures.append(shown.robot.model.doubt)

    def run(self, client: Client, duration: float) -> int:
        """Run rounds for a duration [s], infinite: until interrupted; return the exit code.

        Raises:
            DemonstrationError: a process has ended or sends no messages.
            KeyboardInterrupt: before the first round was complete.
        """
        rounds = 0 if math.isinf(duration) else max(1, round(duration / _ROUND))
        lasting = duration / rounds if rounds else _ROUND
        self._shown.subscribe(client)
        client.wait_for(0)
        try:
            with Screen(self._shown.view) as screen:
                client.show = screen.update
                took = time.monotonic() - self._began
                screen.event(f'everything runs, {took:.1f} s after the start')
                end = time.monotonic() + duration - 0.5 * lasting
                client.watch(self._shown.settling)
                while not self._rounds or time.monotonic() < end:
                    self._round(client, screen, lasting)
        except KeyboardInterrupt:
            if not self._rounds:
                raise
        return self._end()

    def _round(self, client: Client, screen: Screen, duration: float) -> None:
        shown, end = self._shown, time.monotonic() + duration
        client.watch(_QUIET * duration)
        seconds = min(_PUSH * duration, _MAX_PUSH_DURATION)
        began = client.newest
        force = f'{np.linalg.norm(shown.force):.2f} N, {seconds:.1f} s'
        screen.event(f'push {self._rounds + 1} at {shown.frame}: {force}')
        client.push(shown.frame, shown.force, seconds)
        # By stamps: a slow machine simulates and estimates later.
        first = client.newest + round(_SETTLED * seconds * 1e9)
        last = began + round(seconds * 1e9)
        client.watch(seconds + _PAUSE)
        client.wait_for(last)
        result = shown.compare(began, first, last - _EDGE)
        self._slow = False
        if result is None:
            self._result = 'no estimate'
        else:
            self._result = (
                f'estimated {result.estimated:.2f} N of {result.true:.2f} N, {result.compared} off '
                f'by {result.error:.2f} %; {result.contact}'
            )
        screen.event(self._result)
        if result is None or not (result.error < TOLERANCE and result.detected):
            self._slow = client.misses_messages(began, last)
            if self._slow:
                screen.event('this machine is too slow: messages were missed')
            else:
                self._failures.append(f'push {self._rounds + 1}: {self._result}')
        self._rounds += 1
        client.watch(end - time.monotonic())

    def _end(self) -> int:
        """Print the verdict; return the exit code."""
        color, verdict = GREEN, 'all of it worked'
        if self._failures:
            color, verdict = RED, 'failed'
        elif self._slow:
            color, verdict = YELLOW, 'nothing was wrong, the machine was too slow'
        if sys.stdout.isatty():
            verdict = f'{color}{verdict}{PLAIN}'
        robot = self._shown.robot
        print(f'\n{robot.name}, {len(robot.joint_names)} joints: {verdict}\n  {self._result}')
        for failure in self._failures:
            print(f'demo: {failure}', file=sys.stderr, flush=True)
        return 1 if self._failures else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration, and return the exit code: 0 if there was no failure."""
    began = time.monotonic()
    options = _parse(arguments)
    try:
        urdf = read_description(options.robot)
        shown = Quadruped(urdf) if options.robot == ANYMAL else Arm(urdf)
        with own_domain() as domain_id:
            os.environ['ROS_DOMAIN_ID'] = str(domain_id)
            os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
            with Children() as running:
                simulator = {'robot_description': urdf, **shown.simulator}
                running.start('robot_simulator', {'robot_simulator': simulator})
                running.start('dynamics_ros', shown.nodes)
                if options.viewer:
                    running.start('dynamics_ros_viewer', {'dynamics_ros_viewer': {'open': True}})
                    print('the viewer opens http://localhost:8080', flush=True)
                from .client import spun  # late, because rclpy reads ROS_DOMAIN_ID

                with spun(running) as client:
                    return Demonstration(shown, began).run(client, options.duration)
    except (DynamicsRosError, DemonstrationError) as error:
        failure = str(error)
    except KeyboardInterrupt:
        failure = 'interrupted before everything was shown'
    print(f'demo: {failure}', file=sys.stderr, flush=True)
    return 1


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='scripts/demo',
        description='Runs the nodes with a simulated robot, and compares the estimate of a push '
        'with the push. The exit code is 0 unless the estimate is wrong although the machine was '
        'fast enough.',
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
        help=f'URDF or xacro file, or {ANYMAL}, a quadruped simulated in MuJoCo (default: the '
        'seven-joint arm)',
    )
    parser.add_argument(
        '--viewer',
        action='store_true',
        help='show the robot on a local web page; needs the Python package viser',
    )
    return parser.parse_args(arguments)


def _duration(text: str) -> float:
    value = float(text)
    if not MIN_DURATION <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text} is not at least {MIN_DURATION:g}')
    return value


if __name__ == '__main__':
    sys.exit(main())
