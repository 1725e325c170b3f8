"""External joint torques from the generalized momentum, without acceleration or inertia inverse.

The momentum p = M(q) v obeys ([DeLuca2005], [Haddadin2017])

    dp/dt = tau + beta + tau_ext,        beta = C(q, v)^T v - g(q),

and the observer is to be the unit-gain low-pass filter ([Haddadin2017])

    dr/dt = K (tau_ext - r).

Between two samples, a time T apart, the mean of tau_ext follows from the momentum balance without
any derivative:

    e = (p_1 - p_0) / T - mean of (tau + beta),

and for an input that is constant at e the filter has the exact solution

    r_1 = exp(-K T) r_0 + (1 - exp(-K T)) e,

which is stable for every T and K and has gain 1: no bias in steady state, at rest or moving. The
mean of beta is the trapezoid of its two samples (error T^2/12 beta''). tau is either sampled, then
its mean is the trapezoid too, or was held over the interval, then it is the mean itself.
"""

from __future__ import annotations

import operator
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_positive, finite_vector, per_entry
from ..errors import InvalidArgumentError

if TYPE_CHECKING:
    from ..robot import Robot

Vector = NDArray[np.float64]

SETTLED_AFTER = 3.0
"""Time constants after a start until an estimate has 95 % of its final value."""

EFFORT_SAMPLINGS = ('instant', 'interval')


class ObserverEvent(Enum):
    """What became of a sample."""

    STARTED = 'started'
    """The first sample; the estimate is zero."""

    UPDATED = 'updated'
    """An ordinary step."""

    DUPLICATE = 'duplicate'
    """The stamp of the sample before; ignored."""

    CLOCK_JUMP = 'clock jumped backwards'
    """A stamp in the past; started anew from this sample."""

    GAP = 'gap longer than max_gap'
    """Too long since the sample before; started anew from this sample."""


class MomentumObserver:
    """First-order generalized momentum observer; equations at the top of this file.

    Stamps are whole nanoseconds: seconds since 1970 in a float64 step by 0.24 us, which at 1 kHz
    is already noise in dp/dt.
    """

    def __init__(
        self,
        robot: Robot,
        gain: ArrayLike = 50.0,
        *,
        max_gap: float = 0.1,
        effort_sampling: str = 'instant',
    ) -> None:
        """Make an observer at its start.

        Args:
            robot: the robot, fixed or floating.
            gain: K, number or (nv) [1/s]: the bandwidth; 1/K is the time constant.
            max_gap: longest time between samples that is still integrated over [s].
            effort_sampling: 'instant' when tau is the torque at the stamp, as of a sensor;
                'interval' when it was held since the sample before, as a simulator reports it.

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
        self.max_gap = float(max_gap)
        self.counts = dict.fromkeys(ObserverEvent, 0)
        self._robot = robot
        self._instant = effort_sampling == 'instant'
        self._slowest = float(self.gain.min())
        self._decay_for = -1
        self._decay = np.zeros(robot.nv)
        self.reset()

    @property
    def robot(self) -> Robot:
        """The robot whose dynamics are subtracted."""
        return self._robot

    @property
    def external_torque(self) -> Vector:
        """The last estimate (nv), environment on robot positive [Nm or N]."""
        return self._estimate.copy()

    @property
    def event(self) -> ObserverEvent:
        """What became of the last sample."""
        return self._event

    @property
    def settled(self) -> bool:
        """Whether the slowest joint has had three time constants since the last start."""
        if self._stamp is None:
            return False
        return (self._stamp - self._started) * 1e-9 * self._slowest >= SETTLED_AFTER

    def reset(self) -> None:
        """Forget everything but the counts; the next sample is a first one."""
        self._estimate = np.zeros(self._robot.nv)
        self._stamp: int | None = None
        self._started = 0
        # Momentum and sampled drive at the last sample; None where no balance can start there.
        self._balance: tuple[Vector, Vector] | None = None
        self._event = ObserverEvent.STARTED

    def change_robot(self, robot: Robot) -> None:
        """Go on with another payload or gravity: the estimate stays, as the contact does.

        The momentum of the old and the new robot are not comparable, so that the next sample only
        starts a new balance.

        Raises:
            InvalidArgumentError: the robot has other velocities.
        """
        if robot.nv != self._robot.nv:
            raise InvalidArgumentError('robot', f'nv = {robot.nv}', f'nv = {self._robot.nv}')
        self._robot = robot
        self._balance = None

    def update(self, stamp: int, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Vector:
        """Take a sample in.

        Args:
            stamp: ns, on any clock that does not jump.
            q: (nq) configuration.
            v: (nv) velocity.
            tau: (nv) torque on the rigid bodies (see EffortModel); zero for a floating base.

        Returns:
            The external torque (nv), environment on robot positive; zero after a start.

        Raises:
            InvalidArgumentError: a wrong shape or NaN; the observer is then as it was before.
        """
        time = _whole_nanoseconds(stamp)
        if time == self._stamp:
            self._note(ObserverEvent.DUPLICATE)
            return self._estimate.copy()
        torque = finite_vector('tau', tau, self._robot.nv)
        momentum, beta = self._robot.momentum_observer_terms(q, v)

        # What is known at samples only is averaged by the trapezoid; what was held is its own mean.
        sampled = beta + torque if self._instant else beta

        event = self._event_after(0 if self._stamp is None else time - self._stamp)
        if event is not ObserverEvent.UPDATED:
            self._estimate = np.zeros(self._robot.nv)
            self._started = time
        elif self._balance is not None and self._stamp is not None:
            interval = time - self._stamp
            momentum_before, sampled_before = self._balance
            external = momentum - momentum_before
            external *= 1e9 / interval
            external -= 0.5 * (sampled_before + sampled)
            if not self._instant:
                external -= torque
            self._estimate = external + self._decay_over(interval) * (self._estimate - external)
        self._stamp = time
        self._balance = momentum, sampled
        self._note(event)
        return self._estimate.copy()

    def _event_after(self, interval: int) -> ObserverEvent:
        """What a sample is that comes so many ns after the one before; 0 for the first."""
        if interval == 0:
            return ObserverEvent.STARTED
        if interval < 0:
            return ObserverEvent.CLOCK_JUMP
        if interval * 1e-9 > self.max_gap:
            return ObserverEvent.GAP
        return ObserverEvent.UPDATED

    def _decay_over(self, interval: int) -> Vector:
        """exp(-K T), kept as long as T stays the same."""
        if interval != self._decay_for:
            self._decay = np.exp(-self.gain * (interval * 1e-9))
            self._decay_for = interval
        return self._decay

    def _note(self, event: ObserverEvent) -> None:
        self._event = event
        self.counts[event] += 1


def _whole_nanoseconds(stamp: int) -> int:
    try:
        return operator.index(stamp)
    except TypeError:
        raise InvalidArgumentError('stamp', repr(stamp), 'whole nanoseconds') from None
