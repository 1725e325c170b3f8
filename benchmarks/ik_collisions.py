# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `ik`, part `collisions`: solutions that keep apart from three obstacles and from the arm.

Targets are poses of uniform samples within the limits that are not in collision, so that each has a
solution. Obstacles stand at fixed places relative to the reach of each arm. An answer counts if its
pose is the target and coal finds no contact; failures count in the times. A servo follows random
twists for 10 s each among the same obstacles.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.descriptions import serial_chain
from benchmarks.records import Goal, Record
from benchmarks.robots import ARMS, Arm, urdf_path
from dynamics_ros import Robot
from dynamics_ros.collision import Collisions, Obstacle
from dynamics_ros.errors import ModelError
from dynamics_ros.inverse_kinematics.differential import CartesianServo

Array = NDArray[np.float64]

TARGETS = 300
TIMEOUT = 0.05
TOLERANCE = 2e-5
"""Of a pose matrix: the tolerances of the search, 1e-5 m and 1e-5 rad, and rounding."""

SUCCESS = Goal(99.0, of='value', at_least=True)
MEDIAN = Goal(1000.0, of='value')
CHECK = Goal(100.0, of='value')
APART = Goal(0.0, of='value', at_least=True)
STEP = Goal(150.0, of='value')

MARGIN, DURATION, PERIOD = 0.02, 10.0, 0.005
"""Margin [m], duration and period [s] of the motions of a servo."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the selected arms."""
    for arm in ARMS:
        if options.robot in arm.name:
            yield from _records(arm, 30 if options.quick else TARGETS)


def _records(arm: Arm, count: int) -> Iterator[Record]:
    path = urdf_path(arm.file)
    robot = Robot.from_urdf(serial_chain(path, arm.base, arm.tip))
    try:
        alone = Collisions(robot, path)
    except ModelError as error:
        print(f'ik collisions: {arm.name} is skipped: {error}')
        return
    rng = np.random.default_rng(0)
    places = robot.forward_kinematics(
        np.array([robot.random_configuration(rng) for _ in range(count)]), arm.tip
    )
    reach = float(np.linalg.norm(places[:, :3, 3], axis=1).max())
    scene = alone.with_obstacles(_obstacles(reach))
    free: list[Array] = []
    while len(free) < count:
        q = robot.random_configuration(rng)
        if not scene.in_collision(q):
            free.append(q)
    targets = robot.forward_kinematics(np.array(free), arm.tip)
    robot.kernel('forward_kinematics', arm.tip).wait()
    for target in targets[:5]:  # compiles
        robot.inverse_kinematics(target, arm.tip, collisions=scene, timeout=1.0)
        robot.inverse_kinematics(target, arm.tip)
    avoiding, blind = [], 0
    checks = []
    solved = 0
    for target in targets:
        began = time.perf_counter()
        answer = robot.inverse_kinematics(target, arm.tip, collisions=scene, timeout=TIMEOUT)
        avoiding.append(time.perf_counter() - began)
        began = time.perf_counter()
        contact = scene.in_collision(answer.q)
        checks.append(time.perf_counter() - began)
        error = np.abs(robot.forward_kinematics(answer.q, arm.tip) - target).max()
        solved += bool(answer.success and not contact and error <= TOLERANCE)
        blind += not scene.in_collision(robot.inverse_kinematics(target, arm.tip).q)
    share = 100.0 / count
    yield Record('ik', 'collisions: pairs', arm.name, len(scene.pairs), '')
    yield Record('ik', 'collisions: solved', arm.name, share * solved, '%', goal=SUCCESS)
    yield Record('ik', 'collisions: free without the option', arm.name, share * blind, '%')
    median, p99 = np.percentile(avoiding, [50.0, 99.0]) * 1e6
    yield Record('ik', 'collisions: median', arm.name, float(median), 'us', goal=MEDIAN)
    yield Record('ik', 'collisions: p99', arm.name, float(p99), 'us')
    check = 1e6 * float(np.median(checks))
    yield Record('ik', 'collisions: one check', arm.name, check, 'us', goal=CHECK)
    yield from _motions(arm, robot, path, _obstacles(reach), count // 3)


def _motions(
    arm: Arm, robot: Robot, path: Path, obstacles: dict[str, Obstacle], count: int
) -> Iterator[Record]:
    """Random twists of a servo, each for 10 s, and coal's smallest distance on their way."""
    kept = Collisions(robot, path, obstacles=obstacles, margin=MARGIN)
    judge = kept.with_obstacles(obstacles)
    servo = CartesianServo(robot, arm.tip, collisions=kept)
    rng = np.random.default_rng(1)
    times, least, limited = [], np.inf, 0
    for _ in range(count):
        q, twist = robot.random_configuration(rng), rng.normal(size=6)
        while kept.in_collision(q):
            q = robot.random_configuration(rng)
        servo.reset()
        for _ in range(round(DURATION / PERIOD)):
            began = time.perf_counter()
            step = servo.follow_twist(q, twist, PERIOD)
            times.append(time.perf_counter() - began)
            q = robot.integrate(q, PERIOD * step.v)
            least = min(least, judge.distances(q, MARGIN).smallest)
        limited += bool(step.kept_apart)
    yield Record('ik', 'collisions: ended by a pair', arm.name, 100.0 * limited / count, '%')
    # inf where no pair came within the margin.
    smallest = 1e3 * min(least, MARGIN)
    yield Record('ik', 'collisions: least on twists', arm.name, smallest, 'mm', goal=APART)
    median = 1e6 * float(np.median(times))
    yield Record('ik', 'collisions: servo step', arm.name, median, 'us', goal=STEP)


def _obstacles(reach: float) -> dict[str, Obstacle]:
    """A ball, a box and a post around an arm of a given reach [m]."""
    places = {'ball': (0.5, 0.0, 0.3), 'box': (-0.1, 0.5, 0.1), 'post': (-0.4, -0.4, 0.5)}
    poses = {name: (np.multiply(reach, place), (0, 0, 0, 1)) for name, place in places.items()}
    return {
        'ball': Obstacle('sphere', [0.1 * reach], poses['ball']),
        'box': Obstacle('box', [0.3 * reach, 0.3 * reach, 0.1 * reach], poses['box']),
        'post': Obstacle('cylinder', [0.06 * reach, reach], poses['post']),
    }
