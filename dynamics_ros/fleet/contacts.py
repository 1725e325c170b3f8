# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts and payload changes of a recording, and detection of false contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact.detector import NO_CONTACT, RELEASE
from dynamics_ros.estimation.external_torques import Estimates, ExternalTorques
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.recordings.states import Estimators

from .statistics import JointResiduals, ResidualSums, Samples

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
class Contact:
    """A contact.

    Attributes:
        begin, last: stamps of its first and its last sample [ns].
        kind: CONTACT or COLLISION.
        link: link that is touched.
        excess: largest ratio of external torque to threshold, at the peak.
        state, external, thresholds: state, estimate and thresholds (nv) at the peak.
        frame: frame of the force.
        force: (3) force at the peak in the axes of ``frame`` [N].
    """

    begin: int
    last: int
    kind: ContactState
    link: str
    excess: float
    state: RobotState
    external: ExternalTorques
    thresholds: Array
    frame: str = ''
    force: Array | None = None


class ContactEvents:
    """Converts contact states to contacts."""

    def __init__(self, first: Estimators) -> None:
        """Creates it without contacts; breaks shorter than ``RELEASE`` do not end a contact."""
        self._release = round(RELEASE * 1e9)
        self._names = {i: name for name, i in first.pipeline.robot.joint_v_indices.items()}
        self._open: Contact | None = None
        self._ended: list[Contact] = []

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
        if now is None or excess > now.excess:
            peak = estimates.states.row(i), estimates.row(i), estimates.thresholds[i]
            begin, kind = (now.begin, now.kind) if now else (report.since, report.state)
            now = self._open = Contact(begin, time, kind, report.link, excess, *peak)
        now.last = time
        if report.state is ContactState.COLLISION:
            now.kind = ContactState.COLLISION

    def _close(self, estimators: Estimators) -> None:
        """Ends the open contact and locates it."""
        contact, self._open = self._open, None
        if contact is None:
            return
        state, external, locator = contact.state, contact.external, estimators.locator
        if locator is not None and len(self._ended) < MAX_LOCATED:
            location = locator.locate(
                state.q, external.values, state.stale_mask, external.deviation
            )
            if location is not None and location.probability > 0.0:
                contact.link, contact.frame = location.link, location.point_frame
                contact.force = location.force
        if not contact.frame:
            wrench = estimators.pipeline.wrenches(state, external.values, external.deviation)[0]
            contact.frame, contact.force = wrench.expressed_in, wrench.wrench[:3]
        self._ended.append(contact)

    def rows(
        self,
        estimators: Estimators,
        sums: ResidualSums,
        residuals: JointResiduals,
        duration: float,
    ) -> list[dict[str, Any]]:
        """Returns the rows of all contacts of a recording of this duration [s].

        A contact is false if friction and weight identified from the whole recording explain its
        torques, or if it lasts most of the recording.
        """
        self._close(estimators)
        known = np.nan_to_num(residuals.unknowns)
        rows = []
        for contact in self._ended:
            values = contact.external.values
            force = np.asarray(contact.force, dtype=np.float64)
            gravity = estimators.pipeline.robot.gravity(contact.state.q)
            left = values + (sums.columns(contact.state.v, gravity) * known).sum(axis=-1)
            explained = bool((np.abs(left) < contact.thresholds).all())
            lasted = (contact.last - contact.begin) * 1e-9
            joint = int(np.argmax(np.abs(values) / contact.thresholds))
            rows.append(
                {
                    'kind': contact.kind.name.lower(),
                    'begin': contact.begin,
                    'duration': lasted,
                    'link': contact.link,
                    'joint': self._names.get(joint, ''),
                    'torque': float(values[joint]),
                    'frame': contact.frame,
                    'vector': [float(x) for x in force],
                    'force': float(np.linalg.norm(force)),
                    'false_contact': explained or lasted > MAX_SHARE * duration,
                }
            )
        return rows


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
        self._sums, self._begin = np.zeros(3), 0

    def add(self, samples: Samples, estimators: Estimators) -> None:
        """Adds samples."""
        steps = np.diff(samples.time)
        period = max(float(np.median(steps)) * 1e-9, 1e-6) if len(steps) else 1.0
        chosen = slice(None, None, max(1, round(SPACING / period)))
        robot, external = estimators.pipeline.robot, samples.external[chosen]
        J = robot.jacobian(samples.q[chosen], self._frame)
        unit = np.einsum('nkj,k->nj', J[:, :3], self._gravity)
        weights = 1.0 / np.maximum(estimators.pipeline.detector.constants[0], 1e-6) ** 2
        weights = np.where(np.isfinite(weights), weights, 0.0)
        products = np.stack([unit * external, unit * unit, external * external]) @ weights
        for time, row in zip(samples.time[chosen].tolist(), products.T, strict=True):
            if not 0 <= time - self._begin < WINDOW * 1e9:
                self._end_window()
                self._begin = time
            self._sums += row

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows of the changes of the payload."""
        self._end_window()
        if len(self._windows) < 2 * NEIGHBOURS:
            return []
        begins, masses, explained = (np.array(x) for x in zip(*self._windows, strict=True))
        steps = np.abs(np.diff(masses))
        usual = max(MIN_CHANGE, SIGMAS * 1.4826 * float(np.median(steps)))
        jumps = np.zeros(len(masses))
        for k in range(NEIGHBOURS, len(masses) - NEIGHBOURS + 1):
            sides = slice(k - NEIGHBOURS, k), slice(k, k + NEIGHBOURS)
            before, after = (float(np.median(masses[side])) for side in sides)
            change = after - before
            lasting = all(np.ptp(masses[side]) < 0.5 * abs(change) for side in sides)
            if lasting and max(np.median(explained[side]) for side in sides) > MIN_EXPLAINED:
                jumps[k] = change
        rows = []
        for k in np.flatnonzero(np.abs(jumps) > usual).tolist():
            near = jumps[max(0, k - NEIGHBOURS) : k + NEIGHBOURS + 1]
            if abs(jumps[k]) == np.abs(near).max():
                row = {'kind': 'payload', 'begin': int(begins[k]), 'duration': 0.0}
                rows.append({**row, 'link': self._frame, 'mass': float(jumps[k])})
        return rows

    def _end_window(self) -> None:
        product, square, total = self._sums
        if square > 0.0:
            explained = product * product / (square * total) if total > 0.0 else 0.0
            self._windows.append((self._begin, product / square, explained))
        self._sums = np.zeros(3)
