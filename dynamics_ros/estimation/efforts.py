# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks whether reported efforts are measured, and whether they mean what is configured.

At rest and without contact the motors carry the weight: tau = g(q). ``EffortCheck`` names the most
likely other meaning of efforts that do not; an unknown payload or a contact also causes a mismatch.
``EffortWatch`` detects at every sample that a driver has stopped to measure and keeps reporting.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.reasons import Explanation, Figure, Names, Reason

from .uncertainty.thresholds import AT_REST, unmeasured_friction

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

    from .effort_model import EffortModel

Vector = NDArray[np.float64]

WINDOW, MIN_SAMPLES = 300_000_000, 4
"""Averaging time at rest [ns], and its minimum number of samples."""

AGAIN = 5 * 10**9
"""Time after a report before the next check [ns]."""

LOADED, MIN_LOAD = 0.1, 0.2
"""Minimum gravity torque of a checked joint, over the largest one; largest gravity torque below
which no check is possible [Nm or N]."""

MIN_FRICTION_RATIO = 3.0
"""Minimum ratio of the gravity torque of a checked joint to the friction that may hold it."""

SMALL, ALIKE = 0.15, (0.7, 1.4)
"""Ratios of effort to gravity torque: below the first efforts do not carry the weight; within the
others an unknown payload can explain the difference."""

MIN_CURRENT, UNLIKE = 0.01, 0.25
"""Minimum effort per gravity torque of a motor current (100 Nm/A is a large gear); minimum ratio,
relative to the largest one, of currents of joints with different gears."""

CARRIED = 0.5
"""Gravity torque that zero efforts cannot carry [Nm or N]."""

MIN_RUN, USUAL_FACTOR, MAX_USUAL_RUN = 5, 2.0, 100.0
"""An effort counts as frozen after this many unchanged samples, and after this multiple of its
usual run of unchanged samples (a driver may report efforts less often than positions)."""


class EffortVerdict(Enum):
    """Most likely meaning of the reported efforts; the value is the advice to the user."""

    EXPECTED = ''
    UNLOADED = 'gravity hardly loads a joint in this posture'
    ZEROS = 'efforts are all zero: this robot does not report them'
    COMPENSATED = 'efforts look gravity-compensated: set effort.includes_gravity to false'
    NOT_COMPENSATED = (
        'efforts look as if they contained what carries the weight: set effort.includes_gravity '
        'to true'
    )
    OTHER_UNIT = (
        'efforts look like currents or another unit, about {ratio} of the torques that carry the '
        'weight: set effort.scale'
    )
    OPPOSITE = 'efforts look to be of the opposite sign: set effort.scale to -1'
    UNEXPLAINED = (
        'efforts at rest do not match the weight ({ratio} of it): an unknown payload, a contact, '
        'or efforts that are no torques'
    )


DOUBTFUL = (EffortVerdict.UNLOADED, EffortVerdict.OTHER_UNIT, EffortVerdict.UNEXPLAINED)
"""Verdicts that a contact or a particular posture can also cause."""


class EffortReport(NamedTuple):
    """Result of an effort check.

    Attributes:
        verdict: most likely meaning of the efforts.
        ratio: their ratio to the gravity torques.
    """

    verdict: EffortVerdict
    ratio: float

    @property
    def advice(self) -> str:
        """Text for the user; empty if the efforts are as expected, or cannot be checked."""
        if self.verdict in (EffortVerdict.EXPECTED, EffortVerdict.UNLOADED):
            return ''
        head, with_ratio, tail = self.verdict.value.partition('{ratio}')
        figures = (Figure(self.ratio, '.3g'),) if with_ratio else ()
        return Explanation(Reason.OTHER, head, *figures, tail)


class EffortCheck:
    """Checks reported efforts whenever the robot is at rest, at most every few seconds.

    Attributes:
        report: the last report; None before the first. After a report that all is as expected, a
            mere mismatch with the weight is taken for a contact or a load and not reported.
    """

    def __init__(self, robot: Robot, model: EffortModel, *, friction: Vector | None = None) -> None:
        """Creates a check without samples.

        Args:
            robot: provides the gravity torques.
            model: configured meaning of the efforts.
            friction: (nv) largest static friction; None is that of the model, or of usual gears
                where it has none [Nm or N].
        """
        self.report: EffortReport | None = None
        self._robot, self._model = robot, model
        if friction is None:
            dry = model.coulomb + np.maximum(model.stribeck, 0.0)
            friction = np.where(dry > 0.0, dry, unmeasured_friction(robot, dry))
        self._friction = friction
        self._efforts: list[Vector] = []
        self._begin = self._last = self._next = 0

    def add(self, stamp: int, q: Vector, v: Vector, effort: Vector) -> None:
        """Adds a sample: stamp [ns], configuration, velocity and reported effort."""
        if self._last <= stamp < self._next:
            return
        if stamp <= self._last or _moves(v, self._model):
            self._efforts, self._next = [], 0
        else:
            self._begin = self._begin if self._efforts else stamp
            self._efforts.append(effort)
        self._last = stamp
        if len(self._efforts) >= MIN_SAMPLES and stamp - self._begin >= WINDOW:
            report = EffortReport(*self._verdict(q, np.mean(self._efforts, axis=0)))
            self._efforts, self._next = [], stamp + AGAIN
            expected = self.report is not None and self.report.verdict is EffortVerdict.EXPECTED
            if not (expected and report.verdict in DOUBTFUL):
                self.report = report

    def _verdict(self, q: Vector, effort: Vector) -> tuple[EffortVerdict, float]:
        """Returns the meaning of mean efforts at rest, and their ratio to the gravity torques."""
        base, includes_gravity = self._robot.model.root_joint_nv, self._model.includes_gravity
        gravity, friction = self._robot.gravity(q)[base:], self._friction[base:]
        weight = np.abs(gravity)
        load = weight.max(initial=0.0)
        # Friction can hold a joint with any effort between its weight less and plus friction.
        loaded = weight > np.maximum(LOADED * load, MIN_FRICTION_RATIO * friction)
        # Of a robot that reports no gravity torques, zeros at rest are the right efforts.
        if load >= MIN_LOAD and includes_gravity and not effort[base:].any():
            return EffortVerdict.ZEROS, 0.0
        if load < MIN_LOAD or not loaded.any():
            return EffortVerdict.UNLOADED, 0.0
        torque = (self._model.scale * effort + self._model.offset)[base:]
        ratios = torque[loaded] / gravity[loaded]
        ratio = float(np.median(ratios))
        held = float(np.median(friction[loaded] / weight[loaded]))
        if ALIKE[0] - held <= ratio <= ALIKE[1] + held:
            same = EffortVerdict.EXPECTED, EffortVerdict.NOT_COMPENSATED
            return same[not includes_gravity], ratio
        # Motor currents carry the weight with one sign, at ratios that depend on the gears.
        if includes_gravity and ratios.min() > max(MIN_CURRENT, UNLIKE * ratios.max()):
            return EffortVerdict.OTHER_UNIT, ratio
        if np.median(np.abs(ratios)) < max(SMALL, held):
            small = EffortVerdict.COMPENSATED, EffortVerdict.EXPECTED
            return small[not includes_gravity], ratio
        if includes_gravity and (ratios < 0.0).all():
            return EffortVerdict.OPPOSITE, ratio
        return EffortVerdict.UNEXPLAINED, ratio


