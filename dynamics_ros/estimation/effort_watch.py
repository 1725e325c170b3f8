# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks at every sample whether efforts are still measured: a driver may stop and keep reporting.

No contact is reported if all efforts are exactly zero while gravity loads the joints, or if the
effort of a joint stays constant while the robot moves and the model predicts a different one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.reasons import Explanation, Figure, Names, Reason

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

    from .effort_model import EffortModel

Vector = NDArray[np.float64]

AT_REST = 0.02
"""Speed above which a joint counts as moving [rad/s, times ``EffortModel.motion``]."""

LOAD = 0.5
"""Gravity torque that zero efforts cannot carry [Nm or N]."""

MIN_RUN, USUAL_FACTOR, MAX_USUAL_RUN = 5, 2.0, 100.0
"""An effort counts as frozen after this many unchanged samples, and after this multiple of its
usual run of unchanged samples (a driver may report efforts less often than positions)."""


class EffortWatch:
    """Monitors the efforts of every sample.

    Attributes:
        reason: why the efforts are invalid; empty if they are valid.
    """

    def __init__(self, robot: Robot, model: EffortModel, sampling: str) -> None:
        """Creates a watch without samples.

        Args:
            robot: the robot.
            model: the effort model.
            sampling: 'interval' means commanded efforts, which may be constant, and zero in a fall.
        """
        self.reason = ''
        self._robot, self._model = robot, model
        self._measured = sampling == 'instant'
        self._base = robot.model.root_joint_nv
        self._names = {i: name for name, i in robot.joint_v_indices.items()}
        self._still = np.zeros(robot.nv, dtype=bool)

    def unsuspicious(self, effort: Vector) -> int:
        """Returns how many leading efforts of (n, nv) surely do not make ``contradicts`` true."""
        if self.reason:
            return 0
        if not self._model.includes_gravity:
            return len(effort)
        zero = ~effort[:, self._base :].any(axis=1)
        return int(zero.argmax()) if zero.any() else len(effort)

    def contradicts(self, q: Vector, v: Vector, effort: Vector, runs: Vector) -> bool:
        """Whether the efforts (nv) of a sample contradict the model under any external force.

        Args:
            q, v, effort: the sample.
            runs: (2, nv) current and usual number of samples with unchanged efforts.
        """
        if self.reason and self._still.any():
            self.reason = ''
            self._still &= self._stand_still(runs)
            self._report_standstill()
            return bool(self.reason)
        self.reason = ''
        # Usually the last effort alone rules out that all are zero.
        zero = not effort[-1] and not effort[self._base :].any()
        if zero and self._model.includes_gravity:
            at_rest = not self._moves(v)
            load = np.abs(self._robot.gravity(q)[self._base :]).max(initial=0.0)
            if load > LOAD and (self._measured or at_rest):
                self.reason = Explanation(
                    Reason.EFFORTS_INVALID,
                    'all efforts are zero, and the weight takes up to ',
                    Figure(float(load), '.1f'),
                    ': this robot does not report them, or no longer',
                )
        return bool(self.reason)

    def stands_still(self, v: Vector, external: Vector, thresholds: Vector, runs: Vector) -> bool:
        """Whether an apparent contact is caused by efforts that stay constant in motion.

        Args:
            v: (nv) velocity.
            external, thresholds: (nv) external torques and their contact thresholds.
            runs: see ``contradicts``.
        """
        if self._measured:
            still = self._stand_still(runs)
            if still.any():
                still &= np.abs(external) > thresholds
            if not still.any():
                self._still = still
            elif self._moves(v):
                self._still = still
                self._report_standstill()
        return bool(self.reason)

    def _moves(self, v: Vector) -> bool:
        return bool((np.abs(v) > AT_REST * self._model.motion).any())

    def _stand_still(self, runs: Vector) -> NDArray[np.bool_]:
        run, usual = runs
        return run >= MIN_RUN + USUAL_FACTOR * np.minimum(usual, MAX_USUAL_RUN)

    def _report_standstill(self) -> None:
        names = [self._names.get(int(i), 'the base') for i in np.flatnonzero(self._still)]
        if names:
            listed = Names(tuple(names), ', '.join(names))
            text = 'efforts do not change although the robot moves: '
            self.reason = Explanation(Reason.EFFORTS_INVALID, text, listed)
