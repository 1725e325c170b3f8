# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Outcomes of the samples of an observer, and its memory of one robot model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.torque_observer import MEMORY, SAMPLED

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]


class ObserverEvent(Enum):
    """Outcome of a sample."""

    STARTED = 'started'
    """First sample; the estimate is zero."""

    UPDATED = 'updated'
    """Ordinary step."""

    DUPLICATE = 'duplicate'
    """Same stamp as the previous sample; ignored."""

    LATE = 'older than the sample before'
    """Stamp older than the previous one by at most ``timeline.JUMP``; ignored."""

    CLOCK_JUMP = 'clock jumped backwards'
    """Stamp further in the past; the observer restarts with this sample."""

    UNEVEN = 'samples missing or delayed'
    """Unusual interval (``samples/cadence.py``): the efforts in between are unknown. The estimate
    does not change, and the next step begins at this sample."""

    GAP = 'gap longer than max_gap'
    """Interval longer than ``max_gap``; the observer restarts with this sample."""


IGNORED = (ObserverEvent.DUPLICATE, ObserverEvent.LATE, ObserverEvent.UNEVEN)
"""Events of samples that do not change the estimate."""

RESTARTS = (ObserverEvent.STARTED, ObserverEvent.CLOCK_JUMP, ObserverEvent.GAP)
"""Events of samples that restart the estimate."""

UPDATED = ObserverEvent.UPDATED
"""Cached, since Enum member access costs a call and happens a thousand times a second."""


@dataclass
class ObservedRobot:
    """A robot model under observation.

    Attributes:
        robot: robot whose dynamics are subtracted.
        kernel: one step of its observer.
        memory: state carried from one step to the next.
        beginning: initial estimate, until its first sample.
        since: stamp from which on it is active [ns].
    """

    robot: Robot
    kernel: Kernel
    memory: Vector | None = None
    beginning: Vector | None = None
    since: int = 0

    def begin(
        self,
        q: ArrayLike,
        v: ArrayLike,
        effort: ArrayLike,
        settings: Vector,
        estimate: Vector,
    ) -> None:
        """Processes the first sample with a given initial estimate."""
        memory = np.zeros((MEMORY, len(estimate)))
        _, memory = self.kernel.call(q, v, effort, memory, 1.0, settings)
        memory[: SAMPLED.start] = 0.0
        memory[0] = estimate
        self.memory, self.beginning = memory, None
