# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observer of external joint torques; equations in ``algorithms/contact/torque_observer.py``.

Stamps are whole nanoseconds: seconds since 1970 in a float64 step by 0.24 us, which at 1 kHz is
already noise in dp/dt.
"""

from __future__ import annotations

import operator
from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.torque_observer import (
    EFFORT_SAMPLINGS,
    MEMORY,
    SAMPLED,
    SETTINGS,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.timeline import JUMP_NS
from dynamics_ros.multibody.arguments import check_positive, per_entry
from dynamics_ros.reasons import Explanation, Figure, Reason

from .effort_model import EffortModel
from .samples.robot_state import RobotState
from .uncertainty.thresholds import NoiseGains, noise_gains

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

GAIN = 75.0
"""Default K [1/s]. A step shows 1 - exp(-K t) after a time t, enough to see 10 N at the hand within
3 ms. Velocity noise grows with K; 1e-3 rad/s leaves less than half a newton."""

MAX_GAP = 0.5
"""Gap between samples after which an observer restarts [s]; publishers of 2 Hz stay below."""

SETTLED_AFTER = 3.0
"""Time constants after a start until an estimate reaches 95 % of its final value."""

WINDOW = 16
"""Number of intervals whose mean is the usual interval."""

MISSING_RATIO = 3
"""Ratio of an interval to the usual one above which samples are missing."""

BURST_RATIO = 10
"""Ratio of the usual interval to another one above which delayed samples arrive in a burst."""

HISTORY, MAX_UNUSUAL = 64, 48
"""If more than ``MAX_UNUSUAL`` of the last ``HISTORY`` intervals are unusual, the publisher always
sends in bursts, for example because it stamps packets on arrival. Samples are not skipped then: an
estimate with some error is better than none."""


class ObserverEvent(Enum):
    """Outcome of a sample."""

    STARTED = 'started'
    """First sample; the estimate is zero."""

    UPDATED = 'updated'
    """Ordinary step."""

    DUPLICATE = 'duplicate'
    """Same stamp as the previous sample; ignored."""

    LATE = 'older than the sample before'
    """Stamp older than the previous one by at most ``timeline.JUMP_NS``; ignored."""

    CLOCK_JUMP = 'clock jumped backwards'
    """Stamp further in the past; the observer restarts with this sample."""

    UNEVEN = 'samples missing or delayed'
    """Unusual interval (``Cadence``): the efforts in between are unknown. The estimate does not
    change, and the next step begins at this sample."""

    GAP = 'gap longer than max_gap'
    """Interval longer than ``max_gap``; the observer restarts with this sample."""


IGNORED = (ObserverEvent.DUPLICATE, ObserverEvent.LATE, ObserverEvent.UNEVEN)
"""Events of samples that do not change the estimate."""

RESTARTS = (ObserverEvent.STARTED, ObserverEvent.CLOCK_JUMP, ObserverEvent.GAP)
"""Events of samples that restart the estimate."""

UPDATED = ObserverEvent.UPDATED
"""Cached, since Enum member access costs a call and happens a thousand times a second."""


class Cadence:
    """Compares the interval before a sample with the usual interval of the previous samples.

    A changed rate of the publisher is learned after ``WINDOW`` samples.

    Attributes:
        stamps: stamps of the last samples [ns], the last one newest.
    """

    def __init__(self) -> None:
        """Creates it without samples."""
        self.stamps: deque[int] = deque(maxlen=HISTORY + WINDOW + 1)

    def uneven(self, stamp: int) -> bool:
        """Whether the interval before a sample newer than the others [ns] is unusual."""
        stamps, last = self.stamps, self.stamps[-1]
        count = min(len(stamps) - 1, WINDOW)
        interval, span = count * (stamp - last), last - stamps[-1 - count]
        if span <= BURST_RATIO * interval <= BURST_RATIO * MISSING_RATIO * span:
            return False
        return self.even(np.array([stamp])) == 0

    def even(self, stamps: Stamps) -> int:
        """Returns the number of samples before the first ``uneven`` one of stamps (n) [ns]."""
        known = len(self.stamps)
        all_stamps = np.concatenate([np.array(self.stamps, dtype=np.int64), stamps])
        last = np.arange(len(all_stamps) - 1)
        first = np.maximum(last - WINDOW, 0)
        interval = (last - first) * np.diff(all_stamps)
        span = all_stamps[last] - all_stamps[first]
        unusual = (BURST_RATIO * interval < span) | (interval > MISSING_RATIO * span)
        before = np.concatenate([[0], np.cumsum(unusual)])
        frequent = before[last] - before[np.maximum(last - HISTORY, 0)] > MAX_UNUSUAL
        uneven = (unusual & ~frequent)[known - 1 :]
        return int(uneven.argmax()) if uneven.any() else len(stamps)


class MomentumObserver:
    """First-order generalized momentum observer ([DeLuca2005], [Haddadin2017]).

    Velocities of zero leave the balance of gravity and efforts, which is right at rest.

    Attributes:
        robot: robot whose dynamics are subtracted.
        gain: (nv) [1/s].
        max_gap: that of the arguments [s].
        effort_model: meaning of the reported efforts.
        settings: (11, nv) kernel settings, rows as in ``SETTINGS`` of the algorithm.
        kernel, memory: step of the observer, and its memory.
        event: outcome of the last sample.
        restart: reason of the last restart, with the size of the stamp jump.
        stamp, cadence: stamp of the last sample [ns], None before a start; usual interval.
    """

    def __init__(
        self,
        robot: Robot,
        gain: ArrayLike = GAIN,
        *,
        effort_model: EffortModel | None = None,
        max_gap: float = MAX_GAP,
        effort_sampling: str = 'instant',
    ) -> None:
        """Creates an observer in its initial state.

        Args:
            robot: the robot, with fixed or floating base.
            gain: bandwidth K, number or (nv) [1/s]; 1/K is the time constant.
            effort_model: meaning of the reported efforts; None means the torques on the rigid
                bodies.
            max_gap: longest time between samples without a restart [s].
            effort_sampling: 'instant' if the effort is the torque at the stamp, as from a sensor;
                'interval' if it was held since the previous sample, as simulators report it.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        check_positive('max_gap', max_gap)
        if effort_sampling not in EFFORT_SAMPLINGS:
            raise InvalidArgumentError(
                'effort_sampling', repr(effort_sampling), f'one of {EFFORT_SAMPLINGS}'
            )
        self.gain = per_entry('gain', gain, robot.nv)
        if not np.all(self.gain > 0.0):
            raise InvalidArgumentError('gain', f'{self.gain.tolist()}', 'positive numbers')
        efforts = EffortModel.ideal(robot) if effort_model is None else effort_model
        size = len(efforts.scale)
        if size != robot.nv:
            raise InvalidArgumentError('effort_model', f'{size} joints', f'nv = {robot.nv}')
        self.max_gap = float(max_gap)
        self._max_gap_ns, self._sampling = round(max_gap * 1e9), effort_sampling
        self._settling = round(SETTLED_AFTER / float(self.gain.min()) * 1e9)
        self._counts = dict.fromkeys(ObserverEvent, 0)
        self._updated = 0
        self.robot, self.kernel = robot, robot.kernel('observer_step', effort_sampling)
        self.change_effort_model(efforts)
        self.cadence = Cadence()
        self.reset()

    @property
    def external_torque(self) -> Vector:
        """Last estimate (nv) of the environment's torques on the robot [Nm or N]."""
        return self.memory[0].copy()

    @property
    def counts(self) -> dict[ObserverEvent, int]:
        """Number of samples per outcome."""
        return self._counts | {ObserverEvent.UPDATED: self._updated}

    @property
    def settled(self) -> bool:
        """Whether three time constants of the slowest joint have passed since the last start."""
        return self.stamp is not None and self.stamp - self._started >= self._settling

    @property
    def steady(self) -> bool:
        """Whether it has settled, and the next sample belongs to the same robot."""
        return self.settled and not self._robot_changed

    @property
    def interval(self) -> float:
        """Mean of the last sample intervals since the start [s]; 0 for a single sample."""
        stamps = self.cadence.stamps
        return (stamps[-1] - stamps[0]) * 1e-9 / max(len(stamps) - 1, 1)

    def reset(self) -> None:
        """Clears all state except the counts; the next sample starts the observer."""
        self.memory = np.zeros((MEMORY, len(self.gain)))
        self._robot_changed = False
        self.restart: str = ObserverEvent.STARTED.value
        self.stamp: int | None = None
        self._started, self.event = 0, ObserverEvent.STARTED

    def change_robot(self, robot: Robot) -> None:
        """Changes payload or gravity; the estimate follows with its time constant 1 / gain.

        The next sample only begins an interval, since its momentum is that of another robot.

        Raises:
            InvalidArgumentError: the new robot has different velocities.
        """
        if robot.nv != self.robot.nv:
            raise InvalidArgumentError('robot', f'nv = {robot.nv}', f'nv = {self.robot.nv}')
        self._robot_changed |= robot is not self.robot
        self.robot, self.kernel = robot, robot.kernel('observer_step', self._sampling)

    def change_effort_model(self, effort_model: EffortModel) -> None:
        """Changes the effort model from the next sample on."""
        self.effort_model = effort_model
        friction_velocity, stribeck_velocity = effort_model.speeds
        rows = vars(effort_model) | {
            'gain': self.gain,
            # The torques that support a moving base are estimated, never reported.
            'gravity_share': (np.arange(len(self.gain)) >= self.robot.model.root_joint_nv)
            & (not effort_model.includes_gravity),
            'friction_velocity': friction_velocity,
            'stribeck_velocity': stribeck_velocity,
        }
        self.settings = np.array([rows[name] for name in SETTINGS], dtype=np.float64)

    def noise_gains(self, interval: float) -> NoiseGains:
        """Returns the gains from sample noise to the estimate for a sample interval [s]."""
        return noise_gains(self._sampling, self.gain, interval)

    def update(self, stamp: int, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """Processes a sample.

        Args:
            stamp: ns, on any clock that does not jump.
            q: (nq) configuration.
            v: (nv) velocity.
            effort: (nv) reported effort (see ``effort_model``); zero for a floating base.

        Returns:
            External torques (nv) on the robot; zero at a start.

        Raises:
            InvalidArgumentError: a wrong shape or NaN; the observer is left unchanged.
        """
        try:
            time = operator.index(stamp)
        except TypeError:
            raise InvalidArgumentError('stamp', repr(stamp), 'whole nanoseconds') from None
        before = self.stamp
        if (
            before is None
            or not 0 < (interval := time - before) <= self._max_gap_ns
            or self._robot_changed
            or self.cadence.uneven(time)
        ):
            return self._begin_interval(time, q, v, effort)
        estimate, self.memory = self.kernel.call(
            q, v, effort, self.memory, interval * 1e-9, self.settings
        )
        self.stamp, self.event = time, UPDATED
        self.cadence.stamps.append(time)
        self._updated += 1
        return estimate

    def _begin_interval(self, time: int, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """Uses a sample only as the start of the next interval, or not at all."""
        interval = 0 if self.stamp is None else time - self.stamp
        event = UPDATED if self._robot_changed else ObserverEvent.UNEVEN
        if self.stamp is None:
            event = ObserverEvent.STARTED
        elif interval < -JUMP_NS:
            event = ObserverEvent.CLOCK_JUMP
        elif interval <= 0:
            event = ObserverEvent.LATE if interval else ObserverEvent.DUPLICATE
        elif interval > self._max_gap_ns:
            event = ObserverEvent.GAP
        if event not in (ObserverEvent.LATE, ObserverEvent.DUPLICATE):
            memory = np.zeros_like(self.memory) if event in RESTARTS else self.memory.copy()
            _, fresh = self.kernel.call(q, v, effort, memory, 1.0, self.settings)
            memory[SAMPLED] = fresh[SAMPLED]
            self.memory, self.stamp, self._robot_changed = memory, time, False
            if event in RESTARTS:
                self.restart, self._started = event.value, time
                if interval:
                    jump = Figure(interval * 1e-9, '+.3f')
                    self.restart = Explanation(Reason.OTHER, event.value, ' (', jump, ' s)')
                self.cadence.stamps.clear()
            self.cadence.stamps.append(time)
        self.event = event
        if event is UPDATED:
            self._updated += 1
        else:
            self._counts[event] += 1
        return self.external_torque

    def go_on(self, stamps: Stamps, memory: Vector) -> None:
        """Continues after ordinary steps that were computed elsewhere.

        Args:
            stamps: (n) ns; ``cadence`` finds no uneven one, and no interval exceeds ``max_gap``.
            memory: of ``kernel`` after the last one.
        """
        self.event, self._updated = UPDATED, self._updated + len(stamps)
        self.cadence.stamps.extend(stamps.tolist())
        self.memory, self.stamp = memory, int(stamps[-1])

    def torque_on_bodies(self, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """Converts reported efforts to joint torques (nv); zero for a moving base.

        Args:
            q, v, effort: see ``update``.
        """
        tau: Vector = self.robot.kernel('torque_on_bodies').call(q, v, effort, self.settings)
        return tau

    def explains(self, first: RobotState, second: RobotState) -> bool:
        """Whether assuming the first state to be true reduces the external torque at the second.

        The state does not change.
        """

        def change(*states: RobotState) -> float:
            stamp, memory = self.stamp, self.memory
            for x in states:
                if self._robot_changed or stamp is None:
                    return 0.0
                if not 0 < x.time - stamp <= self._max_gap_ns:
                    return 0.0
                interval, stamp = (x.time - stamp) * 1e-9, x.time
                _, memory = self.kernel.call(x.q, x.v, x.effort, memory, interval, self.settings)
            return float(np.abs(memory[0] - self.memory[0]).max())

        return change(first, second) < change(second)
