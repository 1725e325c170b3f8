# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether efforts are still being measured, at every sample: a driver may stop to, and report on.

Efforts that are all exactly zero while the weight loads the joints, and efforts of a joint that do
not change at all while the robot moves and the model expects something else, are no contact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

    from .effort_model import EffortModel

Vector = NDArray[np.float64]

AT_REST = 0.02
"""rad/s or m/s; a robot with a faster joint moves."""

LOAD = 0.5
"""Nm or N; a gravity torque that zero efforts do not carry."""

LEAST_RUN, TIMES_USUAL, LONGEST_USUAL = 5, 2.0, 100.0
"""An effort that has not changed for so many samples, and so many times what is usual for it (of a
driver that reports efforts less often than positions), stands still."""


class EffortWatch:
    """Looks at the efforts of every sample.

    Attributes:
        reason: why efforts are not to be believed now; empty when they may be.
    """

    def __init__(self, robot: Robot, model: EffortModel, sampling: str) -> None:
        """Begin.

        Args:
            robot: the robot.
            model: what efforts mean.
            sampling: 'interval' is of commands, which may be constant, and zero in a fall.
        """
        self.reason = ''
        self._robot, self._model = robot, model
        self._measured = sampling == 'instant'
        self._base = robot.model.root_joint_nv
        self._names = {i: name for name, i in robot.joint_v_indices.items()}
        self._still = np.zeros(robot.nv, dtype=bool)

    def unsuspicious(self, effort: Vector) -> int:
        """Of how many consecutive efforts (n, nv), from the first on, ``contradicts`` is false."""
        if self.reason:
            return 0
        if not self._model.includes_gravity:
            return len(effort)
        zero = ~effort[:, self._base :].any(axis=1)
        return int(zero.argmax()) if zero.any() else len(effort)

    def contradicts(self, q: Vector, v: Vector, effort: Vector, runs: Vector) -> bool:
        """Whether the efforts (nv) of a sample contradict the model whatever the robot feels.

        Args:
            q, v, effort: the sample.
            runs: (2, nv) for how many samples efforts have not changed, and usually do not.
        """
        if self.reason and self._still.any():
            self.reason = ''
            self._still &= self._stand_still(runs)
            self._tell_what_stands_still()
            return bool(self.reason)
        self.reason = ''
        # Most of the time the last effort alone shows that not all are zero.
        zero = not effort[-1] and not effort[self._base :].any()
        if zero and self._model.includes_gravity:
            at_rest = np.abs(v).max(initial=0.0) < AT_REST
            load = np.abs(self._robot.gravity(q)[self._base :]).max(initial=0.0)
            if load > LOAD and (self._measured or at_rest):
                self.reason = (
                    f'all efforts are zero, and the weight takes up to {load:.1f}: this robot does '
                    'not report them, or no longer'
                )
        return bool(self.reason)

    def stands_still(self, v: Vector, external: Vector, thresholds: Vector, runs: Vector) -> bool:
        """Whether what would be a contact comes of efforts that do not change while it moves.

        Args:
            v: (nv) velocity.
            external, thresholds: (nv) external torques, and from where on they are a contact.
            runs: as of ``contradicts``.
        """
        felt = np.abs(external) > thresholds
        if self._measured and felt.any() and np.abs(v).max(initial=0.0) > AT_REST:
            self._still = felt & self._stand_still(runs)
            self._tell_what_stands_still()
        return bool(self.reason)

    def _stand_still(self, runs: Vector) -> NDArray[np.bool_]:
        run, usual = runs
        return run >= LEAST_RUN + TIMES_USUAL * np.minimum(usual, LONGEST_USUAL)

    def _tell_what_stands_still(self) -> None:
        names = [self._names.get(int(i), 'the base') for i in np.flatnonzero(self._still)]
        if names:
            self.reason = f'efforts do not change although the robot moves: {", ".join(names)}'
