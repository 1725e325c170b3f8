# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kalman filter observer of external torques: see ``algorithms/contact/disturbance_filter.py``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.contact.disturbance_filter import (
    ROWS,
    first_rows,
    torque_variance,
)
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
from .uncertainty.noise import LinearFilter, NoiseGains, gains_of_filter
from .uncertainty.thresholds import largest_momentum_noise

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]

UNUSED = 1e3
"""Effort noise that effectively excludes a joint [Nm or N]."""

MIN_NOISE = 1e-6
"""Minimum velocity noise [rad/s or m/s]."""

IGNORED_CHANGE = 0.2
"""Relative change of the noise below which it counts as unchanged."""

FACTOR, STATED = (MEMORY + ROWS.index(name) for name in ('factor', 'stated'))
"""Memory rows: factor on the stated variance of momenta, and that variance."""

TINY = np.finfo(float).tiny


class ObserverOptions(TypedDict, total=False):
    """Options of every observer; see ``TorqueObserver``."""

    effort_model: EffortModel | None
    max_gap: float
    effort_sampling: str
    transition_time: float
    velocity_differenced: ArrayLike
    velocity_cutoff: ArrayLike


class KalmanObserver(TorqueObserver):
    """Kalman filter whose state is the momentum and the external torque [Hu2018].

    With the stated noise, it has the same delay as a momentum observer of the same gain and less
    noise. It estimates the velocity noise online: the filter becomes slower with more noise and up
    to twice as fast with less.
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
        """Creates an observer in its initial state.

        Args:
            robot, gain, options: see ``TorqueObserver``.
            effort_noise: standard deviation of a reported effort as a torque, number or (nv); inf
                excludes a joint [Nm or N].
            velocity_noise: standard deviation of a velocity, number or (nv) [rad/s or m/s]; the
                option ``velocity_differenced`` gives the share due to differentiated positions,
                and this part is the deviation before the driver's filter (``velocity_cutoff``).

        Raises:
            InvalidArgumentError: a value has a wrong shape or is out of range.
        """
        noise = per_entry('effort_noise', effort_noise, robot.nv, least=0.0, infinite=True)
        self._effort_variance = np.square(np.minimum(noise, UNUSED))
        velocity = per_entry('velocity_noise', velocity_noise, robot.nv, least=0.0)
        self._velocity_variance = np.square(np.maximum(velocity, MIN_NOISE))
        self._applied_factor = self._share = np.ones(robot.nv)
        """Noise factor at the last ``noise_gains`` call, and share of momenta in that variance."""
        self._largest: tuple[Robot, Vector] | None = None
        # It takes a third of a second to import: not with the module, and not in a step.
        import_module('scipy.linalg')
        super().__init__(robot, gain, **options)

    @property
    def noise_factor(self) -> Vector:
        """(nv) ratio of the adapted to the stated noise of momenta."""
        memory = self._models[-1].memory
        return np.ones(self.robot.nv) if memory is None else np.sqrt(memory[FACTOR])

    def _changed(self, factors: Vector) -> NDArray[np.bool_]:
        """Whether the deviation of external torques has changed since the last ``noise_gains``.

        If effort noise dominates, the momentum noise is hardly observable and has no effect.

        Args:
            factors: (..., nv) ``noise_factor``.
        """
        ratio = np.sqrt(1.0 + self._share * (np.square(factors / self._applied_factor) - 1.0))
        other = (ratio > 1.0 + IGNORED_CHANGE) | (ratio < 1.0 - IGNORED_CHANGE)
        return np.asarray(other.any(axis=-1))

    @property
    def noise_has_changed(self) -> bool:
        """Whether ``noise_gains`` have changed since they were last requested."""
        return bool(self._changed(self.noise_factor))

    def noise_gains(self, interval: float) -> NoiseGains:
        """Returns the noise gains; that of momenta in units of the stated noise."""
        self._applied_factor = self.noise_factor
        memory = self._models[-1].memory
        if memory is None:
            M = self.robot.mass_matrix(self.robot.neutral())
            stated = np.square(M) @ self._velocity_variance
        else:
            stated = memory[STATED]
        effort, momentum = self._gains(stated, interval)
        momentum = momentum * self._applied_factor
        # Evaluate at the largest inertia, as the thresholds do.
        if self._largest is None or self._largest[0] is not self.robot:
            noise = np.sqrt(self._velocity_variance)
            self._largest = self.robot, largest_momentum_noise(self.robot, noise)
        of_momenta = np.square(momentum * self._largest[1])
        of_efforts = np.square(effort) * self._effort_variance
        self._share = of_momenta / np.maximum(of_momenta + of_efforts, TINY)
        return NoiseGains(effort, momentum)

    def _gains(self, stated: Vector, interval: float) -> tuple[Vector, Vector]:
        """Computes noise gains (nv) of the settled filters for stated variances (nv) of momenta."""
        matrices, inputs = settled_filters(
            *(interval, self.gain, self._effort_variance, stated, self._differenced),
            np.square(self._applied_factor),
        )
        gains = [
            gains_of_filter(
                LinearFilter.after_step(matrix, effect),
                *(self._sampling, interval, float(share), float(bandwidth)),
            )
            for matrix, effect, share, bandwidth in zip(
                matrices, inputs, self._differenced, self._bandwidth, strict=True
            )
        ]
        effort, momentum = np.array(gains).reshape(-1, 2).T
        return effort, momentum

    def _update_all(self, stamps: Stamps, q: ArrayLike, v: ArrayLike, effort: ArrayLike) -> Vector:
        estimates = super()._update_all(stamps, q, v, effort)
        _, memories, _ = self._last_batch
        # The thresholds follow the adapted noise from the next sample on.
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
            'velocity_bandwidth': self._bandwidth,
        }

    def _beginning(self, memory: Vector, estimate: Vector) -> None:
        before = self._models[-1].memory
        stated = memory[STATED].copy()
        columns = [first_rows(*one) for one in zip(estimate, stated, strict=True)]
        memory[0], memory[1], memory[MEMORY:] = estimate, 0.0, np.transpose(columns)
        if before is not None:
            memory[FACTOR] = before[FACTOR]


def settled_filters(
    interval: float,
    gain: Vector,
    effort_variance: Vector,
    noise: Vector,
    share: Vector,
    factor: Vector,
) -> tuple[NDArray[np.float64], Vector]:
    """Returns the settled filter of each joint, for arguments of ``disturbance_step``.

    Its covariance is the solution of a discrete Riccati equation, with the state (p, T tau, m) and
    an innovation whose noise, p's, n and the next m, is part of that of the state.

    Returns:
        (nv, 3, 3) matrix from the estimates (tau^, d, m^) of one interval to those of the next, and
        (nv, 3) effect of the torque e of the interval on them.
    """
    T = interval
    A = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    C = np.array([1.0, 1.0, -1.0])
    white, differenced = (1.0 - share) * noise, 0.5 * share * noise
    Q = torque_variance(T, gain, effort_variance, white, differenced)
    S = T * T * effort_variance
    R, D = factor * white, factor * differenced
    gains = []
    for s, q, _, d in np.transpose([S, T * T * Q, R, D] / np.maximum(S + R + D, TINY)):
        # In units of the variance of the innovation's noise.
        process, common = np.diag([s, q, d]), np.array([s, 0.0, d])
        P = scipy.linalg.solve_discrete_are(
            A.T, C[:, np.newaxis], process, [[1.0]], s=common[:, np.newaxis]
        )
        gains.append((A @ P @ C + common) / (1.0 + C @ P @ C))
    d_gain, tau_gain, m_gain = np.transpose(gains)
    gains_of_rows = np.stack([tau_gain / T, d_gain, m_gain], axis=-1)
    unchanged = np.array([[1.0, 0.0, 0.0], [T, 1.0, 0.0], [0.0, 0.0, 0.0]])
    matrices = unchanged + gains_of_rows[..., np.newaxis] * np.array([-T, -1.0, 1.0])
    return matrices, T * (gains_of_rows - np.array([0.0, 1.0, 0.0]))


OBSERVERS: dict[str, type[TorqueObserver]] = {
    observer.kind: observer
    for observer in (
        *(MomentumObserver, SecondOrderMomentumObserver, KalmanObserver),
        *(InverseDynamicsObserver, StaticObserver),
    )
}
"""Observer classes by kind."""
