"""Time from nothing to answers, and memory, each in a fresh process.

Run as a program it is that process, and prints one JSON object:
`python -m benchmarks.startup FILE.urdf ROOT FRAME [all]`.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.records import Goal, Record

if TYPE_CHECKING:
    from benchmarks.robots import Subject
    from dynamics_ros import Robot

ARM_JOINTS = 7
FIRST_ANSWER = Goal(1.0, of='value')
ARM_COMPILE = Goal(1.0, of='value')
HUMANOID_COMPILE = Goal(15.0, of='value')
NODE_MEMORY = Goal(400.0, of='value')
PATIENCE = 300.0
"""Seconds that kernels may take to be compiled in the background."""


def run(subjects: Iterable[Subject], repeats: int) -> Iterator[Record]:
    """The figures of the 7-joint arms and the floating humanoid: the median over processes."""
    for subject in subjects:
        is_humanoid = subject.name == 'talos_reduced'
        if not is_humanoid and subject.name not in ('xarm7', 'panda'):
            continue
        # All kernels of a humanoid take their time: once is enough.
        runs = [_measured(subject, everything=k == 0) for k in range(repeats)]
        figures = {key: statistics.median(x[key] for x in runs if key in x) for key in runs[0]}
        compile_goal = HUMANOID_COMPILE if is_humanoid else ARM_COMPILE
        for case, key, unit, goal in (
            ('start to first answer', 'first_answer', 's', FIRST_ANSWER),
            ('compile kernels of the nodes', 'node_kernels', 's', compile_goal),
            ('compile all kernels', 'all_kernels', 's', None),
            ('memory with the nodes loaded', 'memory', 'MB', NODE_MEMORY if is_humanoid else None),
        ):
            yield Record('dynamics', case, subject.name, figures[key], unit, goal=goal)


def _measured(subject: Subject, everything: bool) -> dict[str, float]:
    from benchmarks.descriptions import bare
    from benchmarks.robots import urdf_path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'robot.urdf'
        file.write_text(bare(urdf_path(subject.name), subject.locked))
        # An empty cache, in case one is kept on disk.
        environment = os.environ | {'XDG_CACHE_HOME': folder}
        command = [sys.executable, '-m', 'benchmarks.startup', str(file), subject.root]
        done = subprocess.run(
            [*command, subject.frame],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main(file: str, root: str, frame: str, extent: str = '') -> None:
    """Measure this process and print what was found.

    The first answer includes importing the package and reading the robot. Memory is the peak after
    the kernels of the nodes, in a process that has loaded the nodes and the middleware.
    """
    start = time.perf_counter()
    import numpy as np

    from dynamics_ros import Robot

    robot = Robot.from_urdf(file, root)
    q, v = robot.neutral(), np.zeros(robot.nv)
    robot.inverse_dynamics(q, v, v)
    figures = {'first_answer': time.perf_counter() - start}

    # A robot of its own, so that nothing of it has been compiled yet.
    robot = Robot.from_urdf(file, root)
    start = time.perf_counter()
    _call_node_kernels(robot, frame, q, v)
    _wait_until_compiled(robot)
    figures['node_kernels'] = time.perf_counter() - start

    import dynamics_ros.nodes.composed  # noqa: F401

    peak_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures['memory'] = peak_kilobytes / 1024.0

    if extent == 'all':
        start = time.perf_counter()
        _call_other_kernels(robot, q, v)
        _wait_until_compiled(robot)
        figures['all_kernels'] = figures['node_kernels'] + time.perf_counter() - start
    print(json.dumps(figures))


def _call_node_kernels(robot: Robot, frame: str, q: Any, v: Any) -> None:
    """What topics and services of the three nodes compute, for one frame."""
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
    robot.momentum_observer_terms(q, v)


def _call_other_kernels(robot: Robot, q: Any, v: Any) -> None:
    """The rest of what the suite times."""
    robot.mass_matrix_inverse(q)
    robot.centroidal_map(q)
    robot.regressor(q, v, v)
    robot.inverse_dynamics_derivatives(q, v, v)
    robot.forward_dynamics_derivatives(q, v, v)


def _wait_until_compiled(robot: Robot) -> None:
    """Until no kernel runs as plain Python any more, where there is a compiler."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return
    deadline = time.perf_counter() + PATIENCE
    while any(info.backend == 'python' for info in robot.kernels.values()):
        if time.perf_counter() > deadline:
            raise SystemExit('kernels are still plain Python')
        time.sleep(0.001)


if __name__ == '__main__':
    main(*sys.argv[1:])
