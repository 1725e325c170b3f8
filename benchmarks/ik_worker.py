# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One solver in its own process: `python ik_worker.py SOLVER PROBLEM.npz`.

It runs in the environment of the solver and uses only NumPy otherwise. It prints "ready", and for
every input line "FIRST LAST FILE.npy" it solves a few targets uncounted and then these. It writes a
row for each: wall time, processor time and q, or several q if all solutions are requested (NaN for
missing ones), and prints "done".
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Solver = Callable[[int], Any]

BUILDING = 60.0
"""Time limit for generating a solver [s]."""

WARMING = 5
"""Number of targets that are solved uncounted at the start of each block.

The other solvers have filled the processor's caches in the meantime, while the code of a controller
that solves continuously would still be there.
"""


@dataclass(frozen=True)
class Problem:
    """A serial chain and its targets.

    Attributes:
        urdf: file of the chain.
        base, tip: first and last link.
        targets: (n, 4, 4) poses of the tip in the base.
        seed: (nq) start configuration of every solver.
        lower, upper: (nq) position limits; infinite if there are none.
        timeout: time limit for one target [s].
        tolerance: tolerance of the solution [m and rad].
        home: (4, 4) pose of the tip with all joints at zero except the locked one.
        locked: index of a joint that stays at its seed; -1 for none.
        most: largest number of solutions in an answer.
    """

    urdf: str
    base: str
    tip: str
    targets: Any
    seed: Any
    lower: Any
    upper: Any
    timeout: float
    tolerance: float
    home: Any = None
    locked: int = -1
    most: int = 1


def dynamics_ros(problem: Problem) -> Solver:
    """Our solver, with one solution."""
    from dynamics_ros import Robot

    robot = Robot.from_urdf(problem.urdf)
    targets, seed, tip, timeout = problem.targets, problem.seed, problem.tip, problem.timeout

    def solve(i: int) -> Any:
        return robot.inverse_kinematics(targets[i], tip, seed, timeout=timeout).q

    return solve


def all_of_dynamics_ros(problem: Problem) -> Solver:
    """Our solver, with all solutions."""
    from dynamics_ros import Robot

    robot = Robot.from_urdf(problem.urdf)
    targets, seed, tip = problem.targets, problem.seed, problem.tip
    if problem.locked < 0:
        return lambda i: robot.all_inverse_kinematics(targets[i], tip, seed).q
    locked = [robot.joint_names[problem.locked]]
    return lambda i: (
        robot.all_inverse_kinematics(
            targets[i], tip, seed, locked_joints=locked, max_solutions=problem.most
        ).q
    )


def eaik(problem: Problem) -> Solver:
    """EAIK: closed forms, all solutions except least-squares ones."""
    from eaik.IK_URDF import UrdfRobot

    fixed = [] if problem.locked < 0 else [(problem.locked, problem.seed[problem.locked])]
    robot = UrdfRobot(problem.urdf, fixed)
    if not robot.hasKnownDecomposition():
        raise ValueError(f'no closed form: {robot.getKinematicFamily()}')
    # EAIK's end-effector frame differs from the tip by a constant transform, found at zero.
    rest = np.zeros(len(problem.seed))
    for joint, position in fixed:
        rest[joint] = position
    zero = robot.fwdKin(rest)
    targets = [T @ np.linalg.inv(problem.home) @ zero for T in problem.targets]

    def solve(i: int) -> Any:
        answer = robot.IK(targets[i])
        return answer.Q[~np.array(answer.is_LS, dtype=bool)]

    return solve


def optik_py(problem: Problem) -> Solver:
    """OptIK: bounded optimization with restarts, on one thread."""
    import optik

    robot = optik.Robot.from_urdf_file(problem.urdf, problem.base, problem.tip)
    robot.set_parallelism(1)
    # The objective is half the squared error, so this limit is below the tolerance.
    config = optik.SolverConfig(
        'speed',
        max_time=problem.timeout,
        tol_f=0.1 * problem.tolerance**2,
        tol_df=-1.0,
        tol_dx=-1.0,
    )
    targets, seed = problem.targets.tolist(), problem.seed.tolist()

    def solve(i: int) -> Any:
        answer = robot.ik(config, targets[i], seed)
        return None if answer is None else answer[0]

    return solve


