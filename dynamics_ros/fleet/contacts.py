# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts of a recording, and detection of false contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import ContactState, ExternalTorques
from dynamics_ros.estimation.blocks import Estimates
from dynamics_ros.estimation.contact.detector import NO_CONTACT, RELEASE
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.recordings.states import Estimators

from .statistics import JointResiduals, ResidualSums

Array = NDArray[np.float64]

MAX_LOCATED = 100
"""Maximum number of located contacts per recording; a location takes tens of milliseconds."""

MAX_SHARE = 0.5
"""Share of a recording above which a contact cannot be distinguished from friction and wrong
masses."""


@dataclass
class Contact:
    """A contact.

    Attributes:
        begin, last: stamps of its first and its last sample [ns].
        kind: CONTACT or COLLISION.
        link: link that is touched.
        excess: largest ratio of external torque to threshold, at the peak.
        state, external, thresholds: state, estimate and thresholds (nv) at the peak.
        frame, force: force (3) at the peak in the axes of a frame [N], once it has ended.
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
    force: Any = None


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
        for i in touched:
            self._close(estimators, times[i])
            report, now = reports[i], self._open
            if now is None or excess[i] > now.excess:
                peak = estimates.states.row(i), estimates.row(i), estimates.thresholds[i]
                begin, kind = (now.begin, now.kind) if now else (report.since, report.state)
                now = self._open = Contact(begin, 0, kind, report.link, excess[i], *peak)
            now.last = times[i]
            if report.state is ContactState.COLLISION:
                now.kind = ContactState.COLLISION
        self._close(estimators, times[-1])

    def _close(self, estimators: Estimators, time: int | None = None) -> None:
        """Ends and locates the open contact if it was over before a time [ns]; None: at any."""
        contact = self._open
        if contact is None or (time is not None and 0 <= time - contact.last <= self._release):
            return
        self._open = None
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
            values, force = contact.external.values, np.asarray(contact.force, dtype=np.float64)
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
                    'vector': force.tolist(),
                    'force': float(np.linalg.norm(force)),
                    'false_contact': explained or lasted > MAX_SHARE * duration,
                }
            )
        return rows
