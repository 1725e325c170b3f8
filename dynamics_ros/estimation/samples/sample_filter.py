# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which samples of the joint states are taken: no single outlier, and nothing beyond all bounds.

A sample that departs from the one before it (``algorithms/contact/sample_departure.py``) is held
until the next one is there. If that has come back, by more than half of the way, the held one was
an outlier and is refused; else both are taken, in their order: a step that lasts is real and known
one sample late. An effort or velocity that came back is no outlier either where effort and motion
bear each other out, as that of a command that was given for one sample. What is beyond its bound is
refused at once, however long it lasts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.sample_departure import MEMORY, QUANTITIES, SETTINGS, positions
from dynamics_ros.kernels import InTurn
from dynamics_ros.multibody.arguments import check_positive, per_entry

from .robot_state import RobotStates

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIGMAS = 8.0
"""Default of usual changes that are a departure: the mean of |x| is 0.8 deviations, so that of
Gaussian noise one sample in a million is held."""

SPEED = 2.0
"""Times the velocity limit of a joint that its position may change with."""

FASTEST = 50.0
"""rad/s or m/s; the same for a joint without a limit."""

FACTOR = 10.0
"""Default bound of velocities and efforts, times the limit of the joint."""

UNLIMITED_VELOCITY, UNLIMITED_EFFORT = 1e3, 1e5
"""rad/s or m/s, Nm or N: in the place of a limit where there is none."""

FARTHEST = 1e6
"""rad or m; no position is larger."""

MAX_HELD = 8
"""Samples that wait for news of a joint whose last one is in doubt."""

FEWEST, MOST = 16, 1024
"""Samples that are compared together, a few at first: what comes after a departure is in vain."""

TOLD_FOR = 2 * 10**9
"""ns that a refusal is told of."""

USUAL = slice(3, 6)
"""Rows of the memory with the usual changes."""

RUNS = slice(MEMORY - 2, MEMORY)
"""Rows of the memory that tell how long efforts have not changed, and usually do not."""


class Sample(Protocol):
    """What is filtered."""

    @property
    def time(self) -> int:
        """The stamp [ns]."""

    @property
    def q(self) -> Vector:
        """(nq) configuration."""

    @property
    def v(self) -> Vector:
        """(nv) velocity."""

    @property
    def effort(self) -> Vector:
        """(nv) as reported."""


S = TypeVar('S', bound=Sample)


