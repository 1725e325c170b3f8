# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `ik`, part `circle`: a circle at 1 kHz, each pose solved from the previous solution.

The circle has a thousand poses of constant orientation. It begins at a configuration from which
integrated velocities, by the pseudo-inverse of the Jacobian, complete the circle within position
and velocity limits. A pose is lost if it is not solved; a jump is a joint velocity above the limit.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.descriptions import serial_chain
from benchmarks.records import Goal, Record
from benchmarks.robots import ARMS, urdf_path
from dynamics_ros import Robot
from dynamics_ros.multibody.end_effector import manipulability

Array = NDArray[np.float64]

POSES = 1000
PERIOD = 0.001
"""Time between two poses [s]."""

RADII = (0.05, 0.02, 0.01)
"""Candidate radii [m], of which the first feasible one is used. A circle takes one second."""

TIMEOUT = 0.005
CIRCLES = 10
SAMPLES = 300
"""Number of configurations from which the best start configurations are selected."""

EASE = 0.8
"""Share of the velocity limits that the reference motion may use."""

NONE = Goal(0.0, of='value')


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Follow circles with the selected arms."""
    for arm in ARMS:
        if options.robot not in arm.name:
            continue
        robot = Robot.from_urdf(serial_chain(urdf_path(arm.file), arm.base, arm.tip))
        radius, beginnings = _start_configurations(robot, arm.tip, 1 if options.quick else CIRCLES)
        yield Record('ik', 'circle: radius', arm.name, radius, 'm')
        lost = jumps = 0
        worst = 0.0
        for q in beginnings:
            one_lost, speed = _follow_circle(robot, arm.tip, q, radius)
            lost += one_lost
            share = speed / robot.velocity_limits
            jumps += int(np.sum(share > 1.0))
            worst = max(worst, float(share.max()))
        yield Record('ik', 'circle: poses lost', arm.name, float(lost), '', goal=NONE)
        yield Record('ik', 'circle: jumps of joints', arm.name, float(jumps), '', goal=NONE)
        yield Record('ik', 'circle: speed over its limit', arm.name, worst, '')


def _start_configurations(robot: Robot, tip: str, count: int) -> tuple[float, list[Array]]:
    """Radius of the circles, and start configurations with the best manipulability."""
    rng = np.random.default_rng(0)
    candidates = [robot.random_configuration(rng) for _ in range(SAMPLES)]
    candidates.sort(key=lambda q: -manipulability(robot.jacobian(q, tip)))
    for radius in RADII:
        can_follow = (q for q in candidates if _can_follow(robot, tip, q, radius))
        found = list(islice(can_follow, count))
        if len(found) == count:
            return radius, found
    raise RuntimeError(f'{robot.name} can follow no circle of {min(RADII)} m')


def _can_follow(robot: Robot, tip: str, q: Array, radius: float) -> bool:
    """Whether the reference motion completes the circle within the limits."""
    frame = robot.forward_kinematics(q, tip)[:3, :3]
    pace = 2.0 * np.pi * radius / (POSES * PERIOD)
    for angle in 2.0 * np.pi * np.arange(POSES) / POSES:
        linear = pace * frame @ np.array([-np.sin(angle), np.cos(angle), 0.0])
        v = np.linalg.pinv(robot.jacobian(q, tip)) @ np.array([*linear, 0.0, 0.0, 0.0])
        q = q + PERIOD * v
        inside = np.all((robot.lower_limits < q) & (q < robot.upper_limits))
        if not inside or np.any(np.abs(v) > EASE * robot.velocity_limits):
            return False
    return True


def _follow_circle(robot: Robot, tip: str, q: Array, radius: float) -> tuple[int, Array]:
    """Number of lost poses of a circle, and the highest speed of each joint [rad/s]."""
    start = robot.forward_kinematics(q, tip)
    speeds = np.zeros(robot.nv)
    lost = 0
    for angle in 2.0 * np.pi * np.arange(1, POSES + 1) / POSES:
        target = start.copy()
        offset = np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        target[:3, 3] += radius * start[:3, :3] @ offset
        answer = robot.inverse_kinematics(target, tip, q, timeout=TIMEOUT)
        if not answer.success:
            lost += 1
            continue
        speeds = np.maximum(speeds, np.abs(answer.q - q) / PERIOD)
        q = answer.q
    return lost, speeds
