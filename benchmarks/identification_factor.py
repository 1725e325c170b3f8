# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""R factor of the regressor of a long motion: in one kernel, and by NumPy from the regressor."""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.identification_arms import SUITE, figure
from benchmarks.records import Record
from benchmarks.robots import urdf_path
from benchmarks.unmodelled_arms import LOCKED
from dynamics_ros import Robot
from dynamics_ros.identification.bodies.base_parameters import BaseParameters

Array = NDArray[np.float64]

STATES, STATES_QUICKLY = 60_000, 10_000
"""Number of states: a minute at 1 kHz."""

ROBOTS = (('ur5', 'fixed'), ('panda', 'fixed'), ('xarm7', 'fixed'), ('anymal', 'floating'))

REPEATS = 3

PEER = 'regressor, then QR'

MEGABYTE = 1e6


def factor(options: argparse.Namespace) -> Iterator[Record]:
    """Processor time, memory and difference of both ways."""
    for name, root in ROBOTS:
        if (options.robot or '') not in name:
            continue
        robot = Robot.from_urdf(
            urdf_path(name), root_joint=root, locked_joints=dict.fromkeys(LOCKED.get(name, ()), 0.0)
        )
        base = BaseParameters.of(robot)
        columns = base.chosen
        q, v, a = _states(robot, STATES_QUICKLY if options.quick else STATES)
        begin = time.process_time()
        kernel = robot.kernel('regressor_factor_step', *map(str, columns))
        robot.regressor_r_factor(q[:1000], v[:1000], a[:1000], columns=columns)
        kernel.wait()
        compiled = time.process_time() - begin
        own = _measured(robot.regressor_r_factor, q, v, a, None, None, columns)
        peer = _measured(_by_numpy, robot, base, q, v, a)
        difference = np.abs(own.result - peer.result).max() / np.abs(own.result).max()
        yield Record(SUITE, 'R factor: time', name, own.seconds, 's', PEER, peer.seconds)
        yield Record(SUITE, 'R factor: memory', name, own.memory, 'MB', PEER, peer.memory)
        yield figure('R factor: difference', name, float(difference), '', 1e-12)
        yield figure('R factor: columns', name, float(len(columns)), '')
        yield figure('R factor: operations per state', name, float(kernel.operation_count), '')
        yield figure('R factor: tracing and compiling', name, compiled, 's')


@dataclass(frozen=True, eq=False)
class _Measured:
    """An R factor, the processor time of its computation [s], and its largest memory [MB]."""

    result: Array
    seconds: float
    memory: float


def _measured(function: Callable[..., Array], *arguments: Any) -> _Measured:
    function(*arguments)
    seconds = []
    for _ in range(REPEATS):
        begin = time.process_time()
        result = function(*arguments)
        seconds.append(time.process_time() - begin)
    tracemalloc.start()
    function(*arguments)
    _, largest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return _Measured(result, min(seconds), largest / MEGABYTE)


def _by_numpy(robot: Robot, base: BaseParameters, q: Array, v: Array, a: Array) -> Array:
    rows = base.columns(robot.regressor(q, v, a), a).reshape(-1, len(base))
    R = np.asarray(np.linalg.qr(rows, mode='r'))
    return R * np.copysign(1.0, np.diag(R))[:, np.newaxis]


def _states(robot: Robot, count: int) -> tuple[Array, Array, Array]:
    """q, v, a of random states; postures repeat."""
    rng = np.random.default_rng(0)
    postures = np.array([robot.random_configuration(rng) for _ in range(1000)])
    v, a = rng.normal(size=(2, count, robot.nv))
    return np.resize(postures, (count, robot.nq)), v, a
