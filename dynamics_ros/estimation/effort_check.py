# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks at rest whether reported efforts match their configured meaning.

At rest and without contact the motors carry the weight: tau = g(q). The check names the most
likely alternative meaning; it cannot be certain, since an unknown payload or a contact also causes
a mismatch.
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
from dynamics_ros.reasons import Explanation, Figure, Reason

from .uncertainty.thresholds import unmeasured_friction

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

    from .effort_model import EffortModel

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

MIN_SAMPLES = 10
"""Minimum number of samples for a mean."""

SPACING = 30
"""Maximum number of samples used per window."""

AGAIN = 5 * 10**9
"""Time after a report before the next check [ns]."""

LOADED = 0.1
"""Minimum share of the largest gravity torque for a joint to be checked."""

MIN_LOAD = 0.2
"""Largest gravity torque below which no check is possible [Nm or N]."""

SMALL = 0.15
"""Share of the gravity torque below which efforts do not carry the weight."""

MIN_CURRENT = 0.01
"""Minimum effort per gravity torque of a motor current: 100 Nm/A is a large gear."""

UNLIKE = 0.25
"""Minimum ratio, relative to the largest one, of currents of joints with different gears."""

ALIKE = (0.7, 1.4)
"""Range of effort over gravity torque that an unknown payload can explain."""

MIN_FRICTION_RATIO = 3.0
"""Minimum ratio of the gravity torque of a joint to the friction that may hold it."""


class EffortVerdict(Enum):
    """Most likely meaning of the reported efforts."""

    EXPECTED = 'as configured'
    UNLOADED = 'unknown: gravity hardly loads a joint in this posture'
    ZEROS = 'zeros'
    COMPENSATED = 'without what carries the weight'
    NOT_COMPENSATED = 'with what carries the weight'
    OTHER_UNIT = 'in another unit, such as currents'
    OPPOSITE = 'of the opposite sign'
    UNEXPLAINED = 'not like the weight'


RATIO = '{ratio:.3g}'

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
"""Verdicts that a contact or a particular posture can also cause."""


@dataclass(frozen=True)
class EffortReport:
    """Result of an effort check.

    Attributes:
        verdict: most likely meaning of the efforts.
        advice: text for the user; empty if the efforts are as expected.
    """

    verdict: EffortVerdict
    advice: str


class EffortCheck:
    """Checks reported efforts whenever the robot is at rest, at most every few seconds.

    Attributes:
        next: stamp from which on a sample is needed [ns].
        report: the last report; None before the first. After a report that all is as expected, a
            mere mismatch with the weight is taken for a contact or a load and not reported.
    """

    def __init__(
        self,
        robot: Robot,
        model: EffortModel,
        *,
        friction: Vector | None = None,
        window: float = 0.3,
        max_velocity: float = 0.02,
    ) -> None:
        """Creates a check without samples.

        Args:
            robot: provides the gravity torques.
            model: configured meaning of the efforts.
            friction: (nv) largest static friction; None is that of the model, or of usual gears
                where it has none [Nm or N].
            window: averaging time at rest [s].
            max_velocity: speed above which a joint is moving [rad/s, times ``model.motion``].

        Raises:
            InvalidArgumentError: a value is not positive.
        """
        check_positive('window', window)
        check_positive('max_velocity', max_velocity)
        self.report: EffortReport | None = None
        self._robot = robot
        self._model = model
        if friction is None:
            dry = model.coulomb + np.maximum(model.stribeck, 0.0)
            friction = np.where(dry > 0.0, dry, unmeasured_friction(robot, dry))
        self._friction = friction
        self._window = round(window * 1e9)
        self._max_velocity = max_velocity * model.motion
        self._samples: deque[tuple[int, Vector]] = deque()
        self._last = self.next = 0

    def wants(self, stamp: int) -> bool:
        """Whether a sample with the given stamp [ns] is needed."""
        return stamp >= self.next or stamp < self._last

    def add_all(self, stamps: Stamps, q: Vector, v: Vector, effort: Vector) -> None:
        """Adds consecutive samples, one per row; see ``add``."""
        for i in wanted(stamps, self):
            self.add(int(stamps[i]), q[i], v[i], effort[i])

    def add(self, stamp: int, q: Vector, v: Vector, effort: Vector) -> None:
        """Adds a sample: stamp [ns], configuration, velocity and reported effort."""
        if not self.wants(stamp):
            return
        samples = self._samples
        self._last, self.next = stamp, stamp + self._window // SPACING
        if (np.abs(v) > self._max_velocity).any() or (samples and stamp <= samples[-1][0]):
            samples.clear()
            return
        samples.append((stamp, effort))
        if stamp - samples[0][0] >= self._window and len(samples) >= MIN_SAMPLES:
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
        if load < MIN_LOAD:
            return EffortReport(EffortVerdict.UNLOADED, '')
        if not effort[base:].any():
            return EffortReport(EffortVerdict.ZEROS, ADVICE[EffortVerdict.ZEROS])
        # Friction can hold a joint with any effort between its weight less and plus friction.
        friction = self._friction[base:]
        loaded = np.abs(gravity) > np.maximum(LOADED * load, MIN_FRICTION_RATIO * friction)
        if not loaded.any():
            return EffortReport(EffortVerdict.UNLOADED, '')
        ratios = torque[loaded] / gravity[loaded]
        ratio = float(np.median(ratios))
        held = float(np.median(friction[loaded] / np.abs(gravity[loaded])))
        verdict = self._likeness(ratios, ratio, held)
        expected = verdict is EffortVerdict.EXPECTED
        if expected:
            return EffortReport(verdict, '')
        head, sign, tail = ADVICE[verdict].partition(RATIO)
        figures = (Figure(ratio, '.3g'),) if sign else ()
        return EffortReport(verdict, Explanation(Reason.OTHER, head, *figures, tail))

    def _likeness(self, ratios: Vector, ratio: float, friction: float) -> EffortVerdict:
        alike = ALIKE[0] - friction <= ratio <= ALIKE[1] + friction
        small = np.median(np.abs(ratios)) < max(SMALL, friction)
        # Motor currents carry the weight with one sign, at ratios that depend on the gears.
        currents = bool(ratios.min() > max(MIN_CURRENT, UNLIKE * ratios.max()))
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
