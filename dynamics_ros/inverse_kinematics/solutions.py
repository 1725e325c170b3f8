# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several solutions of one inverse kinematics problem."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import overload

import numpy as np

from .chain import Vector
from .problem import Candidate, Problem
from .result import CONVERGED, InverseKinematicsResult


class Solutions(Sequence[InverseKinematicsResult]):
    """Sequence of distinct solutions; each result object is created when it is read.

    Attributes:
        q: (k, nq) all solutions.
        elapsed: total time [s].
    """

    __slots__ = ('_iterations', '_problem', '_squares', 'elapsed', 'q')

    def __init__(
        self,
        problem: Problem,
        q: Vector,
        squares: Vector,
        iterations: Sequence[int] | None,
        began: float,
    ) -> None:
        """Store the data of the results.

        Args:
            problem: the solved problem.
            q: (k, nq) solutions.
            squares: (k, 2) or more rows: squared position error [m^2] and rotation error [rad^2].
            iterations: (k) steps of a search; None for a closed form.
            began: start time of the problem, on ``time.perf_counter`` [s].
        """
        self.q = q
        self._problem = problem
        self._squares = squares
        self._iterations = iterations
        self.elapsed = time.perf_counter() - began

    @classmethod
    def of_search(
        cls, problem: Problem, candidates: Sequence[tuple[Candidate, int]], began: float
    ) -> Solutions:
        """Solutions of a search, each with its number of steps."""
        rows = [candidate.q for candidate, _ in candidates]
        errors = [
            (candidate.position_error, candidate.rotation_error) for candidate, _ in candidates
        ]
        q = np.array(rows).reshape(len(rows), len(problem.q))
        squares = np.square(errors)
        return cls(problem, q, squares, [iterations for _, iterations in candidates], began)

    def where(self, accepted: Callable[[Vector], bool], most: int) -> Solutions:
        """The first ``most`` solutions whose configuration is accepted.

        Args:
            accepted: test of a configuration (nq).
            most: largest number of solutions.
        """
        rows = [k for k, q in enumerate(self.q) if accepted(q)][:most]
        iterations = None if self._iterations is None else [self._iterations[k] for k in rows]
        chosen = Solutions(self._problem, self.q[rows], self._squares[rows], iterations, 0.0)
        chosen.elapsed = self.elapsed
        return chosen

    def __len__(self) -> int:
        return len(self.q)

    @overload
    def __getitem__(self, index: int) -> InverseKinematicsResult: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[InverseKinematicsResult, ...]: ...

    def __getitem__(
        self, index: int | slice
    ) -> InverseKinematicsResult | tuple[InverseKinematicsResult, ...]:
        if isinstance(index, slice):
            return tuple([self[k] for k in range(len(self))[index]])
        k = range(len(self))[index]
        position, rotation = self._squares[k].tolist()
        return InverseKinematicsResult(
            self.q[k],
            True,
            math.sqrt(position),
            math.sqrt(rotation),
            0 if self._iterations is None else self._iterations[k],
            CONVERGED,
            self.elapsed,
            self._problem.robot,
            self._problem.chain,
        )

    def __repr__(self) -> str:
        return f'<{len(self)} solutions>'
