# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether reported efforts look like what the effort model takes them for, from a moment at rest.

At rest and without contact the motors carry the weight: tau = g(q). The check says what else the
efforts look like; it cannot know, since an unknown payload or a contact looks odd as well.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.samples.sparse import wanted
from dynamics_ros.multibody.arguments import check_positive

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

    from .effort_model import EffortModel

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

LEAST_SAMPLES = 10
"""A mean of fewer says too little."""

SPACING = 30
"""Samples that a window is looked at in at most."""

AGAIN = 5 * 10**9
"""ns after a report until the next moment at rest is looked at."""

LOADED = 0.1
"""Share of the largest gravity torque from which on a joint is looked at."""

LEAST_LOAD = 0.2
"""Largest gravity torque below which nothing can be said [Nm or N]."""

SMALL = 0.15
"""Share of the weight below which efforts do not carry it."""

LEAST_CURRENT = 0.01
"""Effort over gravity torque of a motor current at least: 100 Nm/A is a large gear."""

UNLIKE = 0.25
"""How much smaller than the largest of these ratios a current of another gear may be."""

ALIKE = (0.7, 1.4)
"""Effort over gravity torque that an unknown payload or friction may well explain."""


class EffortVerdict(Enum):
    """What efforts look like."""

    EXPECTED = 'as configured'
    UNLOADED = 'unknown: gravity hardly loads a joint in this posture'
    ZEROS = 'zeros'
    COMPENSATED = 'without what carries the weight'
    NOT_COMPENSATED = 'with what carries the weight'
    OTHER_UNIT = 'in another unit, such as currents'
    OPPOSITE = 'of the opposite sign'
    UNEXPLAINED = 'not like the weight'


ADVICE = {
    EffortVerdict.ZEROS: 'efforts are all zero: this robot does not report them',
    EffortVerdict.COMPENSATED: (
        'efforts look gravity-compensated: set effort.includes_gravity to false'
    ),
    EffortVerdict.NOT_COMPENSATED: (
        'efforts look as if they contained what carries the weight: set effort.includes_gravity '
        'to true'
    ),
    EffortVerdict.OTHER_UNIT: (
        'efforts look like currents or another unit, about {ratio:.3g} of the torques that carry '
        'the weight: set effort.scale'
    ),
    EffortVerdict.OPPOSITE: 'efforts look to be of the opposite sign: set effort.scale to -1',
    EffortVerdict.UNEXPLAINED: (
        'efforts at rest do not match the weight ({ratio:.3g} of it): an unknown payload, a '
        'contact, or efforts that are no torques'
    ),
}


DOUBTFUL = (EffortVerdict.UNLOADED, EffortVerdict.OTHER_UNIT, EffortVerdict.UNEXPLAINED)
"""What a contact or a posture may look like as well."""


@dataclass(frozen=True)
class EffortReport:
    """What came out.

    Attributes:
        verdict: what efforts look like.
        advice: for a person; empty where all is as it should be.
    """

    verdict: EffortVerdict
    advice: str


class EffortCheck:
    """Looks at efforts at moments of rest, every few seconds at most.

    Attributes:
        next: stamp from which on a sample is of use [ns].
        report: of the last of them; None until the first. Where all was as expected before, what
            merely does not match the weight is a contact or a load, and no report.
    """

    def __init__(
        self, robot: Robot, model: EffortModel, *, window: float = 0.3, max_velocity: float = 0.02
    ) -> None:
        """Start to look.

        Args:
            robot: whose gravity torques are compared.
            model: what efforts are taken for.
            window: time at rest that is averaged [s].
            max_velocity: a joint faster than this is moving [rad/s or m/s].

        Raises:
            InvalidArgumentError: a value is not positive.
        """
        check_positive('window', window)
        check_positive('max_velocity', max_velocity)
        self.report: EffortReport | None = None
        self._robot = robot
        self._model = model
        self._window = round(window * 1e9)
        self._max_velocity = max_velocity
        self._samples: deque[tuple[int, Vector]] = deque()
        self._last = self.next = 0

    def wants(self, stamp: int) -> bool:
        """Whether a sample of that stamp [ns] is of use."""
        return stamp >= self.next or stamp < self._last

    def add_all(self, stamps: Stamps, q: Vector, v: Vector, effort: Vector) -> None:
        """Take consecutive samples in, rows as the arguments of ``add``."""
        for i in wanted(stamps, self):
            self.add(int(stamps[i]), q[i], v[i], effort[i])

    def add(self, stamp: int, q: Vector, v: Vector, effort: Vector) -> None:
        """Take a sample in: stamp [ns], configuration, velocity, effort as reported."""
        if not self.wants(stamp):
            return
        samples = self._samples
        self._last, self.next = stamp, stamp + self._window // SPACING
        if np.abs(v).max() > self._max_velocity or (samples and stamp <= samples[-1][0]):
            samples.clear()
            return
        samples.append((stamp, effort))
        if stamp - samples[0][0] >= self._window and len(samples) >= LEAST_SAMPLES:
            mean = np.mean([x for _, x in samples], axis=0)
            samples.clear()
            self.next = stamp + AGAIN
            report, before = self._judge(q, mean), self.report
            expected = before is not None and before.verdict is EffortVerdict.EXPECTED
            if not (expected and report.verdict in DOUBTFUL):
                self.report = report

    def _judge(self, q: Vector, effort: Vector) -> EffortReport:
        base = self._robot.model.root_joint_nv
        gravity = self._robot.gravity(q)[base:]
        torque = (self._model.scale * effort + self._model.offset)[base:]
        load = np.abs(gravity).max(initial=0.0)
        loaded = np.abs(gravity) > LOADED * load
        if load < LEAST_LOAD:
            return EffortReport(EffortVerdict.UNLOADED, '')
        ratios = torque[loaded] / gravity[loaded]
        ratio = float(np.median(ratios))
        reported = bool(effort[base:].any())
        verdict = self._likeness(ratios, ratio) if reported else EffortVerdict.ZEROS
        expected = verdict is EffortVerdict.EXPECTED
        advice = '' if expected else ADVICE[verdict].format(ratio=ratio)
        return EffortReport(verdict, advice)

    def _likeness(self, ratios: Vector, ratio: float) -> EffortVerdict:
        alike = ALIKE[0] <= ratio <= ALIKE[1]
        small = np.median(np.abs(ratios)) < SMALL
        # Currents carry the weight with one sign, in shares that differ as gears do.
        currents = bool(ratios.min() > max(LEAST_CURRENT, UNLIKE * ratios.max()))
        if not self._model.includes_gravity:
            if alike:
                return EffortVerdict.NOT_COMPENSATED
            return EffortVerdict.EXPECTED if small else EffortVerdict.UNEXPLAINED
        if alike:
            return EffortVerdict.EXPECTED
        if currents:
            return EffortVerdict.OTHER_UNIT
        if small:
            return EffortVerdict.COMPENSATED
        if (ratios < 0.0).all():
            return EffortVerdict.OPPOSITE
        return EffortVerdict.UNEXPLAINED
