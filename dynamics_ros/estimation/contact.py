"""Whether the robot touches something, how hard, and with which link."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_not_negative, finite_vector, per_entry

if TYPE_CHECKING:
    from ..robot import Robot

NEVER = np.iinfo(np.int64).max
"""Begin of something that does not go on."""


class ContactState(IntEnum):
    """How the robot meets its surroundings; values as in the ContactState message."""

    NONE = 0
    CONTACT = 1
    COLLISION = 2


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


class ContactDetector:
    """Contact and collision by two thresholds per joint on the external torque [Haddadin2017].

    A threshold counts once a joint is above it without a break for the debounce time, so that one
    noisy sample is no contact; contact ends when all joints have been below theirs for the release
    time. Contact on a link is felt by the joints between it and the root and by none beyond: the
    link touched is taken to be the one behind the last joint that feels it. A push whose line
    passes through that joint's axis is not felt there and is put one link too near the root.
    """

    def __init__(
        self,
        robot: Robot,
        contact_thresholds: ArrayLike,
        collision_thresholds: ArrayLike,
        *,
        debounce: float = 0.004,
        release: float = 0.05,
    ) -> None:
        """Make a detector without contact.

        Args:
            robot: the robot. A moving root joint is not watched: it feels the ground.
            contact_thresholds: number or (nv), not negative; inf for a joint not watched [Nm].
            collision_thresholds: the same; a joint needs not have both [Nm].
            debounce: s; 0 believes a single sample.
            release: s.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        check_not_negative('debounce', debounce)
        check_not_negative('release', release)
        self.contact_thresholds = per_entry(
            'contact_thresholds', contact_thresholds, robot.nv, least=0.0, infinite=True
        )
        self.collision_thresholds = per_entry(
            'collision_thresholds', collision_thresholds, robot.nv, least=0.0, infinite=True
        )
        self.contact_thresholds[: robot.model.root_joint_nv] = np.inf
        self.collision_thresholds[: robot.model.root_joint_nv] = np.inf
        self._contact = _Debounced(self.contact_thresholds, debounce)
        self._collision = _Debounced(self.collision_thresholds, debounce)
        self._release = round(release * 1e9)
        self._links = _links_behind(robot)
        self._stamp = 0
        self.reset()

    @property
    def report(self) -> ContactReport:
        """The contact state at the last sample."""
        return self._report

    def reset(self) -> None:
        """Give up a latched collision and start over."""
        self._report = ContactReport(ContactState.NONE, '', False, 0)
        self._restart(0)

    def update(
        self, stamp: int, external_torque: ArrayLike, ignored: NDArray[np.bool_] | None = None
    ) -> ContactReport:
        """Take a sample in.

        Args:
            stamp: ns; after a jump backwards the timers restart and a latched collision stays.
            external_torque: (nv), tared [Nm].
            ignored: (nv) joints that are not to be believed now.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        magnitude = np.abs(finite_vector('external_torque', external_torque, len(self._links)))
        if ignored is not None:
            magnitude[ignored] = 0.0
        if stamp < self._stamp:
            self._restart(stamp)
        self._stamp = stamp
        touching = self._contact.lasting(stamp, magnitude)
        colliding = self._collision.lasting(stamp, magnitude)
        if self._contact.running or self._collision.running:
            self._quiet_since = stamp
        self._report = self._next(touching, colliding)
        return self._report

    def _next(
        self, touching: NDArray[np.intp] | None, colliding: NDArray[np.intp] | None
    ) -> ContactReport:
        now = self._report
        if now.collision_latched:
            return now
        if colliding is not None:
            last = max(colliding[-1], -1 if touching is None else touching[-1])
            return ContactReport(ContactState.COLLISION, self._links[last], True, self._stamp)
        if touching is not None:
            since = now.since if now.state is ContactState.CONTACT else self._stamp
            return ContactReport(ContactState.CONTACT, self._links[touching[-1]], False, since)
        quiet = self._stamp - self._quiet_since >= self._release
        if now.state is ContactState.CONTACT and quiet:
            return ContactReport(ContactState.NONE, '', False, self._stamp)
        return now

    def _restart(self, stamp: int) -> None:
        self._stamp = stamp
        self._quiet_since = stamp
        self._contact.restart()
        self._collision.restart()


class _Debounced:
    """Which joints have been above their thresholds without a break for some time."""

    def __init__(self, thresholds: NDArray[np.float64], duration: float) -> None:
        self._thresholds = thresholds
        self._duration = round(duration * 1e9)
        self._since = np.full(len(thresholds), NEVER)
        self.running = False

    def restart(self) -> None:
        """Forget since when."""
        self._since.fill(NEVER)
        self.running = False

    def lasting(self, stamp: int, magnitude: NDArray[np.float64]) -> NDArray[np.intp] | None:
        """Their indices, ascending; None when there are none, which is usual and quick."""
        above = magnitude > self._thresholds
        if not above.any():
            if self.running:
                self.restart()
            return None
        self.running = True
        self._since = np.where(above, np.minimum(self._since, stamp), NEVER)
        lasting = np.flatnonzero(stamp - self._duration >= self._since)
        return lasting if len(lasting) else None


def _links_behind(robot: Robot) -> list[str]:
    """For each velocity the link that its joint moves; a joint that follows has none of its own."""
    links = [''] * robot.nv
    for joint, body in zip(robot.model.joints, robot.body_names, strict=True):
        if joint.leader is None:
            for index in joint.v_indices:
                links[index] = body
    return links
