# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimates of external torques and contact for one or several states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contact.detector import NO_CONTACT, ContactReport, Exceeded
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


class Compared(NamedTuple):
    """External torques of one state or, with a leading axis, of consecutive ones.

    Attributes:
        values: (nv) tared external torques.
        deviation: (nv) deviation of the values without contact, if calibrated.
        exceeded: the thresholds that they exceed.
    """

    values: Array
    deviation: Array | None
    exceeded: Exceeded

    def part(self, which: int | slice) -> Compared:
        """Selects one state or a slice of several."""
        deviation = None if self.deviation is None else self.deviation[which]
        return Compared(self.values[which], deviation, self.exceeded.part(which))

    def suspected(self, reports: Sequence[ContactReport]) -> NDArray[np.bool_]:
        """Returns a mask (n) of states above a threshold or reported as contact.

        Args:
            reports: contact reports of these states.
        """
        touching = np.array([report.state is not NO_CONTACT for report in reports])
        return touching | self.exceeded.above.any(axis=(-2, -1))

    def as_at_rest(self, stated: Array) -> Array:
        """Scales the values (nv) of a state to the deviation stated at rest.

        Args:
            stated: (nv) deviation without contact at rest; inf if a joint is unused.
        """
        values, deviation = self.values, self.deviation
        if deviation is not None:
            known = np.isfinite(stated) & (deviation > 0.0)
            values = values * np.divide(stated, deviation, np.ones_like(values), where=known)
        return values


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

    @classmethod
    def of(cls, state: RobotState, external: ExternalTorques, thresholds: Array) -> Estimates:
        """Wraps the estimates of a single state."""
        values, report, deviation = external
        more = None if deviation is None else deviation[np.newaxis]
        return cls(state.batch(), values[np.newaxis], [report], more, thresholds[np.newaxis])

    def row(self, i: int) -> ExternalTorques:
        """Returns the estimates of one state."""
        deviation = None if self.deviation is None else self.deviation[i]
        return ExternalTorques(self.values[i], self.reports[i], deviation)


def index_of(places: Sequence[int]) -> Any:
    """Returns an array index for these entries: a slice, which needs no copy, if possible."""
    first = places[0] if places else 0
    in_a_row = list(places) == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if in_a_row else np.array(places, dtype=np.intp)
