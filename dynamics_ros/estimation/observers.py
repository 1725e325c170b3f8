# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External joint torques from joint states; equations in ``algorithms/contact/torque_observer.py``.

Stamps are whole nanoseconds: seconds since 1970 in a float64 step by 0.24 us, which at 1 kHz is
already noise in dp/dt.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.torque_observer import (
    EFFORT_SAMPLINGS,
    SAMPLED,
    SETTINGS,
    memory_rows,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.cadence import Cadence
from dynamics_ros.estimation.samples.clock_jumps import JUMP_NS
from dynamics_ros.kernels import InTurn
from dynamics_ros.multibody.arguments import check_not_negative, check_positive, per_entry

from .effort_model import EffortModel
from .observer_events import UPDATED, ObserverEvent
from .uncertainty.noise import NoiseGains, noise_gains, share_of_differences

if TYPE_CHECKING:
    from dynamics_ros.kernels import Kernel
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

Sample = tuple[int, Vector, Vector, Vector]
"""Stamp [ns], configuration, velocity, effort as reported."""

GAIN = 75.0
"""Default K [1/s]: of a step, 1 - exp(-K t) shows after a time t, enough of 10 N at the hand within
3 ms; and of velocity noise, which grows with K, 1e-3 rad/s leaves less than half a newton."""

SETTLED_AFTER = 3.0
"""Time constants after a start until an estimate has 95 % of its final value."""

MAX_MODELS = 8
"""Robots observed at a time: of more changes within a transition the oldest are given up."""


class TorqueObserver:
    """What all observers have in common: time, starts, other robots. One of its kinds is used.

    Attributes:
        gain: (nv) [1/s].
        max_gap, transition_time: s.
        effort_model: what reported efforts mean.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        robot: Robot,
        gain: ArrayLike = GAIN,
        *,
        effort_model: EffortModel | None = None,
        max_gap: float = 0.1,
        effort_sampling: str = 'instant',
        transition_time: float = 0.5,
        velocity_differenced: ArrayLike = 0.0,
    ) -> None:
        """Make an observer at its start.

        Args:
            robot: the robot, fixed or floating.
            gain: K, number or (nv) [1/s]: the bandwidth; 1/K is the time constant.
            effort_model: what reported efforts mean; None takes them for the torques on the rigid
                bodies.
            max_gap: longest time between samples after which the estimate goes on [s].
            effort_sampling: 'instant' when effort is the torque at the stamp, as of a sensor;
                'interval' when it was held since the sample before, as a simulator reports it.
            transition_time: time that it takes to another payload or gravity [s].
            velocity_differenced: number or (nv), share of the variance of noise of velocities that
                differences of positions make; what is stated of noise follows it.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        check_positive('max_gap', max_gap)
        check_not_negative('transition_time', transition_time)
        if effort_sampling not in EFFORT_SAMPLINGS:
            raise InvalidArgumentError(
                'effort_sampling', repr(effort_sampling), f'one of {EFFORT_SAMPLINGS}'
            )
        self.gain = per_entry('gain', gain, robot.nv)
        if not np.all(self.gain > 0.0):
            raise InvalidArgumentError('gain', f'{self.gain.tolist()}', 'positive numbers')
        self.effort_model = EffortModel.ideal(robot) if effort_model is None else effort_model
        if len(self.effort_model.scale) != robot.nv:
            size = len(self.effort_model.scale)
            raise InvalidArgumentError('effort_model', f'{size} joints', f'nv = {robot.nv}')
        self.max_gap = float(max_gap)
        self.transition_time = float(transition_time)
        self._longest, self._sampling = round(max_gap * 1e9), effort_sampling
        self._settling = round(SETTLED_AFTER / float(self.gain.min()) * 1e9)
        self._differenced = share_of_differences(velocity_differenced, robot.nv)
        self._settings = self._rows_of_settings(robot.model.root_joint_nv)
        self._zero = np.zeros(robot.nv)
        self._counts = dict.fromkeys(ObserverEvent, 0)
        self._updated = 0
        self._models = [self._model(robot)]
        self._cadence = Cadence()
        self.reset()

    @property
    def robot(self) -> Robot:
        """The robot whose dynamics are subtracted, or to be after a transition."""
        return self._models[-1].robot

    @property
    def settings(self) -> Vector:
        """What its kernel is told, (14, nv): rows as in ``SETTINGS`` of the algorithm."""
        return self._settings.copy()

    @property
    def external_torque(self) -> Vector:
        """The last estimate (nv), environment on robot positive [Nm or N]."""
        return self._estimate.copy()

    @property
    def event(self) -> ObserverEvent:
        """What became of the last sample."""
        return self._event

    @property
    def counts(self) -> dict[ObserverEvent, int]:
        """How often what has happened."""
        return self._counts | {ObserverEvent.UPDATED: self._updated}

    @property
    def restart(self) -> str:
        """Why it last began anew, and how far the stamp jumped then."""
        return self._restart

    @property
    def noise_has_changed(self) -> bool:
        """Whether ``noise_gains`` are others than when they were last asked for."""
        return False

    @property
    def settled(self) -> bool:
        """Whether the slowest joint has had three time constants since the last start."""
        return self._stamp is not None and self._stamp - self._started >= self._settling

    def settles(self, stamp: int) -> bool:
        """Whether it has settled with the next sample, if that has this stamp [ns]."""
        return self._stamp is not None and stamp - self._started >= self._settling

    def reset(self) -> None:
        """Forget everything but the counts; the next sample is a first one."""
        self._models = self._models[-1:]
        self._estimate = self._zero
        self._restart = ObserverEvent.STARTED.value
        self._stamp: int | None = None
        self._started, self._event = 0, ObserverEvent.STARTED

    def change_robot(self, robot: Robot) -> None:
        """Go on with another payload or gravity, without a step of the estimate.

        Over ``transition_time`` the estimate goes over from that with the old robot to that with
        the new one; both are observed meanwhile.

        Raises:
            InvalidArgumentError: the robot has other velocities.
        """
        if robot.nv != self.robot.nv:
            raise InvalidArgumentError('robot', f'nv = {robot.nv}', f'nv = {self.robot.nv}')
        if robot is self.robot:
            return
        new = self._model(robot)
        if self._stamp is None:
            self._models = [new]
            return
        # One that no sample has come for says what the one before it says: it is not kept.
        while self._models[-1].beginning is not None:
            self._models.pop()
        new.beginning, new.since = self._estimate, self._stamp
        self._models = [*self._models[1 - MAX_MODELS :], new]

    def change_effort_model(self, effort_model: EffortModel) -> None:
        """Go on with another meaning of efforts, from the next sample on."""
        self.effort_model = effort_model
        self._settings = self._rows_of_settings(self.robot.model.root_joint_nv)

    def noise_gains(self, interval: float) -> NoiseGains:
        """How noise of the samples shows in the estimate, for samples that far apart [s]."""
        return noise_gains(self.kind, self._sampling, self.gain, interval, self._differenced)

    def update(self, stamp: int | Stamps, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """Take a sample in, or with a leading axis as many as ``alike`` says or fewer.

        Args:
            stamp: ns, on any clock that does not jump.
            q: (nq) configuration.
            v: (nv) velocity.
            effort: (nv) as reported (see ``effort_model``); zero for a floating base.

        Returns:
            External torques (nv) of those taken, environment on robot positive; zero at a start.

        Raises:
            InvalidArgumentError: a wrong shape or NaN; the observer is then as it was before.
        """
        if isinstance(stamp, np.ndarray):
            return self._update_all(stamp, q, v, effort)
        try:
            time = operator.index(stamp)
        except TypeError:
            raise InvalidArgumentError('stamp', repr(stamp), 'whole nanoseconds') from None
        before = self._stamp
        if before is None or not 0 < (interval := time - before) <= self._longest:
            return self._out_of_order(time, q, v, effort)
        if self._cadence.uneven(time):
            return self._pass_over(time, q, v, effort)
        if len(self._models) > 1:
            estimate = self._transition(time, q, v, effort, interval * 1e-9)
        else:
            model = self._models[0]
            estimate, model.memory = model.kernel.call(
                q, v, effort, model.memory, interval * 1e-9, self._settings
            )
            self._estimate = model.memory[0]
        self._stamp, self._event = time, UPDATED
        self._cadence.take(time)
        self._updated += 1
        return estimate

    def _out_of_order(self, time: int, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """Take a sample in that is not the next one within ``max_gap``."""
        if self._stamp is None:
            return self._start(ObserverEvent.STARTED, time, q, v, effort)
        interval = time - self._stamp
        if -JUMP_NS <= interval <= 0:
            self._note(ObserverEvent.LATE if interval else ObserverEvent.DUPLICATE)
            return self._estimate.copy()
        reason = ObserverEvent.GAP if interval > 0 else ObserverEvent.CLOCK_JUMP
        return self._start(reason, time, q, v, effort)

    def alike(self, stamps: Stamps) -> int:
        """How many of consecutive samples ``update`` can take together, at least one.

        These are ordinary steps, all of them before or all of them after the observer settles.

        Args:
            stamps: (n) ns.
        """
        before = self._stamp
        if len(stamps) == 1 or before is None or len(self._models) > 1:
            return 1
        steps = np.diff(stamps, prepend=before)
        other = (steps <= 0) | (steps > self._longest)
        count = int(other.argmax()) if other.any() else len(stamps)
        count = self._cadence.even(stamps[:count])
        unsettled = int(np.searchsorted(stamps[:count], self._started + self._settling))
        return max(1, unsettled or count)

    def _update_all(self, stamps: Stamps, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """As many samples as ``alike`` says."""
        assert self._stamp is not None, 'samples are alike after a first one'
        (model,) = self._models
        intervals = np.diff(stamps, prepend=self._stamp) * 1e-9
        estimates, memories = InTurn(model.kernel)(
            q, v, effort, model.memory, intervals, self._settings
        )
        self._event = UPDATED
        self._updated += len(stamps)
        self._taken = stamps, memories, self._cadence.stamps
        self.keep(len(stamps))
        return estimates

    def keep(self, count: int) -> None:
        """Be as after so many of the samples that were taken together last, at least one."""
        stamps, memories, before = self._taken
        self._taken = stamps[:count], memories[:count], before
        (model,) = self._models
        self._cadence.stamps = *before, *stamps[:count].tolist()
        model.memory = memories[count - 1].copy()
        self._estimate, self._stamp = model.memory[0], int(stamps[count - 1])
        self._updated -= len(stamps) - count

    def torque_on_bodies(self, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """The torques (nv) of the joints that reported efforts mean; zero for a moving base.

        Args:
            q, v, effort: as of ``update``.
        """
        tau: Vector = self.robot.kernel('torque_on_bodies').call(q, v, effort, self._settings)
        return tau

    def preview(self, samples: Sequence[Sample]) -> Vector:
        """The estimate (nv) after some more samples, which are not taken in."""
        estimate, stamp, model = self._estimate, self._stamp, self._models[-1]
        memory = model.memory
        for time, q, v, effort in samples:
            if stamp is None or memory is None or time <= stamp:
                return self._estimate.copy()
            interval = (time - stamp) * 1e-9
            estimate, memory = model.kernel.call(q, v, effort, memory, interval, self._settings)
            stamp = time
        return estimate

    def _start(
        self, event: ObserverEvent, time: int, q: ArrayLike, v: ArrayLike, effort: ArrayLike
    ) -> Vector:
        model = self._models[-1]
        model.begin(q, v, effort, self._settings, self._zero, self._beginning)
        self._models = [model]
        self._estimate, self._restart = self._zero, event.value
        if event is not ObserverEvent.STARTED and self._stamp is not None:
            self._restart += f' ({(time - self._stamp) * 1e-9:+.3f} s)'
        self._started = self._stamp = time
        self._cadence.begin(time)
        self._note(event)
        return self._zero.copy()

    def _pass_over(self, time: int, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        """Take a sample for the beginning of the next interval alone."""
        for model in self._models:
            if model.memory is not None and model.beginning is None:
                _, fresh = model.kernel.call(q, v, effort, model.memory, 1.0, self._settings)
                model.memory = model.memory.copy()
                model.memory[SAMPLED] = fresh[SAMPLED]
        self._stamp = time
        self._cadence.take(time)
        self._note(ObserverEvent.UNEVEN)
        return self._estimate.copy()

    def _transition(
        self, time: int, q: ArrayLike, v: ArrayLike, effort: ArrayLike, interval: float
    ) -> Vector:
        """A step with the old robots and the new one, each taking over from those before it."""
        steps = []
        for model in self._models:
            if model.beginning is not None:  # its first sample: only a balance begins
                steps.append(model.beginning)
                model.begin(q, v, effort, self._settings, model.beginning, self._beginning)
                continue
            estimate, model.memory = model.kernel.call(
                q, v, effort, model.memory, interval, self._settings
            )
            steps.append(estimate)
        blended, first = steps[0], 0
        for i in range(1, len(steps)):
            estimate, model = steps[i], self._models[i]
            elapsed = (time - model.since) * 1e-9
            if elapsed >= self.transition_time:
                blended, first = estimate, i
            else:
                blended = blended + elapsed / self.transition_time * (estimate - blended)
        self._models = self._models[first:]
        self._estimate = blended
        return blended.copy()

    def _model(self, robot: Robot) -> _Model:
        kernel = robot.kernel('observer_step', self.kind, self._sampling)
        return _Model(robot, kernel, memory_rows(self.kind))

    def _rows_of_settings(self, base_nv: int) -> Vector:
        efforts = self.effort_model
        # What carries a moving base is felt, never reported.
        share = float(not efforts.includes_gravity) * (np.arange(len(self.gain)) >= base_nv)
        rows: dict[str, ArrayLike] = {'gain': self.gain, 'gravity_share': share}
        rows |= self._variances()
        rows |= {name: getattr(efforts, name) for name in SETTINGS if name not in rows}
        return np.array([np.broadcast_to(rows[name], self.gain.shape) for name in SETTINGS])

    def _variances(self) -> dict[str, ArrayLike]:
        """Of one torque and one velocity, where the kind reckons with them."""
        return {'effort_variance': 0.0, 'velocity_variance': 0.0, 'velocity_differenced': 0.0}

    def _beginning(self, memory: Vector, estimate: Vector) -> None:
        """Write into the memory of a first sample what is estimated then."""
        memory[:2] = estimate

    def _note(self, event: ObserverEvent) -> None:
        self._event = event
        self._counts[event] += 1


@dataclass
class _Model:
    """A robot that is observed.

    Attributes:
        robot: whose dynamics are subtracted.
        kernel: one step of its observer.
        rows: of its memory.
        memory: what the next step needs of the last one.
        beginning: the estimate that it begins with, until its first sample.
        since: stamp from which on it counts [ns].
    """

    robot: Robot
    kernel: Kernel
    rows: int
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
        write: Callable[[Vector, Vector], None],
    ) -> None:
        """Take the first sample: what it balances with is unknown, the estimate is given.

        ``write`` puts the estimate into the memory.
        """
        memory = np.zeros((self.rows, len(estimate)))
        _, memory = self.kernel.call(q, v, effort, memory, 1.0, settings)
        write(memory, estimate)
        self.memory, self.beginning = memory, None


class MomentumObserver(TorqueObserver):
    """First-order generalized momentum observer ([DeLuca2005], [Haddadin2017])."""

    kind = 'momentum'


class SecondOrderMomentumObserver(TorqueObserver):
    """The same with two filters of twice the gain: as late, less noise, a softer beginning."""

    kind = 'momentum_second_order'


class InverseDynamicsObserver(TorqueObserver):
    """Equations of motion with the difference of velocities for acceleration, filtered."""

    kind = 'inverse_dynamics'
