# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of payload changes from the external torques of a weight at the tool."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.recordings.estimators import Estimators

from .contacts import Event
from .samples import Block

Array = NDArray[np.float64]

SPACING = 0.05
"""Time between the samples used [s]."""

WINDOW = 2.0
"""Duration of a window, which gives one mass [s]."""

NEIGHBOURS = 3
"""Number of windows before and after a change that are compared."""

MIN_CHANGE = 0.2
"""Minimum change of mass [kg]."""

SIGMAS = 5.0
"""Minimum change in standard deviations of the differences of adjacent windows."""

MIN_EXPLAINED = 0.7
"""Minimum share of the squared external torques that the weight at the tool explains."""


class PayloadWatch:
    """Estimates the mass at the tool that explains the external torques best, window by window."""

    def __init__(self, frame: str, gravity: Array) -> None:
        """Creates it without samples.

        Args:
            frame: frame that carries the payload.
            gravity: (3) in the root frame [m/s^2].
        """
        self._frame, self._gravity = frame, gravity
        self._windows: list[tuple[int, float, float]] = []
        self._sums, self._begin, self._next = np.zeros(3), 0, 0

    def add(self, block: Block, estimators: Estimators) -> None:
        """Adds samples."""
        period = max(float(np.median(np.diff(block.time))) * 1e-9, 1e-6) if len(block) > 1 else 1.0
        chosen = slice(None, None, max(1, round(SPACING / period)))
        robot, external = estimators.pipeline.robot, block.external[chosen]
        J = robot.jacobian(block.q[chosen], self._frame)
        unit = np.einsum('nkj,k->nj', J[:, :3], self._gravity)
        weights = 1.0 / np.maximum(estimators.pipeline.detector.constants[0], 1e-6) ** 2
        weights = np.where(np.isfinite(weights), weights, 0.0)
        products = np.stack(
            [
                (unit * external * weights).sum(axis=1),
                (unit * unit * weights).sum(axis=1),
                (external * external * weights).sum(axis=1),
            ],
            axis=1,
        )
        for time, row in zip(block.time[chosen].tolist(), products, strict=True):
            if not 0 <= time - self._begin < WINDOW * 1e9:
                self._end_window()
                self._begin = time
            self._sums += row

    def result(self) -> list[Event]:
        """Returns the payload changes as events."""
        self._end_window()
        if len(self._windows) < 2 * NEIGHBOURS:
            return []
        begins, masses, explained = (np.array(x) for x in zip(*self._windows, strict=True))
        steps = np.abs(np.diff(masses))
        usual = max(MIN_CHANGE, SIGMAS * 1.4826 * float(np.median(steps)))
        jumps = np.zeros(len(masses))
        for k in range(NEIGHBOURS, len(masses) - NEIGHBOURS + 1):
            before, after = masses[k - NEIGHBOURS : k], masses[k : k + NEIGHBOURS]
            heavier = explained[k : k + NEIGHBOURS], explained[k - NEIGHBOURS : k]
            change = float(np.median(after) - np.median(before))
            lasting = np.ptp(before) < 0.5 * abs(change) and np.ptp(after) < 0.5 * abs(change)
            if lasting and max(np.median(one) for one in heavier) > MIN_EXPLAINED:
                jumps[k] = change
        found = []
        for k in np.flatnonzero(np.abs(jumps) > usual).tolist():
            near = jumps[max(0, k - NEIGHBOURS) : k + NEIGHBOURS + 1]
            if abs(jumps[k]) == np.abs(near).max():
                link = self._frame
                found.append(Event('payload', int(begins[k]), link=link, mass=float(jumps[k])))
        return found

    def _end_window(self) -> None:
        product, square, total = self._sums
        if square > 0.0:
            explained = product * product / (square * total) if total > 0.0 else 0.0
            self._windows.append((self._begin, product / square, explained))
        self._sums = np.zeros(3)
