# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the robot touches something, how hard, and with which link."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.excess import UNWATCHED
from dynamics_ros.multibody.arguments import check_not_negative, finite_vector, per_entry

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

ACCELERATION_TIME = 0.02
"""Time constant of the acceleration that thresholds follow [s]: differences of velocities are
noisy."""

NOBODY = (-1, -1)
"""No joint feels a contact, none a collision."""

NEVER = sys.maxsize
"""Begin of something that does not go on."""


class ContactState(IntEnum):
    """How the robot meets its surroundings; values as in the ContactState message."""

    NONE = 0
    CONTACT = 1
    COLLISION = 2


NO_CONTACT = ContactState.NONE
"""Looked up once: members of an Enum cost a call, a thousand times a second."""


@dataclass(frozen=True)
class ContactReport:
    """The contact state at a sample.

    Attributes:
        state: a collision stays until reset.
        link: the link touched; empty without contact.
        collision_latched: whether a collision is waiting for a reset.
        since: stamp of the sample that brought this state [ns].
    """

    state: ContactState
    link: str
    collision_latched: bool
    since: int


class Exceeded(NamedTuple):
    """Which thresholds external torques exceed.

    Attributes:
        added: (nv) what motion adds to the thresholds [Nm or N].
        above: (2, nv) where that of contact, of collision, is exceeded.
        excess: above zero if any is.

    Or of several samples, with a leading axis.
    """

    added: Vector
    above: Vector | NDArray[np.bool_]
    excess: Any

    def part(self, which: int | slice) -> Exceeded:
        """Of one or some of several."""
        return Exceeded(self.added[which], self.above[which], self.excess[which])


