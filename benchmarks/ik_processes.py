# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse-kinematics solvers in separate processes, which take turns over the targets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.robots import Arm
from dynamics_ros import Robot

Array = NDArray[np.float64]

OURS, OURS_ALL = 'dynamics_ros', 'dynamics_ros_all'
"""Names of our solvers: one solution, all solutions."""

PIECE = 100
"""Number of targets that a process solves before the next process has its turn."""


def write_problem(folder: Path, text: str, robot: Robot, arm: Arm, **fields: Any) -> None:
    """Write the input of the worker processes.

    Args:
        folder: folder for the files.
        text: URDF of the chain.
        robot: robot of the chain, for its limits.
        arm: arm, for its first and last link.
        fields: the other fields of ``ik_worker.Problem``.
    """
    urdf = folder / 'chain.urdf'
    urdf.write_text(text)
    np.savez(
        folder / 'problem.npz',
        urdf=str(urdf),
        base=arm.base,
        tip=arm.tip,
        lower=robot.lower_limits,
        upper=robot.upper_limits,
        **fields,
    )


def in_turns(folder: Path, pythons: dict[str, Path], count: int, name: str) -> dict[str, Array]:
    """Rows of all targets from every solver that can be started; others are skipped.

    Args:
        folder: folder of ``problem.npz``.
        pythons: interpreter of each solver.
        count: number of targets.
        name: robot name in messages.
    """
    workers = {}
    for solver, python in pythons.items():
        worker = Worker(solver, python, folder)
        if worker.answers_with('ready'):
            workers[solver] = worker
        else:
            worker.stop()
            print(f'{solver} is left out on {name}: {worker.complaint()}')
    rows: dict[str, list[Array]] = {solver: [] for solver in workers}
    for first in range(0, count, PIECE):
        for solver, worker in list(workers.items()):
            piece = worker.solve(first, min(first + PIECE, count))
            if piece is None:
                worker.stop()
                print(f'{solver} stopped on {name}: {worker.complaint()}')
                del workers[solver], rows[solver]
            else:
                rows[solver].append(piece)
    for worker in workers.values():
        worker.stop()
    return {solver: np.concatenate(pieces) for solver, pieces in rows.items()}


class Worker:
    """A process of `ik_worker.py`."""

    def __init__(self, solver: str, python: Path, folder: Path) -> None:
        """Start the process."""
        self._out = folder / f'{solver}.npy'
        self._log = folder / f'{solver}.log'
        script = Path(__file__).with_name('ik_worker.py')
        with self._log.open('w') as log:
            self._process = subprocess.Popen(
                [str(python), str(script), solver, str(folder / 'problem.npz')],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._environment(solver),
            )

    @staticmethod
    def _environment(solver: str) -> dict[str, str]:
        """Environment of the process: one thread; peers do not see our modules."""
        environment = os.environ | {'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'}
        root = str(Path(__file__).resolve().parent.parent)
        if solver in (OURS, OURS_ALL):
            environment['PYTHONPATH'] = os.pathsep.join(
                filter(None, (root, os.environ.get('PYTHONPATH')))
            )
        else:
            environment.pop('PYTHONPATH', None)
        return environment

    def answers_with(self, word: str) -> bool:
        """Read lines until the process prints a word; False if it ends before."""
        assert self._process.stdout is not None
        return any(line.strip() == word for line in self._process.stdout)

    def solve(self, first: int, last: int) -> Array | None:
        """Rows of the targets from ``first`` to ``last``; None if the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f'{first} {last} {self._out}\n')
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        return np.load(self._out) if self.answers_with('done') else None

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._process.stdin = None

    def complaint(self) -> str:
        """Last line of the standard error of the process."""
        return (self._log.read_text().strip().splitlines() or ['no message'])[-1]
