# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a collision to its acknowledgement: what a detector in the same process tells the arm."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.control import CompliantArm, Reaction, ReactionSettings, Trail

Array = NDArray[np.float64]

REACTING = 'reacting'

UNTIL = 'holding until ~/acknowledge'


class Detector(Protocol):
    """What detects collisions; it takes in each joint state before the arm is commanded by it."""

    @property
    def collided(self) -> bool:
        """Whether there has been a collision since it was acknowledged."""

    @property
    def external_torques(self) -> Array | None:
        """(nv) of the environment on the robot; None where they are not known."""

    @property
    def blindness(self) -> str:
        """Why nothing would be detected now; '' otherwise."""

    def acknowledge(self) -> None:
        """Have the collision be over, and detect the next one."""


class Collisions:
    """What is to be done about a collision, until it is acknowledged.

    Attributes:
        detector: that tells; None where nothing detects.
        strategy: by which the last collision is reacted to; '' once it is acknowledged.
        reflex: that goes on; None before and after.
        trail: of the tool.
    """

    def __init__(self) -> None:
        self.detector: Detector | None = None
        self.strategy = ''
        self.reflex: Reaction | None = None
        self.trail = Trail()

    def begin_anew(self) -> None:
        """Go on with no reflex and no trail: they are of another motion, or of another arm."""
        self.reflex = None
        self.trail.forget()

    def notice(self, settings: ReactionSettings | None, arm: CompliantArm, braking: bool) -> None:
        """React to a collision that is new.

        Args:
            settings: how; None: not at all, as when a hand leads the arm.
            arm: that has collided.
            braking: whether it brakes, which goes on, or was not moved before: there is no reflex.
        """
        detector = self.detector
        if detector is None:
            return
        if settings is None:
            if detector.collided and not self.strategy:
                detector.acknowledge()
            return
        if self.strategy:
            return
        if detector.collided:
            self.strategy = settings.strategy
            if not braking:
                self.reflex = Reaction(settings, arm, self.trail)
        elif settings.strategy == 'retract':
            self.trail.note(arm.pose)

    def step(self, reflex: Reaction, q: Array, v: Array, dt: float) -> Array:
        """Torques (nv) of the reflex; arguments as of ``Reaction.step``."""
        assert self.detector is not None, 'who would have told of a collision'
        external = self.detector.external_torques
        return reflex.step(q, v, dt, np.zeros(len(v)) if external is None else external)

    def acknowledge(self) -> str:
        """Have the collision be over; what has been, in words."""
        was, self.strategy = self.strategy, ''
        self.begin_anew()
        if self.detector is not None:
            self.detector.acknowledge()
        return f'the collision is over ({was})' if was else 'there was no collision'

    def told(self, doing: str, watching: bool) -> str:
        """What is done, in the words of the status.

        Args:
            doing: beside a reaction.
            watching: whether collisions are to be reacted to.
        """
        if self.strategy:
            return '; '.join(filter(None, (f'{REACTING}: {self.strategy}', doing)))
        if watching and self.detector is not None and self.detector.blindness:
            return f'{doing}; collisions are not detected: {self.detector.blindness}'
        return doing
