# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimates of external torques and contact at one state or at consecutive states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contact.detector import ContactReport
from .samples.robot_state import RobotState

Array = NDArray[np.float64]


class ExternalTorques(NamedTuple):
    """External torques and contact at a state.

    Attributes:
        values: (nv) tared external torques.
        report: the contact state.
        deviation: (nv) deviation of the values without contact at this state, if calibrated.
    """

    values: Array
    report: ContactReport
    deviation: Array | None = None


class Estimates(NamedTuple):
    """External torques and contact at consecutive states.

    Attributes:
        states: the n states.
        values: (n, nv) tared external torques.
        reports: contact state at each state.
        deviation: (n, nv) deviation of the values without contact, if calibrated.
        thresholds: (n, nv) contact thresholds.
    """

    states: RobotState
    values: Array
    reports: Sequence[ContactReport]
    deviation: Array | None
    thresholds: Array

    def row(self, i: int) -> ExternalTorques:
        """Returns the estimates of one state."""
        deviation = None if self.deviation is None else self.deviation[i]
        return ExternalTorques(self.values[i], self.reports[i], deviation)


def index_of(places: Sequence[int]) -> Any:
    """Returns an array index for these entries: a slice, which needs no copy, if possible."""
    first = places[0] if places else 0
    in_a_row = list(places) == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if in_a_row else np.array(places, dtype=np.intp)
