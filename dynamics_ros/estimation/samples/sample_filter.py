# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects joint state outliers and values beyond plausible bounds.

A sample that departs from its predecessor (``algorithms/contact/sample_departure.py``) is held
until the next sample arrives. If that one has returned by more than half of the change, the held
sample was an outlier and is refused. Otherwise both samples pass in order: a lasting step is real
and passes one sample late. An effort or velocity that returned also passes if effort and motion are
consistent, for example after a command that lasted one sample. Values beyond their bounds are
refused immediately, however long they last. Frequent outliers of velocities and efforts become
usual and pass; those of positions do not, because no noise exceeds what a joint can move: they are,
for example, those of a second publisher with other positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.configuration import joint_positions
from dynamics_ros.algorithms.contact.sample_departure import MEMORY, QUANTITIES, SETTINGS
from dynamics_ros.multibody.arguments import check_positive, per_entry
from dynamics_ros.reasons import Explanation, Figure, Reason

from .robot_state import RobotState

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIGMAS = 8.0
"""Number of usual changes, and of noise deviations, that make a departure. The mean of |x| of
Gaussian noise is 0.8 standard deviations, so that one sample in a million is held."""

POSITION_RATE_FACTOR = 2.0
"""Largest rate of change of a position, as a multiple of the joint's velocity limit."""

UNLIMITED_POSITION_RATE = 50.0
"""Largest rate of change of a position of a joint without velocity limit [rad/s, times the motion
that corresponds to 1 rad]."""

FACTOR = 10.0
"""Bound of velocities and efforts, as a multiple of the joint's limit."""

UNLIMITED_VELOCITY, UNLIMITED_EFFORT = 1e3, 1e5
"""Bounds for joints without limits [rad/s, as above], [Nm or N]."""

MAX_POSITION, LARGEST = 1e6, 1e11
"""Bound of position magnitudes [rad, as above]; replacement of infinite values in kernels."""

MAX_HELD = 8
"""Maximum number of samples held while no new value of a doubtful joint arrives."""

REPORTED_FOR = 2 * 10**9
"""How long a refusal is reported [ns]."""

USUAL_ROWS = slice(4, 6)
"""Rows of the memory that contain the usual changes of velocities and efforts."""

RUN_ROWS = slice(MEMORY - 2, MEMORY)
"""Rows of the memory: number of samples since each effort changed, and its usual maximum."""


