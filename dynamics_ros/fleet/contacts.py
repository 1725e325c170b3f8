# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts and payload changes of a recording, and detection of false contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact.detector import NO_CONTACT, RELEASE
from dynamics_ros.estimation.external_torques import Estimates
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.recordings.states import Estimators

from .residuals import Block, JointResiduals, ResidualSums

Array = NDArray[np.float64]

MAX_LOCATED = 100
"""Maximum number of located contacts per recording; a location takes tens of milliseconds."""


MAX_SHARE = 0.5
"""Share of a recording above which a contact cannot be distinguished from friction and wrong
masses."""

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

    def __init__(self, first: Estimators) -> None:
        """Creates it without contacts; breaks shorter than ``RELEASE`` do not end a contact."""
        self._names = {i: name for name, i in first.pipeline.robot.joint_v_indices.items()}
        self._release = round(RELEASE * 1e9)
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
