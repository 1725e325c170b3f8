# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Timing of a robot's kernels and inverse kinematics on this machine."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dynamics_ros.algorithms.inverse_kinematics.solutions import solvable_arm
from dynamics_ros.errors import DynamicsRosError, SingularError
from dynamics_ros.robot import Robot

TRIES = 5
"""Runs per measurement, of which the fastest counts because others were interrupted."""

LONG_ENOUGH = 2e-3
"""Shortest duration of a run [s]."""

COMPILED_WITHIN = 60.0
"""Longest wait for the compilation of a kernel [s]."""

QUESTIONS = 50
"""Number of target poses for inverse kinematics."""

FORMS = {'spherical': 'three axes through one point', 'parallel': 'three parallel axes'}


@dataclass(frozen=True)
class Speed:
    """Timing of one kernel.

    Attributes:
        name: name of the quantity.
        backend: 'llvm' or 'python'.
        operations: scalar operations of the trace.
        compile_seconds: time from the trace to a callable.
        call_seconds: time of one call.
        problem: why it cannot be computed; '' if it can.
    """

    name: str
    backend: str = ''
    operations: int = 0
    compile_seconds: float = 0.0
    call_seconds: float = 0.0
    problem: str = ''


def speeds(robot: Robot, frame: str) -> Iterator[Speed]:
    """Yield the timing of the most used kernels, one by one as they are compiled.

    Args:
        robot: the robot.
        frame: frame of pose and Jacobian.
    """
    q, v = robot.neutral(), np.zeros(robot.nv)
    calls: dict[str, tuple[tuple[str, ...], Callable[[], object]]] = {
        'forward_kinematics': ((frame,), lambda: robot.forward_kinematics(q, frame)),
        'jacobian': ((frame, 'local_world_aligned'), lambda: robot.jacobian(q, frame)),
        'gravity': ((), lambda: robot.gravity(q)),
        'inverse_dynamics': ((), lambda: robot.inverse_dynamics(q, v, v)),
        'mass_matrix': ((), lambda: robot.mass_matrix(q)),
        'forward_dynamics': ((), lambda: robot.forward_dynamics(q, v, v)),
    }
    for name, (options, call) in calls.items():
        try:
            kernel = robot.kernel(name, *options)
            kernel.wait(COMPILED_WITHIN)
            call()
            seconds = _fastest(call)
        except SingularError as error:
            yield Speed(name, problem=f'singular: {error}')
        except DynamicsRosError as error:
            yield Speed(name, problem=str(error))
        else:
            facts = kernel.backend, kernel.operation_count, kernel.compile_seconds
            yield Speed(name, *facts, seconds)


def _fastest(call: Callable[[], object]) -> float:
    """Return the shortest time of a call [s]."""
    timer, loops = timeit.Timer(call), 1
    while (taken := timer.timeit(loops)) < LONG_ENOUGH:
        loops = max(2 * loops, int(loops * LONG_ENOUGH / max(taken, 1e-9)))
    return min(timer.repeat(TRIES, loops)) / loops


def inverse_kinematics(robot: Robot, frame: str) -> str:
    """Describe the inverse kinematics: closed form or search, poses reached, and time."""
    chain = robot.model.ancestors(robot.model.frame(frame).body)
    if not chain:
        return f'{frame} does not move'
    if robot.model.root_joint == 'fixed' and (
        arm := solvable_arm(robot.model, robot.model.frame(frame))
    ):
        how = f'closed form ({FORMS[arm.geometry.family]}), all solutions'
    else:
        how = 'search (no closed form for these axes)'
    generator = np.random.default_rng(0)
    seed = robot.nominal()
    times, reached = [], 0
    try:
        for _ in range(QUESTIONS + 1):
            target = robot.forward_kinematics(robot.random_configuration(generator), frame)
            began = time.perf_counter()
            reached += robot.inverse_kinematics(target, frame, seed).success
            times.append(time.perf_counter() - began)
    except DynamicsRosError as error:
        return f'{how}; not tried: {error}'
    # The first call waits for the kernels.
    median = 1e3 * float(np.median(times[1:]))
    return f'{how}; {reached} of {QUESTIONS + 1} random poses reached, median {median:.2g} ms'