class SampleFilter(Generic[S]):
    """Takes samples one by one and hands on those that are plausible.

    Attributes:
        refused: how many were refused, by what of which joint.
        problem: why the last two or more were refused; empty where one of them was not.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        velocity_noise: ArrayLike,
        effort_noise: ArrayLike,
        sigmas: float = SIGMAS,
        velocity_factor: float = FACTOR,
        effort_factor: float = FACTOR,
        effort_scale: ArrayLike = 1.0,
        max_gap: float = 0.1,
        consistent: Callable[[S, S], bool] | None = None,
    ) -> None:
        """Begin without a sample.

        Args:
            robot: whose joints.
            velocity_noise: standard deviation of a velocity, number or (nv) [rad/s or m/s].
            effort_noise: of an effort as a torque, number or (nv); inf: the effort does not
                matter [Nm or N].
            sigmas: a change is a departure from so many usual ones on, and no less than so many
                deviations of the noise.
            velocity_factor, effort_factor: bounds, times the limits of each joint.
            effort_scale: torque over reported effort, number or (nv).
            max_gap: after a longer time without a sample the next one is taken as it is [s].
            consistent: whether the motion to the second of two samples is explained better with the
                first than without; None never says so.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        for name, value in (
            ('sigmas', sigmas),
            ('velocity_factor', velocity_factor),
            ('effort_factor', effort_factor),
            ('max_gap', max_gap),
        ):
            check_positive(name, value)
        nv, base = robot.nv, robot.model.root_joint_nv
        scale = np.abs(per_entry('effort_scale', effort_scale, nv))
        scale[scale == 0.0] = 1.0
        speed, fastest, largest = (
            np.full(nv, value) for value in (FASTEST, UNLIMITED_VELOCITY, UNLIMITED_EFFORT)
        )
        for limit, *places in (
            (robot.velocity_limits, (fastest, velocity_factor), (speed, SPEED)),
            (robot.effort_limits, (largest, effort_factor)),
        ):
            # A limit of 0 in a description means that nobody has filled it in.
            known = np.isfinite(limit) & (limit > 0.0)
            for row, factor in places:
                row[base:][known] = factor * limit[known]
        noise = {
            'velocity_floor': per_entry('velocity_noise', velocity_noise, nv, least=0.0),
            'effort_floor': per_entry('effort_noise', effort_noise, nv, least=0.0, infinite=True)
            / scale,
        }
        rows = {
            'sigmas': np.full(nv, sigmas),
            'speed': speed,
            'position_bound': np.full(nv, FARTHEST),
            'velocity_bound': fastest,
            'effort_bound': largest / scale,
        } | {
            # Of a difference of two; kernels take finite numbers.
            name: np.minimum(sigmas * np.sqrt(2.0) * value, FARTHEST * UNLIMITED_EFFORT)
            for name, value in noise.items()
        }
        self._settings = np.array([rows[name] for name in SETTINGS])
        self._robot = robot
        self._names = {i: name for name, i in robot.joint_v_indices.items()}
        self._kernel = robot.kernel('sample_departure')
        self._in_turn = InTurn(self._kernel)
        self._longest = round(max_gap * 1e9)
        self._memory = np.zeros((MEMORY, nv))
        self._consistent = consistent or (lambda first, second: False)
        self.refused: Counter[str] = Counter()
        self.problem = ''
        self._refusing = False
        self._told, self._told_at = '', 0
        self.restart()

    def restart(self, sample: S | None = None) -> None:
        """Take the next sample as it is, or this one; what is usual stays."""
        self._stamp: int | None = None
        self._held: list[S] = []
        if sample is not None:
            self._begin(sample)

    def inherit(self, other: SampleFilter[S]) -> bool:
        """Go on where another has been; whether both do the same, of the same joints."""
        self.refused = other.refused
        if self._names != other._names or self._settings.shape != other._settings.shape:
            return False
        if not np.array_equal(self._settings, other._settings) or self._longest != other._longest:
            return False
        self._memory, self._stamp, self._held = other._memory, other._stamp, other._held
        self._told, self._told_at = other._told, other._told_at
        return True

    def recent(self, stamp: int) -> str:
        """What has been refused in the last moments before a stamp [ns]; empty for nothing."""
        return self._told if 0 <= stamp - self._told_at < TOLD_FOR else ''

    @property
    def effort_runs(self) -> Vector:
        """(2, nv) for how many samples efforts have been the same, and usually are at most."""
        return self._memory[RUNS]

    def passing(self, states: RobotStates) -> Iterator[Vector]:
        """Take the first of consecutive states, as long as ``take`` would hand each on at once.

        Yields:
            Of some states in a row (n, 2, nv): ``effort_runs`` at each of them.
        """
        if self._held or self._refusing or self._stamp is None:
            return
        steps = np.diff(states.time, prepend=self._stamp)
        other = (steps <= 0) | (steps > self._longest)
        begin, end, some = 0, int(other.argmax()) if other.any() else len(steps), FEWEST
        while begin < end:
            _, q, v, effort, *_ = states.part(begin, min(begin + some, end))
            intervals = steps[begin : begin + len(q)] * 1e-9
            _, _, excess, memories = self._in_turn(
                q, v, effort, self._memory, intervals, self._settings
            )
            departs = excess > 0.0
            count = int(departs.argmax()) if departs.any() else len(q)
            if count:
                self.problem = ''
                self._memory = memories[count - 1].copy()
                self._stamp = int(states.time[begin + count - 1])
                yield memories[:count, RUNS]
            if count < len(q):
                return
            begin, some = begin + count, min(2 * some, MOST)

    def take(self, sample: S, *, merged: bool = False) -> list[S]:
        """The samples that are to be used now, oldest first: none, this one, or held ones and this.

        A stamp that is not newer than the last one is left to others.

        Args:
            sample: with finite numbers.
            merged: whether of some joints it repeats what was known before.
        """
        refusing, self._refusing, self.problem = self._refusing, False, ''
        stamp = self._stamp
        if stamp is None or sample.time < stamp or sample.time - stamp > self._longest:
            # What is held has no successor near it, and is as good as any first one.
            held, self._held = self._held, []
            if self._is_beyond(sample, self._compared(sample)[1], refusing):
                return held
            if stamp is None or sample.time > stamp:
                self._begin(sample)
            return [*held, sample]
        held = self._held
        if sample.time <= (held[-1].time if held else stamp):
            self._refusing = refusing
            return [] if held or refusing else [sample]
        _, beyond, excess, memory = self._compared(sample)
        if excess > 0.0 and self._is_beyond(sample, beyond, refusing):
            return []
        if held:
            return self._decide(sample, merged)
        if excess > 0.0:
            self._held = [sample]
            return []
        self._memory, self._stamp = memory, sample.time
        return [sample]

    def _decide(self, sample: S, merged: bool) -> list[S]:
        """What becomes of the held samples with the next one."""
        held, first = self._held, self._held[0]
        departs, _, _, memory = self._compared(first)
        doubtful = departs > 0.5
        before, there, now = self._memory[:3], self._values(first), self._values(sample)
        if merged and len(held) < MAX_HELD and not (now != there)[doubtful].any():
            # No news of these joints.
            held.append(sample)
            return []
        back = doubtful & (np.abs(now - before) < 0.5 * np.abs(there - before))
        self._held = []
        believed = not back[0].any() and self._consistent(first, sample)
        if back.any() and not believed:
            self._refuse(first, back, 'departs from its neighbours')
            # What comes often is usual.
            self._memory[USUAL] = memory[USUAL]
            return self.take(sample)
        for one in held:
            self._memory, self._stamp = self._compared(one)[3], one.time
        return [*held, *self.take(sample)]

    def _compared(self, sample: S) -> tuple[Vector, Vector, float, Vector]:
        interval = 0.0 if self._stamp is None else (sample.time - self._stamp) * 1e-9
        return self._kernel.call(
            sample.q, sample.v, sample.effort, self._memory, interval, self._settings
        )

    def _values(self, sample: S) -> Vector:
        rows = positions(self._robot.model, sample.q.tolist()), sample.v, sample.effort
        return np.array(rows, dtype=np.float64)

    def _begin(self, sample: S) -> None:
        self._memory[:3] = self._values(sample)
        self._stamp = sample.time

    def _is_beyond(self, sample: S, beyond: Vector, again: bool) -> bool:
        marks = beyond > 0.5
        if marks.any():
            told = self._refuse(sample, marks, 'is beyond all bounds')
            self.problem = told if again else ''
        self._refusing = bool(marks.any())
        return self._refusing

    def _refuse(self, sample: S, marks: Mask, why: str) -> str:
        """Count a refused sample by what is wrong with it; the first of that in words."""
        words, values = [], self._values(sample)
        for row, i in zip(*np.nonzero(marks), strict=True):
            what = f'{QUANTITIES[row]} of {self._names.get(int(i), "the base")} {why}'
            self.refused[what] += 1
            words.append(f'{what} ({values[row, i]:.4g})')
        self._told, self._told_at = words[0], sample.time
        return words[0]
