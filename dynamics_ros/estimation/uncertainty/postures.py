# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint ranges of a calibration, within which its stated deviations are valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.reasons import Explanation, Names, Reason

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot


class KnownPostures:
    """Position ranges of the calibrated postures; joints without limits have infinite ranges.

    Attributes:
        lowest, highest: (joints) in the order of ``joint_names`` [rad or m].
    """

    def __init__(self, robot: Robot, lowest: ArrayLike, highest: ArrayLike) -> None:
        """Creates the ranges from one value per joint.

        Raises:
            InvalidArgumentError: a wrong number of values, or a lower bound above the upper one.
        """
        names = robot.joint_names
        for name, values in (('unexplained.lowest', lowest), ('unexplained.highest', highest)):
            if np.shape(values) != (len(names),):
                raise InvalidArgumentError(
                    name, f'{np.size(values)} values', f'{len(names)}, one per joint'
                )
        joints = [joint for joint in robot.model.actuated if len(joint.q_indices) == 1]
        self._names = [joint.name for joint in joints]
        self._index = np.array([joint.q_indices[0] for joint in joints], dtype=np.intp)
        places = [names.index(name) for name in self._names]
        self.lowest, self.highest = np.asarray(lowest)[places], np.asarray(highest)[places]
        if (self.lowest > self.highest).any():
            name = self._names[int((self.lowest > self.highest).argmax())]
            raise InvalidArgumentError(
                'unexplained.lowest', f'more than unexplained.highest of {name}', 'less'
            )
        endless = ~np.isfinite(robot.upper_limits[self._index] - robot.lower_limits[self._index])
        self.lowest = np.where(endless, -np.inf, self.lowest)
        self.highest = np.where(endless, np.inf, self.highest)

    def beyond(self, q: NDArray[np.float64]) -> str:
        """Returns the joints outside their ranges at a configuration (nq) as text; '' if none."""
        positions = q[self._index]
        far = (positions < self.lowest) | (positions > self.highest)
        if not far.any():
            return ''
        names = tuple(name for name, is_far in zip(self._names, far, strict=True) if is_far)
        return Explanation(Reason.OTHER, Names(names, ', '.join(names)))
