# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a recording with time, duration, link and force, and detection of false contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact.detector import NO_CONTACT
from dynamics_ros.estimation.external_torques import Estimates
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.recordings.estimators import Estimators

from .residuals import JointResiduals, ResidualSums

Array = NDArray[np.float64]

MAX_LOCATED = 100
"""Maximum number of located contacts per recording; a location takes tens of milliseconds."""


MAX_SHARE = 0.5
"""Share of a recording above which a contact cannot be distinguished from friction and wrong
masses."""


@dataclass
class Event:
    """Contact, collision or payload change in a recording.

    Attributes:
        kind: 'contact', 'collision' or 'payload'.
        begin: stamp [ns].
        duration: s.
        link: link that is touched or carries the payload.
        force: magnitude of the force [N]; NaN if unknown.
        vector: (3) force in the axes of ``frame`` [N].
        frame: frame of the vector.
        torque: external torque of the joint ``joint`` [Nm or N].
        joint: joint with the largest ratio of external torque to threshold.
        false_contact: whether friction and weight identified from the whole recording explain the
            torques, or the contact lasts most of the recording.
        mass: change of the payload [kg]; NaN for a contact.
    """

    kind: str
    begin: int
    duration: float = 0.0
    link: str = ''
    force: float = float('nan')
    vector: tuple[float, ...] = ()
    frame: str = ''
    torque: float = float('nan')
    joint: str = ''
    false_contact: bool = False
    mass: float = float('nan')


@dataclass
class _Peak:
    """State of a contact with the largest ratio of torque to threshold."""

    excess: float
    state: RobotState
    external: Array
    thresholds: Array
    deviation: Array | None


@dataclass
class _Open:
    """Contact that has not ended."""

    begin: int
    last: int
    kind: ContactState
    link: str
    peak: _Peak
    links: dict[str, int] = field(default_factory=dict)


class ContactEvents:
    """Converts contact states to contact events."""

    def __init__(self, first: Estimators, release: float) -> None:
        """Creates it without contacts; breaks shorter than ``release`` [s] do not end a contact."""
        self._release = round(release * 1e9)
        self._names = {i: name for name, i in first.pipeline.robot.joint_v_indices.items()}
        self._open: _Open | None = None
        self._found: list[tuple[Event, _Peak]] = []

    def add(self, estimates: Estimates, estimators: Estimators) -> None:
        """Adds consecutive samples."""
        reports = estimates.reports
        touched = [i for i, report in enumerate(reports) if report.state is not NO_CONTACT]
        if not touched and self._open is None:
            return
        times = estimates.states.time.tolist()
        excess = (np.abs(estimates.values) / estimates.thresholds).max(axis=1).tolist()
        begin = 0
        for i in touched:
            # Samples without contact between two in contact may end the first contact.
            self._pass(times[begin:i], estimators)
            self._touch(estimates, i, times[i], excess[i], estimators)
            begin = i + 1
        self._pass(times[begin:], estimators)

    def _pass(self, times: Sequence[int], estimators: Estimators) -> None:
        """Processes samples without contact."""
        now = self._open
        if now is not None and any(not 0 <= time - now.last <= self._release for time in times):
            self._close(estimators)

    def _touch(
        self, estimates: Estimates, i: int, time: int, excess: float, estimators: Estimators
    ) -> None:
        """Processes a sample with contact."""
        report = estimates.reports[i]
        if self._open is not None and time < self._open.last:
            self._close(estimators)
        now = self._open
        if now is None or excess > now.peak.excess:
            found = estimates.row(i)
            peak = _Peak(
                excess,
                estimates.states.row(i),
                found.values,
                estimates.thresholds[i],
                found.deviation,
            )
            if now is None:
                now = self._open = _Open(report.since, time, report.state, report.link, peak)
            now.peak, now.link = peak, report.link
        now.last = time
        if report.state is ContactState.COLLISION:
            now.kind = ContactState.COLLISION

    def result(
        self,
        estimators: Estimators,
        sums: ResidualSums,
        residuals: JointResiduals,
        duration: float,
    ) -> list[Event]:
        """Returns all contacts with ``false_contact`` set, for a recording of this duration [s]."""
        self._close(estimators)
        known = np.nan_to_num(residuals.unknowns)
        for event, peak in self._found:
            gravity = estimators.pipeline.robot.gravity(peak.state.q)
            columns = sums.columns(peak.state.v, gravity)
            left = peak.external + (columns * known).sum(axis=-1)
            explained = bool((np.abs(left) < peak.thresholds).all())
            event.false_contact = explained or event.duration > MAX_SHARE * duration
        return [event for event, _ in self._found]

    def _close(self, estimators: Estimators) -> None:
        now, self._open = self._open, None
        if now is None:
            return
        peak = now.peak
        joint = int(np.argmax(np.abs(peak.external) / peak.thresholds))
        event = Event(
            now.kind.name.lower(),
            now.begin,
            (now.last - now.begin) * 1e-9,
            now.link,
            torque=float(peak.external[joint]),
            joint=self._names.get(joint, ''),
        )
        self._locate(event, peak, estimators)
        self._found.append((event, peak))

    def _locate(self, event: Event, peak: _Peak, estimators: Estimators) -> None:
        state, external = peak.state, peak.external
        locator = estimators.locator
        if locator is not None and len(self._found) < MAX_LOCATED:
            place = locator.locate(state.q, external, state.stale_mask, state.v, peak.deviation)
            if place is not None and place.probability > 0.0:
                event.link = place.link
                if place.point_frame:
                    event.frame = place.point_frame
                    event.vector = tuple(float(x) for x in place.force)
        if not event.frame:
            wrench = estimators.pipeline.wrenches(state, external, peak.deviation)[0]
            event.frame = wrench.expressed_in
            event.vector = tuple(float(x) for x in wrench.wrench[:3])
        event.force = float(np.linalg.norm(event.vector))