class EffortWatch:
    """Detects at every sample that efforts are no longer measured.

    They are not if all are exactly zero while gravity loads the joints, or if the effort of a joint
    stays constant while the robot moves and the model predicts a different one.

    Attributes:
        reason: why the efforts are invalid; empty if they are valid.
    """

    def __init__(self, robot: Robot, model: EffortModel, sampling: str) -> None:
        """Creates a watch without samples.

        Args:
            robot: the robot.
            model: the effort model.
            sampling: 'interval' means commanded efforts, which may be constant, and zero in a fall.
        """
        self.reason = ''
        self._robot, self._model = robot, model
        self._measured = sampling == 'instant'
        self._base = robot.model.root_joint_nv
        self._still = np.zeros(robot.nv, dtype=bool)

    def suspicious(self, v: Vector, effort: Vector, runs: Vector) -> NDArray[np.bool_]:
        """Returns the mask (n) of the samples that ``contradicts`` or ``stands_still`` must judge.

        Args:
            v, effort: (n, nv) velocities and efforts of the samples.
            runs: (n, 2, nv) as of ``contradicts``.
        """
        zero = ~effort[:, self._base :].any(axis=1) & self._model.includes_gravity
        still = _moves(v, self._model) & _unchanged(runs.swapaxes(0, 1)).any(axis=1)
        return np.asarray(zero | (still & self._measured))

    def contradicts(self, q: Vector, v: Vector, effort: Vector, runs: Vector) -> bool:
        """Whether the efforts (nv) of a sample contradict the model under any external force.

        Args:
            q, v, effort: the sample.
            runs: (2, nv) current and usual number of samples with unchanged efforts.
        """
        if self.reason and self._still.any():
            return self._report(self._still & _unchanged(runs))
        self.reason = ''
        # Usually the last effort alone rules out that all are zero.
        zero = not effort[-1] and not effort[self._base :].any()
        if zero and self._model.includes_gravity and (self._measured or not _moves(v, self._model)):
            load = float(np.abs(self._robot.gravity(q)[self._base :]).max(initial=0.0))
            if load > CARRIED:
                self.reason = Explanation(
                    Reason.EFFORTS_INVALID,
                    'all efforts are zero, and the weight takes up to ',
                    Figure(load, '.1f'),
                    ': this robot does not report them, or no longer',
                )
        return bool(self.reason)

    def stands_still(self, v: Vector, external: Vector, thresholds: Vector, runs: Vector) -> bool:
        """Whether an apparent contact is caused by efforts that stay constant in motion.

        Args:
            v: (nv) velocity.
            external, thresholds: (nv) external torques and their contact thresholds.
            runs: see ``contradicts``.
        """
        still = _unchanged(runs) & (np.abs(external) > thresholds)
        if self._measured and (not still.any() or _moves(v, self._model)):
            self._report(still)
        return bool(self.reason)

    def _report(self, still: NDArray[np.bool_]) -> bool:
        """Sets ``reason`` for the joints (nv) with constant efforts; returns whether there are."""
        self._still, self.reason = still, ''
        indices = self._robot.joint_v_indices
        if names := tuple(name for name, i in indices.items() if still[i]):
            text = 'efforts do not change although the robot moves: '
            self.reason = Explanation(Reason.EFFORTS_INVALID, text, Names(names, ', '.join(names)))
        return bool(self.reason)


def _moves(v: Vector, model: EffortModel) -> Any:
    """Whether joints move, by velocities (..., nv)."""
    return (np.abs(v) > AT_REST * model.motion).any(axis=-1)


def _unchanged(runs: Vector) -> NDArray[np.bool_]:
    run, usual = runs
    return run >= MIN_RUN + USUAL_FACTOR * np.minimum(usual, MAX_USUAL_RUN)
