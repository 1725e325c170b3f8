# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact detector: contact and collision state, and the touched link."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.unexplained import MEMORY, ROWS, UNWATCHED
from dynamics_ros.estimation.uncertainty.thresholds import Unexplained, slow_speeds
from dynamics_ros.multibody.arguments import check_not_negative, per_entry

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

RELEASE = 0.05
"""Time without an exceeded threshold after which a contact ends: four time constants of the default
observer [s]."""

DEBOUNCE = 0.001
"""Time for which a threshold is exceeded before it triggers, which takes two samples [s]."""

NEVER = sys.maxsize
"""Start stamp of a condition that does not hold."""


class ContactState(IntEnum):
    """Contact state of the robot; values as in the ContactState message."""

    NONE = 0
    CONTACT = 1
    COLLISION = 2


NO_CONTACT = ContactState.NONE
"""Cached, since Enum member access costs a call and happens a thousand times a second."""


@dataclass(frozen=True)
class ContactReport:
    """Contact state at a sample.

    Attributes:
        state: contact state; a collision stays until reset.
        link: the touched link; empty without contact.
        collision_latched: whether a collision waits for a reset.
        since: stamp of the sample at which this state began [ns].
    """

    state: ContactState
    link: str
    collision_latched: bool
    since: int


class Compared(NamedTuple):
    """External torques and the thresholds that they exceed.

    Attributes:
        values: (nv) external torques [Nm or N].
        added: (nv) motion-dependent part of the thresholds [Nm or N].
        above: (2, nv) whether the contact and the collision threshold is exceeded.
        excess: positive if any threshold is exceeded.
        deviation: (nv) deviation of the values without contact, if calibrated [Nm or N].
    """

    values: Vector
    added: Vector
    above: Vector
    excess: float
    deviation: Vector | None = None