class SampleFilter:
    """Filters consecutive samples and returns the plausible ones.

    Attributes:
        refused: number of refused samples by cause and joint.
        problem: cause if the last two or more samples exceeded a bound; empty otherwise.
        kernel, settings: comparison of consecutive samples, and the bounds.
        memory, stamp: of the kernel, and stamp of the last accepted sample [ns]; None without one.
        max_gap: longest time between samples that are compared [ns].
    """

    def __init__(
        self,
        robot: Robot,
        *,
        velocity_noise: ArrayLike,
        effort_noise: ArrayLike,
        effort_scale: ArrayLike = 1.0,
        motion: ArrayLike = 1.0,
        max_gap: float = 0.1,
    ) -> None:
        """Creates a filter without samples.

        Args:
            robot: the robot.
            velocity_noise: standard deviation of a velocity, number or (nv) [rad/s or m/s].
            effort_noise: standard deviation of an effort as torque, number or (nv) [Nm or N]; inf
                if the effort is not used.
            effort_scale: torque divided by reported effort, number or (nv).
            motion: motion that corresponds to 1 rad, of a sliding joint its range over 2 pi,
                number or (nv) [rad or m].
            max_gap: after a longer time without samples the next one is accepted unconditionally
                unless it exceeds a bound [s].

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        check_positive('max_gap', max_gap)
        nv, base = robot.nv, robot.model.root_joint_nv
        scale = np.abs(per_entry('effort_scale', effort_scale, nv))
        scale[scale == 0.0] = 1.0
        motion = per_entry('motion', motion, nv, least=0.0)

        def bound(limits: Vector, factor: float, unlimited: ArrayLike) -> Vector:
            # A limit of 0 in a description means that it has not been filled in.
            known = np.concatenate([np.zeros(base), limits])
            known[~(np.isfinite(known) & (known > 0.0))] = np.nan
            return np.where(np.isnan(known), unlimited, factor * known)

        speeds = robot.velocity_limits
        of_velocity = per_entry('velocity_noise', velocity_noise, nv, least=0.0)
        of_effort = per_entry('effort_noise', effort_noise, nv, least=0.0, infinite=True)
        # sqrt(2): difference of two samples. Kernels take finite numbers only.
        floor = SIGMAS * np.sqrt(2.0)
        rows = {
            'sigmas': np.full(nv, SIGMAS),
            'speed': bound(speeds, POSITION_RATE_FACTOR, UNLIMITED_POSITION_RATE * motion),
            'position_bound': MAX_POSITION * motion,
            'velocity_bound': bound(speeds, FACTOR, UNLIMITED_VELOCITY * motion),
            'effort_bound': bound(robot.effort_limits, FACTOR, UNLIMITED_EFFORT) / scale,
            'velocity_floor': np.minimum(floor * of_velocity, LARGEST),
            'effort_floor': np.minimum(floor * of_effort / scale, LARGEST),
        }
        self.settings = np.array([rows[name] for name in SETTINGS])
        self._robot = robot
        self.kernel = robot.kernel('sample_departure')
        self.max_gap = round(max_gap * 1e9)
        self.memory = np.zeros((MEMORY, nv))
        self.refused: Counter[str] = Counter()
        self.problem = ''
        self._refusing = False
        self._last_refusal = '', 0
        self.restart()

    def restart(self, sample: RobotState | None = None) -> None:
        """Clears the last sample, or sets it to ``sample``; the usual changes stay."""
        self.stamp: int | None = None
        self._held: list[RobotState] = []
        if sample is not None:
            self._begin(sample)

    def inherit(self, other: SampleFilter) -> bool:
        """Takes over the state of another filter; returns whether joints and settings are the same.

        The counts of refusals are taken over in any case.
        """
        self.refused = other.refused
        joints = self._robot.joint_v_indices == other._robot.joint_v_indices
        settings = np.array_equal(self.settings, other.settings) and self.max_gap == other.max_gap
        if not (joints and settings):
            return False
        self.memory, self.stamp, self._held = other.memory, other.stamp, other._held
        self._last_refusal = other._last_refusal
        return True

    def recent(self, stamp: int) -> str:
        """Returns the last refusal within two seconds before a stamp [ns]; empty if none."""
        cause, refused_at = self._last_refusal
        return cause if 0 <= stamp - refused_at < REPORTED_FOR else ''

    @property
    def effort_runs(self) -> Vector:
        """(2, nv) number of samples since each effort changed, and its usual maximum."""
        return self.memory[RUN_ROWS]

    @property
    def waiting(self) -> bool:
        """Whether samples are held, or the last one was refused."""
        return bool(self._held) or self._refusing

    def take(
        self,
        sample: RobotState,
        *,
        merged: bool = False,
        consistent: Callable[[RobotState, RobotState], bool] = lambda first, second: False,
    ) -> list[RobotState]:
        """Processes a sample; returns the samples to use now, oldest first.

        The result is empty, the sample itself, or held samples followed by the sample. Samples with
        a repeated or older stamp are not compared; the observer handles them.

        Args:
            sample: a sample of finite numbers.
            merged: whether the sample repeats older values of some joints.
            consistent: predicate of two samples: whether the motion to the second one is explained
                better with the first one than without it.
        """
        refusing, self._refusing, self.problem = self._refusing, False, ''
        stamp = self.stamp
        if stamp is None or sample.time < stamp or sample.time - stamp > self.max_gap:
            # Held samples have no successor to compare with: they pass like a first sample.
            held, self._held = self._held, []
            if self._exceeds_bounds(sample, self._compare(sample)[1], refusing):
                return held
            if stamp is None or sample.time > stamp:
                self._begin(sample)
            return [*held, sample]
        held = self._held
        if sample.time <= (held[-1].time if held else stamp):
            self._refusing = refusing
            return [] if held or refusing else [sample]
        _, beyond, excess, memory = self._compare(sample)
        if excess > 0.0 and self._exceeds_bounds(sample, beyond, refusing):
            return []
        if not held:
            if excess > 0.0:
                self._held = [sample]
                return []
            self.memory, self.stamp = memory, sample.time
            return [sample]
        # The sample decides whether the held ones are refused.
        first = held[0]
        departs, _, _, memory = self._compare(first)
        doubtful = departs > 0.5
        before, there, now = self.memory[:3], self._values(first), self._values(sample)
        if merged and len(held) < MAX_HELD and not (now != there)[doubtful].any():
            # The sample has no new value of the doubtful joints.
            held.append(sample)
            return []
        returned = doubtful & (np.abs(now - before) < 0.5 * np.abs(there - before))
        self._held = []
        if returned.any() and (returned[0].any() or not consistent(first, sample)):
            self._refuse(first, returned, 'departs from its neighbours')
            # Frequent departures raise the usual change, but not that of positions.
            self.memory[USUAL_ROWS] = memory[USUAL_ROWS]
            return self.take(sample)
        for state in held:
            self.memory, self.stamp = self._compare(state)[3], state.time
        return [*held, *self.take(sample)]

    def _compare(self, sample: RobotState) -> tuple[Vector, Vector, float, Vector]:
        interval = 0.0 if self.stamp is None else (sample.time - self.stamp) * 1e-9
        return self.kernel.call(
            sample.q, sample.v, sample.effort, self.memory, interval, self.settings
        )

    def _values(self, sample: RobotState) -> Vector:
        rows = joint_positions(self._robot.model, sample.q.tolist()), sample.v, sample.effort
        return np.array(rows, dtype=np.float64)

    def _begin(self, sample: RobotState) -> None:
        self.memory[:3], self.stamp = self._values(sample), sample.time

    def _exceeds_bounds(self, sample: RobotState, beyond: Vector, again: bool) -> bool:
        self._refusing = bool((beyond > 0.5).any())
        if self._refusing:
            cause = self._refuse(sample, beyond > 0.5, 'is beyond all bounds')
            self.problem = cause if again else ''
        return self._refusing

    def _refuse(self, sample: RobotState, marks: Mask, why: str) -> str:
        """Counts a refused sample under each cause; returns the first cause with its value."""
        names = {i: name for name, i in self._robot.joint_v_indices.items()}
        values, causes = self._values(sample), []
        for row, i in zip(*np.nonzero(marks), strict=True):
            cause = f'{QUANTITIES[row]} of {names.get(int(i), "the base")} {why}'
            self.refused[cause] += 1
            value = Figure(float(values[row, i]), '.4g')
            causes.append(Explanation(Reason.OTHER, cause, ' (', value, ')'))
        self._last_refusal = causes[0], sample.time
        return causes[0]
