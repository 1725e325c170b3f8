# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques by a Kalman filter: ``algorithms/contact/disturbance_filter.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.disturbance_filter import ROWS, disturbance_step, first_rows
from dynamics_ros.algorithms.contact.torque_observer import KALMAN, MEMORY
from dynamics_ros.multibody.arguments import per_entry

from .effort_model import EffortModel
from .observers import (
    GAIN,
    InverseDynamicsObserver,
    MomentumObserver,
    SecondOrderMomentumObserver,
    Stamps,
    TorqueObserver,
)
from .static_observer import StaticObserver
from .uncertainty.noise import NoiseGains, gains_of_response
from .uncertainty.thresholds import largest_momentum_noise

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]

UNUSED = 1e3
"""Noise of the efforts of a joint that is not used [Nm or N]."""

LEAST_NOISE = 1e-6
"""Of velocities [rad/s or m/s]."""

SAME = 0.2
"""Relative change of noise that makes no difference."""

FACTOR, STATED = (MEMORY + ROWS.index(name) for name in ('factor', 'stated'))
"""Rows of the memory: factor on the variance of momenta that is stated, and that variance."""

SETTLING = 15.0
"""Time constants of the stated gain after which a filter is taken to have settled."""


class ObserverOptions(TypedDict, total=False):
    """Options of every observer, as ``TorqueObserver`` explains them."""

    effort_model: EffortModel | None
    max_gap: float
    effort_sampling: str
    transition_time: float
    velocity_differenced: ArrayLike


class KalmanObserver(TorqueObserver):
    """Momentum and external torque as the state of a Kalman filter [Hu2018].

    With noise as stated an external torque shows as late as in a momentum observer of the same
    gain, with less noise. Noise of velocities is measured as it goes: with more of it the filter
    becomes slower, with less quicker, up to twice.
    """

    kind = KALMAN

    def __init__(
        self,
        robot: Robot,
        gain: ArrayLike = GAIN,
        *,
        effort_noise: ArrayLike = 0.05,
        velocity_noise: ArrayLike = 1e-3,
        **options: Unpack[ObserverOptions],
    ) -> None:
        """Make an observer at its start.

        Args:
            robot, gain, options: as of every observer.
            effort_noise: standard deviation of one reported effort as a torque, number or (nv); inf
                for a joint that is not used [Nm or N].
            velocity_noise: of one velocity, number or (nv) [rad/s or m/s]; how much of it is that
                of differences of positions, the option ``velocity_differenced`` says.

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        noise = per_entry('effort_noise', effort_noise, robot.nv, least=0.0, infinite=True)
        self._effort_variance = np.square(np.minimum(noise, UNUSED))
        velocity = per_entry('velocity_noise', velocity_noise, robot.nv, least=0.0)
        self._velocity_variance = np.square(np.maximum(velocity, LEAST_NOISE))
        self._reckoned = self._share = np.ones(robot.nv)
        """Factor that noise was reckoned with, and part of momenta in the variance that it gave."""
        super().__init__(robot, gain, **options)

    @property
    def noise_factor(self) -> Vector:
        """(nv) noise of momenta that the filter has adapted to, over that which is stated."""
        memory = self._models[-1].memory
        return np.ones(self.robot.nv) if memory is None else np.sqrt(memory[FACTOR])

    def _changed(self, factors: Vector) -> NDArray[np.bool_]:
        """Whether external torques scatter otherwise than when noise was last asked for.

        Where nearly all their noise is that of efforts, what noise of momenta there is says
        little of itself, and makes no difference.

        Args:
            factors: (..., nv) ``noise_factor``.
        """
        ratio = np.sqrt(1.0 + self._share * (np.square(factors / self._reckoned) - 1.0))
        other = (ratio > 1.0 + SAME) | (ratio < 1.0 - SAME)
        return np.asarray(other.any(axis=-1))

    @property
    def noise_has_changed(self) -> bool:
        """Whether ``noise_gains`` are others than when they were last asked for."""
        return bool(self._changed(self.noise_factor))

    def noise_gains(self, interval: float) -> NoiseGains:
        """How noise shows in the estimate; that of momenta in units of what was stated."""
        self._reckoned = self.noise_factor
        memory = self._models[-1].memory
        if memory is None:
            M = self.robot.mass_matrix(self.robot.neutral())
            stated = np.square(M) @ self._velocity_variance
        else:
            stated = memory[STATED]
        found = [self._gains(j, stated[j], interval) for j in range(len(self.gain))]
        effort, momentum = np.array(found).reshape(-1, 2).T
        momentum = momentum * self._reckoned
        # Where the robot is most inert, as thresholds reckon.
        largest = largest_momentum_noise(self.robot, np.sqrt(self._velocity_variance))
        of_momenta = np.square(momentum * largest)
        of_efforts = np.square(effort) * self._effort_variance
        self._share = of_momenta / np.maximum(of_momenta + of_efforts, np.finfo(float).tiny)
        return NoiseGains(effort, momentum)

    def _gains(self, j: int, stated: float, interval: float) -> tuple[float, float]:
        """Of a joint, by what a filter that has settled makes of an impulse."""
        share = float(self._differenced[j])
        told = self.gain[j], self._effort_variance[j], stated, share
        rows, factor = first_rows(0.0, stated), self._reckoned[j] ** 2

        def stepped(e: float, rows: list[Any]) -> list[Any]:
            # Noise is given here: nothing to adapt to.
            known = len(ROWS) - 3
            rows = [*rows[:known], factor, stated, e]
            return [*disturbance_step(e, rows, interval, *told, 0.0)[:known], factor, stated, e]

        count = round(SETTLING / (float(self.gain[j]) * interval)) + 10
        for _ in range(count):
            rows = stepped(0.0, rows)
        response = []
        for k in range(count):
            rows = stepped(float(k == 0), rows)
            response.append(rows[0])
        return gains_of_response(np.array(response), self._sampling, interval, share)

    def _update_all(self, stamps: Stamps, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        estimates = super()._update_all(stamps, q, v, effort)
        _, memories, _ = self._taken
        # Thresholds follow the noise that it adapts to, from the next sample on.
        changed = self._changed(np.sqrt(memories[:, FACTOR]))
        if not changed.any():
            return estimates
        count = int(changed.argmax()) + 1
        self.keep(count)
        return estimates[:count]

    def _variances(self) -> dict[str, ArrayLike]:
        return {
            'effort_variance': self._effort_variance,
            'velocity_variance': self._velocity_variance,
            'velocity_differenced': self._differenced,
        }

    def _beginning(self, memory: Vector, estimate: Vector) -> None:
        before = self._models[-1].memory
        stated = memory[STATED].copy()
        columns = [first_rows(*one) for one in zip(estimate, stated, strict=True)]
        memory[0], memory[1], memory[MEMORY:] = estimate, 0.0, np.transpose(columns)
        if before is not None:
            memory[FACTOR] = before[FACTOR]


OBSERVERS: dict[str, type[TorqueObserver]] = {
    observer.kind: observer
    for observer in (
        *(MomentumObserver, SecondOrderMomentumObserver, KalmanObserver),
        *(InverseDynamicsObserver, StaticObserver),
    )
}
"""The observers by the name of their kind."""