class ContactDetector:
    """Detects contact and collision by two thresholds per joint on external torque [Haddadin2017].

    A threshold is a constant plus a term proportional to the speed of the joint: unmodeled friction
    and model errors grow with motion, and the threshold at rest can stay low.

    A threshold triggers once a joint has exceeded it continuously for the debounce time, so that
    one noisy sample is no contact. Contact ends when all joints have stayed below their thresholds
    for the release time. A contact on a link loads only the joints between the link and the root,
    so the touched link is taken to be the one behind the last joint that exceeds its threshold. A
    force whose line of action passes through the axis of that joint does not load it, and the
    contact is then assigned to a link too close to the root.

    With a calibrated model of residual torques, thresholds also depend on load and reversals.

    Attributes:
        calibrated: whether such a model is given.
        constants: (2, nv) contact and collision thresholds at rest [Nm or N].
        report: contact state at the last sample.
        kernel, memory: comparison with the thresholds, and its memory.
        deviation: (nv) deviation without contact at the last sample, if calibrated [Nm or N].
        stamp: that of the last comparison [ns]; negative if joints count as just reversed.
    """

    def __init__(
        self,
        robot: Robot,
        contact_thresholds: ArrayLike,
        collision_thresholds: ArrayLike,
        *,
        velocity_term: ArrayLike = 0.0,
        debounce: float = DEBOUNCE,
        release: float = RELEASE,
        residuals: Unexplained | None = None,
        velocity_noise: ArrayLike = 0.0,
    ) -> None:
        """Creates a detector in the state without contact.

        Args:
            robot: the robot. A moving root joint is not monitored: ground forces load it.
            contact_thresholds: number or (nv), not negative; inf disables a joint [Nm].
            collision_thresholds: likewise; a joint may have only one of the two [Nm].
            velocity_term: number or (nv), threshold increase per speed [Nms/rad or Ns/m].
            debounce: debounce time [s]; 0 accepts a single sample.
            release: release time [s].
            residuals: residual torques in motion, by a calibration; None: unknown.
            velocity_noise: number or (nv), deviation of one velocity [rad/s or m/s].

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        check_not_negative('debounce', debounce)
        check_not_negative('release', release)
        self._debounce, self._release = round(debounce * 1e9), round(release * 1e9)
        self._base_nv = robot.model.root_joint_nv
        self._velocity_term = per_entry('velocity_term', velocity_term, robot.nv, least=0.0)
        self.kernel = robot.kernel('contact_excess')
        self.calibrated = residuals is not None
        noise = per_entry('velocity_noise', velocity_noise, robot.nv, least=0.0)
        self._rows = np.zeros((len(ROWS), robot.nv))
        self._rows[-1] = slow_speeds(robot, noise)
        if residuals is not None:
            self._rows[:-1] = [getattr(residuals, name) for name in ROWS[:-1]]
        self._sigmas = np.ones(robot.nv)
        self.memory, self.stamp = np.zeros((MEMORY, robot.nv)), -1
        self.deviation = self._rows[0]
        self._still = np.zeros(robot.nv)
        self.change_thresholds(contact_thresholds, collision_thresholds)
        self._links = _links_behind(robot)
        self._since: Stamps = np.zeros(0, dtype=np.int64)
        self._seen, self._quiet_since, self._running = 0, 0, False
        self.reset()

    @property
    def thresholds(self) -> Vector:
        """(2, nv) contact and collision thresholds at the last sample [Nm or N].

        inf for a joint that is not monitored.
        """
        return self.constants + self._added

    def change_thresholds(self, contact: ArrayLike, collision: ArrayLike) -> None:
        """Replaces the thresholds at rest, in the constructor's format; keeps state and timers."""
        nv, given = len(self._still), {'contact': contact, 'collision': collision}
        self.constants = np.array(
            [
                per_entry(f'{kind}_thresholds', value, nv, least=0.0, infinite=True)
                for kind, value in given.items()
            ]
        )
        self.constants[:, : self._base_nv] = np.inf
        self._finite = self.constants.clip(max=UNWATCHED)
        self._added = np.zeros(nv)

    def change_noise(self, scatter: Vector, sigmas: Vector) -> None:
        """Changes the noise that a calibration adds to.

        Args:
            scatter: (nv) deviation at rest [Nm or N].
            sigmas: (nv) number of deviations that is a contact.
        """
        if self.calibrated:
            self._rows[0] = np.where(np.isfinite(scatter), scatter, 0.0)
            self._sigmas = sigmas

    def beyond_rest(self, deviation: Vector | None = None) -> Vector | None:
        """Returns the part (nv) of a deviation, by default the last, that exceeds that at rest."""
        if not self.calibrated:
            return None
        last = self.deviation if deviation is None else deviation
        squares = np.square(last) - np.square(self._rows[0])
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def reset(self) -> None:
        """Clears a latched collision and restarts the detector."""
        self.report = ContactReport(ContactState.NONE, '', False, 0)
        self._restart(0)

    def inherit(self, other: ContactDetector) -> None:
        """Takes over the contact state of another detector with the same links and debounce."""
        self.report, self._added = other.report, other._added
        self._since, self._quiet_since = other._since, other._quiet_since
        self._seen, self._running = other._seen, other._running

    @property
    def settings(self) -> tuple[Vector, ...]:
        """Last inputs of the kernel: residual model, sigmas, constants, velocity term."""
        return self._rows, self._sigmas, self._finite, self._velocity_term

    @property
    def idle(self) -> bool:
        """Whether no threshold was exceeded at the last sample, and there is no contact."""
        return self.report.state is NO_CONTACT and not self._running

    def go_on(self, stamp: int, memory: Vector, added: Vector, deviation: Vector) -> None:
        """Continues after idle samples that were compared elsewhere.

        Args:
            stamp: that of the last one [ns].
            memory, added, deviation: outputs of ``kernel`` at the last one.
        """
        self.stamp = self._seen = stamp
        self.memory, self._added, self.deviation = memory, added, deviation

    def compare(
        self,
        stamp: int,
        external_torque: Vector,
        ignored: NDArray[np.bool_] | None = None,
        v: Vector | None = None,
        load: Vector | None = None,
    ) -> Compared:
        """Compares a sample with the thresholds, for ``take``.

        Args:
            stamp: ns; after an older one, or a gap, the joints count as just reversed.
            external_torque: (nv), tared [Nm].
            ignored: (nv) mask of joints whose torque is invalid at this sample.
            v: (nv) velocity, for the motion-dependent thresholds; None means at rest.
            load: (nv) torque carried by the joints; None: 0 [Nm or N].

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        velocity = self._still if v is None else v
        torque = external_torque if ignored is None else np.where(ignored, 0.0, external_torque)
        stamp = int(stamp)
        if not 0 <= self.stamp <= stamp:
            self.stamp = stamp
            self.memory = np.stack([velocity, np.ones_like(velocity), self._still, velocity])
        load = self._still if load is None else load
        interval = (stamp - self.stamp) * 1e-9
        self.deviation, added, above, excess, self.memory = self.kernel.call(
            torque, velocity, load, self.memory, interval, *self.settings
        )
        self.stamp = stamp
        deviation = self.deviation if self.calibrated else None
        return Compared(external_torque, added, above, excess, deviation)

    def take(self, stamp: int, compared: Compared) -> ContactReport:
        """Processes a compared sample.

        A backward jump of the stamp [ns] restarts the timers and keeps a latched collision.
        """
        if stamp < self._seen:
            self._restart(stamp)
        self._added, self._seen = compared.added, stamp
        if compared.excess > 0.0:
            # Since when each joint exceeds its thresholds; stamps never decrease.
            above = np.greater(compared.above, 0.5)
            self._since = np.where(above, np.minimum(self._since, stamp), NEVER)
            self._running, self._quiet_since = True, stamp
            lasting = self._since <= stamp - self._debounce
            places = np.arange(1, lasting.shape[1] + 1) * lasting
            self.report = self._next(*(places.max(axis=1) - 1).tolist())
            return self.report
        if self._running:
            self._since[:], self._running = NEVER, False
        if self.report.state is not NO_CONTACT:
            self.report = self._next(-1, -1)
        return self.report

    def _next(self, touching: int, colliding: int) -> ContactReport:
        """Returns the report for the last joints in contact and in collision; -1 for none."""
        now, seen = self.report, self._seen
        in_contact = now.state is ContactState.CONTACT
        if now.collision_latched:
            return now
        if colliding >= 0:
            link = self._links[max(colliding, touching)]
            return ContactReport(ContactState.COLLISION, link, True, seen)
        if touching >= 0:
            since = now.since if in_contact else seen
            return ContactReport(ContactState.CONTACT, self._links[touching], False, since)
        if in_contact and seen - self._quiet_since >= self._release:
            return ContactReport(ContactState.NONE, '', False, seen)
        return now

    def _restart(self, stamp: int) -> None:
        self._seen = self._quiet_since = stamp
        self._since, self._running = np.full(self.constants.shape, NEVER), False


def _links_behind(robot: Robot) -> list[str]:
    """Returns for each velocity the link that its joint moves; mimic joints have no velocity."""
    links = [''] * robot.nv
    for joint, body in zip(robot.model.joints, robot.body_names, strict=True):
        if joint.leader is None:
            for index in joint.v_indices:
                links[index] = body
    return links