def roboticstoolbox_python(problem: Problem) -> Solver:
    """Robotics Toolbox: its compiled Levenberg-Marquardt solver."""
    from roboticstoolbox import Robot

    chain = Robot.URDF(problem.urdf).ets(problem.base, problem.tip)
    chain.qlim = np.array([problem.lower, problem.upper]).clip(-2.0 * np.pi, 2.0 * np.pi)
    targets, seed = problem.targets, problem.seed

    def solve(i: int) -> Any:
        answer = chain.ik_LM(
            targets[i], q0=seed, tol=1e-12, joint_limits=True, k=0.1, method='chan'
        )
        return answer.q if answer.success else None

    return solve


def pytracik(problem: Problem) -> Solver:
    """TRAC-IK: two solvers in parallel; its tolerance applies to each component of the error."""
    import pytracik

    chain = pytracik.TRAC_IK(
        problem.base,
        problem.tip,
        Path(problem.urdf).read_text(),
        problem.timeout,
        problem.tolerance / np.sqrt(3.0),
        pytracik.SolveType.Speed,
    )
    seed = problem.seed
    poses = [(*T[:3, 3].tolist(), *_quaternion(T[:3, :3])) for T in problem.targets]

    def solve(i: int) -> Any:
        answer = pytracik.ik(chain, seed, *poses[i])
        return answer[1:] if answer[0] >= 0 else None

    return solve


def ssik(problem: Problem) -> Solver:
    """ssik: an analytic solver generated for the robot; the solution nearest to the seed."""
    folder = tempfile.mkdtemp()
    generated = Path(folder) / 'generated_ik.py'
    build = [str(Path(sys.executable).with_name('ssik')), 'build', problem.urdf, '--no-validate']
    subprocess.run(
        [*build, '--base', problem.base, '--ee', problem.tip, '--out', str(generated)],
        check=True,
        timeout=BUILDING,
        capture_output=True,
    )
    sys.path.insert(0, folder)
    import generated_ik

    targets, seed = problem.targets, problem.seed

    def solve(i: int) -> Any:
        answers = generated_ik.solve(targets[i], q_seed=seed, max_solutions=1)
        return answers[0].q if answers else None

    return solve


SOLVERS = {
    'dynamics_ros': dynamics_ros,
    'dynamics_ros_all': all_of_dynamics_ros,
    'eaik': eaik,
    'optik-py': optik_py,
    'roboticstoolbox-python': roboticstoolbox_python,
    'pytracik': pytracik,
    'ssik': ssik,
}


def _quaternion(R: Any) -> tuple[float, ...]:
    """Quaternion (x, y, z, w) of a rotation matrix, from the largest eigenvector."""
    (a, b, c), (d, e, f), (g, h, i) = R
    K = [
        [a - e - i, b + d, c + g, h - f],
        [b + d, e - a - i, f + h, c - g],
        [c + g, f + h, i - a - e, d - b],
        [h - f, c - g, d - b, a + e + i],
    ]
    return tuple(np.linalg.eigh(np.array(K))[1][:, -1].tolist())


def main(name: str, file: str) -> None:
    """Serve requests until the standard input ends."""
    with np.load(file) as arrays:
        fields = {key: arrays[key] for key in arrays.files}
    problem = Problem(**{key: x.item() if x.ndim == 0 else x for key, x in fields.items()})
    solve = SOLVERS[name](problem)
    for i in range(min(20, len(problem.targets))):
        solve(i)
    print('ready', flush=True)
    gc.disable()
    for line in sys.stdin:
        start, end, out = line.split()
        first, last = int(start), int(end)
        rows = np.full((last - first, 2 + problem.most * len(problem.seed)), np.nan)
        for i in range(first - WARMING, first):
            solve(i % len(problem.targets))  # targets of the previous block
        for i in range(first, last):
            processor, wall = time.process_time(), time.perf_counter()
            q = solve(i)
            row = rows[i - first]
            row[0] = time.perf_counter() - wall
            row[1] = time.process_time() - processor
            if q is not None:
                values = np.ravel(q)[: len(row) - 2]
                row[2 : 2 + len(values)] = values
        np.save(out, rows)
        gc.collect()
        print('done', flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