class ContactDetector:
    """Contact and collision by two thresholds per joint on the external torque [Haddadin2017].

    A threshold is a constant, plus what may be added per speed and per acceleration of the joint:
    what friction and model leave unexplained grows with motion, and a contact at rest should not
    have to be as large as that.

    A threshold counts once a joint is above it without a break for the debounce time, so that one
    noisy sample is no contact; contact ends when all joints have been below theirs for the release
    time. Contact on a link is felt by the joints between it and the root and by none beyond: the
    link touched is taken to be the one behind the last joint that feels it. A push whose line
    passes through that joint's axis is not felt there and is put one link too near the root.

    Attributes:
        latches: whether a collision stays until ``reset``; else until ``unlatch``.
    """

    def __init__(
        self,
        robot: Robot,
        contact_thresholds: ArrayLike,
        collision_thresholds: ArrayLike,
        *,
        velocity_term: ArrayLike = 0.0,
        acceleration_term: ArrayLike = 0.0,
        debounce: float = 0.004,
        release: float = 0.05,
    ) -> None:
        """Make a detector without contact.

        Args:
            robot: the robot. A moving root joint is not watched: it feels the ground.
            contact_thresholds: number or (nv), not negative; inf for a joint not watched [Nm].
            collision_thresholds: the same; a joint needs not have both [Nm].
            velocity_term: number or (nv), added per speed [Nms/rad or Ns/m].
            acceleration_term: number or (nv), added per acceleration [Nms^2/rad or Ns^2/m].
            debounce: s; 0 believes a single sample.
            release: s.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        check_not_negative('debounce', debounce)
        check_not_negative('release', release)
        self.latches = True
        self._base_nv = robot.model.root_joint_nv
        self._velocity_term = per_entry('velocity_term', velocity_term, robot.nv, least=0.0)
        self._acceleration_term = per_entry(
            'acceleration_term', acceleration_term, robot.nv, least=0.0
        )
        self._follows_acceleration = bool(self._acceleration_term.any())
        self._above = _Debounced((2, robot.nv), debounce)
        self._kernel = robot.kernel('contact_excess')
        self._still = np.zeros(robot.nv)
        self.change_thresholds(contact_thresholds, collision_thresholds)
        self._release = round(release * 1e9)
        self._links = _links_behind(robot)
        self._stamp = 0
        self._velocity: Vector | None = None
        self._acceleration: Vector = np.zeros(robot.nv)
        self.reset()

    @property
    def thresholds(self) -> Vector:
        """(2, nv) of contact and collision in force at the last sample [Nm or N].

        inf where a joint is not watched.
        """
        return self._constants + self._added

    def write_thresholds(self, out: Vector) -> None:
        """Write ``thresholds`` (2, nv)."""
        np.add(self._constants, self._added, out)

    @property
    def constants(self) -> Vector:
        """(2, nv) the thresholds at rest."""
        return self._constants

    @property
    def contact_thresholds(self) -> Vector:
        """(nv) the first row."""
        return self.thresholds[0]

    @property
    def collision_thresholds(self) -> Vector:
        """(nv) the second row."""
        return self.thresholds[1]

    def change_thresholds(self, contact: ArrayLike, collision: ArrayLike) -> None:
        """Go on with other constants, as at the start; contacts and timers stay."""
        constants = [
            per_entry(name, value, len(self._velocity_term), least=0.0, infinite=True)
            for name, value in (
                ('contact_thresholds', contact),
                ('collision_thresholds', collision),
            )
        ]
        # One row for contacts and one for collisions.
        self._constants = np.array(constants)
        self._constants[:, : self._base_nv] = np.inf
        self._finite = self._constants.clip(max=UNWATCHED)
        self._added = np.zeros(len(self._velocity_term))

    @property
    def report(self) -> ContactReport:
        """The contact state at the last sample."""
        return self._report

    def reset(self) -> None:
        """Give up a latched collision and start over."""
        self._report = ContactReport(ContactState.NONE, '', False, 0)
        self._restart(0)

    def unlatch(self) -> None:
        """Give up a latched collision where that does not stay, before the next state."""
        if self._report.collision_latched and not self.latches:
            self.reset()

    def update(
        self,
        stamp: int,
        external_torque: ArrayLike,
        ignored: NDArray[np.bool_] | None = None,
        v: ArrayLike | None = None,
    ) -> ContactReport:
        """Take a sample in.

        Args:
            stamp: ns; after a jump backwards the timers restart and a latched collision stays.
            external_torque: (nv), tared [Nm].
            ignored: (nv) joints that are not to be believed now.
            v: (nv) velocity, for thresholds that follow it; None is at rest.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        return self.take(stamp, self.compare(stamp, external_torque, ignored, v))

    def alike(self, count: int) -> int:
        """How many of so many consecutive samples ``compare`` can take together."""
        return 1 if self._follows_acceleration else count

    def compare(
        self,
        stamp: int | Stamps,
        external_torque: ArrayLike,
        ignored: NDArray[np.bool_] | None = None,
        v: ArrayLike | None = None,
        more: Vector | None = None,
    ) -> Exceeded:
        """Compare a sample with the thresholds, or several with a leading axis.

        Args:
            stamp, external_torque, ignored, v: as of ``update``.
            more: (nv) by what thresholds are higher than their constants at this state.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        torque, velocity = external_torque, self._still if v is None else v
        # Of arrays the kernel looks at the length and for numbers that are none.
        if not (isinstance(torque, np.ndarray) and isinstance(velocity, np.ndarray)):
            torque = finite_vector('external_torque', torque, len(self._links))
            velocity = finite_vector('v', velocity, len(self._links))
        if ignored is not None:
            torque = np.where(ignored, 0.0, torque)
        finite = self._finite if more is None else self._finite + more[..., np.newaxis, :]
        exceeded = Exceeded(*self._kernel.call(torque, velocity, finite, self._velocity_term))
        if more is not None:
            exceeded = exceeded._replace(added=exceeded.added + more)
        if not self._follows_acceleration:
            return exceeded
        assert isinstance(stamp, int), 'each needs the acceleration of the one before'
        if stamp < self._stamp:
            self._restart(stamp)
        added = exceeded.added + self._of_acceleration(velocity, (stamp - self._stamp) * 1e-9)
        return Exceeded(added, np.abs(torque) > self._constants + added, math.inf)

    def take(self, stamp: int, exceeded: Exceeded) -> ContactReport:
        """Take in a sample of that stamp [ns] that has been compared."""
        if stamp < self._stamp:
            self._restart(stamp)
        self._added, self._stamp = exceeded.added, stamp
        above = self._above
        lasting: Sequence[int] = NOBODY
        if exceeded.excess > 0.0:
            lasting = above.lasting(stamp, exceeded.above.tolist())
        elif above.running:
            above.restart()
        if above.running:
            self._quiet_since = stamp
        elif self._report.state is NO_CONTACT:
            return self._report
        self._report = self._next(*lasting)
        return self._report

    def take_all(
        self, stamps: Stamps, exceeded: Exceeded, disbelieved: Callable[[int], bool]
    ) -> list[ContactReport]:
        """Take in consecutive samples that have been compared, up to one that is not believed.

        Args:
            stamps: (n) ns.
            exceeded: of all of them.
            disbelieved: whether a sample that exceeds a threshold is not to be taken.

        Returns:
            The report at each that was taken.
        """
        above = exceeded.excess > 0.0
        reports: list[ContactReport] = []
        i, count = 0, len(stamps)
        while i < count:
            if above[i] and disbelieved(i):
                break
            if i:
                self.unlatch()
            reports.append(self.take(int(stamps[i]), exceeded.part(i)))
            i += 1
            if i < count and self._report.state is NO_CONTACT and not self._above.running:
                # Nothing happens until a threshold is exceeded.
                quiet = int(above[i:].argmax()) if above[i:].any() else count - i
                if quiet:
                    reports += [self._report] * quiet
                    i += quiet
                    self._added, self._stamp = exceeded.added[i - 1], int(stamps[i - 1])
        return reports

    def _of_acceleration(self, v: Vector, interval: float) -> Vector:
        """What the acceleration adds to the thresholds."""
        if self._velocity is not None and interval > 0.0:
            difference = (v - self._velocity) / interval
            share = -np.expm1(-interval / ACCELERATION_TIME)
            self._acceleration += share * (difference - self._acceleration)
        self._velocity = v
        added: Vector = self._acceleration_term * np.abs(self._acceleration)
        return added

    def _next(self, touching: int, colliding: int) -> ContactReport:
        """What follows from the last joints that feel a contact and a collision; -1 for none."""
        now = self._report
        if now.collision_latched:
            return now
        if colliding >= 0:
            link = self._links[max(colliding, touching)]
            return ContactReport(ContactState.COLLISION, link, True, self._stamp)
        if touching >= 0:
            link, since = self._links[touching], self._stamp
            if now.state is ContactState.CONTACT:
                if now.link == link:
                    return now
                since = now.since
            return ContactReport(ContactState.CONTACT, link, False, since)
        quiet = self._stamp - self._quiet_since >= self._release
        if now.state is ContactState.CONTACT and quiet:
            return ContactReport(ContactState.NONE, '', False, self._stamp)
        return now

    def _restart(self, stamp: int) -> None:
        self._stamp = stamp
        self._quiet_since = stamp
        self._velocity = None
        self._acceleration = np.zeros(len(self._links))
        self._above.restart()


class _Debounced:
    """Which joints have been above their thresholds without a break for some time.

    Attributes:
        running: whether one is above one of them.
    """

    def __init__(self, shape: tuple[int, int], duration: float) -> None:
        self._duration = round(duration * 1e9)
        self._shape = shape
        self.restart()

    def restart(self) -> None:
        """Forget since when."""
        rows, columns = self._shape
        self._since = [[NEVER] * columns for _ in range(rows)]
        self.running = False

    def lasting(self, stamp: int, above: Sequence[Sequence[float]]) -> Sequence[int]:
        """The last of them in each row (2, nv) of what is true where one is; -1 for none."""
        self.running = False
        # Some dozen numbers: Python's are quicker than NumPy's.
        last, begin = [], stamp - self._duration
        for since, row in zip(self._since, above):
            found = -1
            for i, is_above in enumerate(row):
                if not is_above:
                    since[i] = NEVER
                    continue
                self.running = True
                if since[i] > stamp:
                    since[i] = stamp
                if since[i] <= begin:
                    found = i
            last.append(found)
        return last


def _links_behind(robot: Robot) -> list[str]:
    """For each velocity the link that its joint moves; a joint that follows has none of its own."""
    links = [''] * robot.nv
    for joint, body in zip(robot.model.joints, robot.body_names, strict=True):
        if joint.leader is None:
            for index in joint.v_indices:
                links[index] = body
    return links
