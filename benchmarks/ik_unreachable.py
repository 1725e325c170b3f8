# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `ik`, part `unreachable`: targets out of reach, and the distance of the closest approach.

Targets are points in a ball larger than the arm, with random orientations. A target counts as
unreachable if a long search by other formulas, from two thousand starts, finds no configuration
within a millimetre. The solver has to report this within its time, with the least distance.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from benchmarks.descriptions import serial_chain
from benchmarks.records import Goal, Record
from benchmarks.robots import ARMS, urdf_path
from dynamics_ros import Robot
from dynamics_ros.inverse_kinematics import InverseKinematicsResult

Array = NDArray[np.float64]

NAMES = ('ur5', 'panda', 'xarm7')
TARGETS = 100
STARTS = 2000
STEPS = 60
BEST = 50
"""Number of starts that are followed to the end."""

FINAL_STEPS = 300
LARGER = 1.3
"""Radius of the ball over the reach of the arm."""

OUTSIDE = 1e-3
"""Distance up to which a point counts as reachable [m]."""

TIMEOUT = 0.005
LATE = 1.1
"""Tolerance of the time: a step that has begun is finished."""

AGREES = 1.01
ROUNDING = 1e-6
"""Absolute tolerance of distances [m]."""

EVERY = Goal(100.0, of='value', at_least=True)


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the selected arms."""
    count, starts = (5, 200) if options.quick else (TARGETS, STARTS)
    for arm in ARMS:
        if arm.name not in NAMES or options.robot not in arm.name:
            continue
        robot = Robot.from_urdf(serial_chain(urdf_path(arm.file), arm.base, arm.tip))
        targets, distances = unreachable_targets(robot, arm.tip, count, starts)
        robot.inverse_kinematics(targets[0], arm.tip, timeout=1.0)
        timed = [_timed(robot, T, arm.tip) for T in targets]
        answers = [answer for answer, _ in timed]
        said = [x.reason == 'unreachable' for x in answers]
        errors = np.array([x.position_error for x in answers])
        close = errors <= AGREES * distances + ROUNDING
        seconds = np.array([x for _, x in timed])
        for case, right in (
            ('out of reach: said so', said),
            ('out of reach: distance within 1 %', close),
            ('out of reach: within 5 ms', seconds <= LATE * TIMEOUT),
        ):
            yield Record('ik', case, arm.name, 100.0 * float(np.mean(right)), '%', goal=EVERY)
        for case, value, unit in (
            ('out of reach: distance over least', float(np.max(errors / distances)), ''),
            ('out of reach: mean time', 1e6 * float(seconds.mean()), 'us'),
            ('out of reach: longest time', 1e6 * float(seconds.max()), 'us'),
        ):
            yield Record('ik', case, arm.name, value, unit)


def _timed(robot: Robot, target: Array, tip: str) -> tuple[InverseKinematicsResult, float]:
    """Answer, and its time, the smaller of processor time and wall time [s]."""
    processor = time.thread_time()
    answer = robot.inverse_kinematics(target, tip, timeout=TIMEOUT)
    return answer, min(answer.elapsed, time.thread_time() - processor)


def unreachable_targets(
    robot: Robot, tip: str, count: int, starts: int
) -> tuple[list[Array], Array]:
    """Poses (4, 4) with unreachable positions, and their least distances to the tip [m]."""
    rng = np.random.default_rng(0)
    samples = np.array([robot.random_configuration(rng) for _ in range(starts)])
    points = robot.forward_kinematics(samples, tip)[:, :3, 3]
    centre = points.mean(axis=0)
    reach = LARGER * np.linalg.norm(points - centre, axis=1).max()
    targets: list[Array] = []
    distances: list[float] = []
    while len(targets) < count:
        target = np.eye(4)
        target[:3, :3] = Rotation.random(random_state=rng).as_matrix()
        direction = rng.normal(size=3)
        radius = reach * rng.random() ** (1.0 / 3.0)
        target[:3, 3] = centre + radius * direction / np.linalg.norm(direction)
        distance = least_distance(robot, tip, target[:3, 3], samples)
        if distance > OUTSIDE:
            targets.append(target)
            distances.append(distance)
    return targets, np.array(distances)


def least_distance(robot: Robot, tip: str, point: Array, starts: Array) -> float:
    """Least distance of the tip from a point, by damped steps from many starts in parallel [m]."""
    q, squares = _descend(robot, tip, point, starts, STEPS)
    best = np.argsort(squares)[:BEST]
    return float(np.sqrt(_descend(robot, tip, point, q[best], FINAL_STEPS)[1].min()))


def _descend(robot: Robot, tip: str, point: Array, q: Array, steps: int) -> tuple[Array, Array]:
    """Configurations after projected Levenberg-Marquardt steps, and their squared distances."""
    damping = np.full(len(q), 1e-2)
    missing = point - robot.forward_kinematics(q, tip)[:, :3, 3]
    squares = np.einsum('ni,ni->n', missing, missing)
    for _ in range(steps):
        J = robot.jacobian(q, tip)[:, :3]
        slope = np.einsum('nij,ni->nj', J, missing)
        # Exclude joints at a limit that would move beyond it.
        held = ((q >= robot.upper_limits) & (slope > 0)) | ((q <= robot.lower_limits) & (slope < 0))
        J = np.where(held[:, None], 0.0, J)
        M = J @ J.transpose(0, 2, 1) + damping[:, None, None] * np.eye(3)
        step = np.einsum('nij,ni->nj', J, np.linalg.solve(M, missing[..., None])[..., 0])
        tried = np.clip(q + step, robot.lower_limits, robot.upper_limits)
        rest = point - robot.forward_kinematics(tried, tip)[:, :3, 3]
        found = np.einsum('ni,ni->n', rest, rest)
        better = found < squares
        q = np.where(better[:, None], tried, q)
        missing = np.where(better[:, None], rest, missing)
        squares = np.where(better, found, squares)
        damping = np.clip(np.where(better, 0.3 * damping, 5.0 * damping), 1e-9, 1e6)
    return q, squares
