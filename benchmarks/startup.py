# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start-up time and memory, each in a new process.

`python -m benchmarks.startup EXTENT FILE.urdf ROOT FRAME`, with an extent of `EXTENTS`, is the
measured process, and prints one JSON object.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.records import Goal, Record
from benchmarks.timing import peak_memory, wait_until_compiled

if TYPE_CHECKING:
    from benchmarks.robots import Subject
    from dynamics_ros import Robot

FIRST_ANSWER = Goal(1.0, of='value')
FIRST_ANSWER_AGAIN = Goal(0.3, of='value')
ARM_COMPILE = Goal(1.0, of='value')
HUMANOID_COMPILE = Goal(15.0, of='value')
NODE_MEMORY = Goal(400.0, of='value')
EXTENTS = ('first', 'nodes', 'all')
"""What a process computes: one result, the kernels of the nodes, or all kernels of the suite."""


def run(subjects: Iterable[Subject], repeats: int) -> Iterator[Record]:
    """Figures of the 7-joint arms and the floating humanoid: medians over processes."""
    for subject in subjects:
        is_humanoid = subject.name == 'talos_reduced'
        if not is_humanoid and subject.name not in ('xarm7', 'panda'):
            continue
        # Compiling all kernels of a humanoid takes long, so it runs once.
        extents = [x for x in EXTENTS for _ in range(1 if x == 'all' else repeats)]
        found: dict[str, list[float]] = {}
        for extent in extents:
            for key, figure in _measured(subject, extent).items():
                found.setdefault(key, []).append(figure)
        figures = {key: statistics.median(values) for key, values in found.items()}
        compile_goal = HUMANOID_COMPILE if is_humanoid else ARM_COMPILE
        for case, key, unit, goal in (
            ('start to first answer', 'first_answer', 's', FIRST_ANSWER),
            ('the same, in the second process', 'first_answer_again', 's', FIRST_ANSWER_AGAIN),
            ('compile kernels of the nodes', 'nodes_kernels', 's', compile_goal),
            ('the same, kept on disk', 'nodes_kernels_again', 's', None),
            ('compile all kernels', 'all_kernels', 's', None),
            ('memory with the nodes loaded', 'memory', 'MB', NODE_MEMORY if is_humanoid else None),
        ):
            yield Record('dynamics', case, subject.name, figures[key], unit, goal=goal)


def _measured(subject: Subject, extent: str) -> dict[str, float]:
    from benchmarks.descriptions import bare
    from benchmarks.robots import urdf_path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'robot.urdf'
        file.write_text(bare(urdf_path(subject.name), subject.locked))
        # An empty cache that is enabled.
        environment = os.environ | {'XDG_CACHE_HOME': folder, 'DYNAMICS_ROS_CACHE': ''}
        # Python caches the bytecode of the sources, as for an installed package.
        environment.pop('PYTHONDONTWRITEBYTECODE', None)
        command = [sys.executable, '-m', 'benchmarks.startup', extent, str(file)]
        command += [subject.root, subject.frame]
        figures = _output_of(command, environment)
        again = {'first': 'first_answer', 'nodes': 'nodes_kernels'}.get(extent)
        if again is not None:
            figures[f'{again}_again'] = _output_of(command, environment)[again]
    return figures


def _output_of(command: list[str], environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main(extent: str, file: str, root: str, frame: str) -> None:
    """Measure this process and print the figures.

    The time to the first result includes importing the package and reading the robot. Memory is the
    peak after the kernels of the nodes, in a process that has imported the nodes and the
    middleware.
    """
    start = time.perf_counter()
    import numpy as np

    from dynamics_ros import Robot

    robot = Robot.from_urdf(file, root)
    q, v = robot.neutral(), np.zeros(robot.nv)
    if extent == 'first':
        robot.inverse_dynamics(q, v, v)
        print(json.dumps({'first_answer': time.perf_counter() - start}))
        return

    start = time.perf_counter()
    _call_node_kernels(robot, frame, q, v)
    if extent == 'all':
        _call_other_kernels(robot, q, v)
    wait_until_compiled()
    figures = {f'{extent}_kernels': time.perf_counter() - start}
    if extent == 'nodes':
        import dynamics_ros.nodes.executables  # noqa: F401

        figures['memory'] = peak_memory()
    print(json.dumps(figures))


def _call_node_kernels(robot: Robot, frame: str, q: Any, v: Any) -> None:
    """Call the kernels of topics and services of the three nodes, for one frame."""
    robot.all_frames(q)
    robot.forward_kinematics(q, frame)
    robot.frame_velocity(q, v, frame)
    robot.jacobian(q, frame)
    robot.gravity(q)
    robot.inverse_dynamics(q, v, v)
    robot.nonlinear_effects(q, v)
    robot.mass_matrix(q)
    robot.coriolis(q, v)
    robot.forward_dynamics(q, v, v)
    robot.kinetic_energy(q, v)
    robot.potential_energy(q)
    robot.center_of_mass(q)
    robot.kernel('observer_step', 'instant')
    robot.kernel('contact_wrenches', '6', frame, '')


def _call_other_kernels(robot: Robot, q: Any, v: Any) -> None:
    """Call the other kernels that the suite times."""
    robot.mass_matrix_inverse(q)
    robot.centroidal_map(q)
    robot.regressor(q, v, v)
    robot.inverse_dynamics_derivatives(q, v, v)
    robot.forward_dynamics_derivatives(q, v, v)


if __name__ == '__main__':
    main(*sys.argv[1:])
