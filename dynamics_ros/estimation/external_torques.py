# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What states say about external torques, and whether that is a contact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contact.detector import NO_CONTACT, ContactReport, Exceeded
from .samples.robot_state import RobotState, RobotStates

Array = NDArray[np.float64]


class ExternalTorques(NamedTuple):
    """What a state says about external torques.

    Attributes:
        values: (nv) after taring.
        report: whether that is a contact.
        deviation: (nv) of the values without contact at this state, where a calibration tells.
    """

    values: Array
    report: ContactReport
    deviation: Array | None = None


class Felt(NamedTuple):
    """What is felt at a state, or at several in a row with a leading axis.

    Attributes:
        values: (nv) external torques after taring.
        deviation: (nv) of the values without contact, where a calibration tells.
        exceeded: which thresholds these exceed.
    """

    values: Array
    deviation: Array | None
    exceeded: Exceeded

    def part(self, which: int | slice) -> Felt:
        """Of one or some of several."""
        deviation = None if self.deviation is None else self.deviation[which]
        return Felt(self.values[which], deviation, self.exceeded.part(which))

    def suspected(self, reports: Sequence[ContactReport]) -> NDArray[np.bool_]:
        """(n) whether a state exceeds a threshold or is told to be a contact.

        Args:
            reports: of these states.
        """
        touching = np.array([one.state is not NO_CONTACT for one in reports])
        return touching | self.exceeded.above.any(axis=(-2, -1))

    def as_at_rest(self, stated: Array) -> Array:
        """(nv) values of a state, in proportion to what is stated at rest.

        Args:
            stated: (nv) deviation without contact at rest; inf where not used.
        """
        values, deviation = self.values, self.deviation
        if deviation is not None:
            known = np.isfinite(stated) & (deviation > 0.0)
            values = values * np.divide(stated, deviation, np.ones_like(values), where=known)
        return values


class Estimates(NamedTuple):
    """What consecutive states say about external torques.

    Attributes:
        states: n of them.
        values: (n, nv) after taring.
        reports: at each state, whether that is a contact.
        deviation: (n, nv) of the values without contact, where a calibration tells.
        thresholds: (n, nv) from where on values were a contact.
    """

    states: RobotStates
    values: Array
    reports: Sequence[ContactReport]
    deviation: Array | None
    thresholds: Array

    @classmethod
    def of(cls, state: RobotState, external: ExternalTorques, thresholds: Array) -> Estimates:
        """Of a single state."""
        values, report, deviation = external
        more = None if deviation is None else deviation[np.newaxis]
        return cls(
            RobotStates.of(state), values[np.newaxis], [report], more, thresholds[np.newaxis]
        )

    def row(self, i: int) -> ExternalTorques:
        """What one of the states says."""
        deviation = None if self.deviation is None else self.deviation[i]
        return ExternalTorques(self.values[i], self.reports[i], deviation)


def index_of(places: Sequence[int]) -> Any:
    """To index an array with for these entries: a slice, which copies nothing, if it can be."""
    first = places[0] if places else 0
    in_a_row = list(places) == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if in_a_row else np.array(places, dtype=np.intp)
