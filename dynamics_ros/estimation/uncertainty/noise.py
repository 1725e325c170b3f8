# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gains from noise of the samples to the external torques of an observer.

An observer is a linear filter of its samples: of the efforts directly, of the momenta through their
differences. White noise with standard deviation 1 at its input gives the output a variance equal to
the sum of the squared impulse response [Oppenheim]. With x_1 = A x_0 + b u, y = c^T x_0 + d u it is
c^T P c + d^2, where P = A P A^T + b b^T. Velocity noise is either white, or
the difference of positions with white noise. The latter is the case for encoder quantization if a
joint passes several increments per sample: errors of consecutive velocities then cancel partly, and
the observer transmits less of this noise. If the driver filters these velocities, less of their
noise remains at high frequency; its stated deviation is that before the filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.torque_observer import third_order_step

Vector = NDArray[np.float64]


class LinearFilter(NamedTuple):
    """Discrete-time filter x_1 = A x_0 + b u, y = c^T x_0 + d u.

    Attributes:
        A, b, c, d: (n, n), (n), (n), number.
    """

    A: Vector
    b: Vector
    c: Vector
    d: float

    @classmethod
    def after_step(cls, A: Vector, b: Vector) -> LinearFilter:
        """Returns the filter whose output is the first state after the step."""
        return cls(A, b, A[0], float(b[0]))

    @classmethod
    def weighted_sum(cls, *weights: float) -> LinearFilter:
        """Returns the weighted sum of the input and of the inputs before it."""
        count = len(weights) - 1
        return cls(np.eye(count, k=-1), np.eye(count)[0], np.array(weights[1:]), weights[0])

    def then(self, other: LinearFilter) -> LinearFilter:
        """Returns the other filter applied to the output of this one."""
        A = np.block(
            [[self.A, np.zeros((len(self.b), len(other.b)))], [np.outer(other.b, self.c), other.A]]
        )
        b = np.concatenate([self.b, other.b * self.d])
        return LinearFilter(A, b, np.append(other.d * self.c, other.c), other.d * self.d)

    def variance(self) -> float:
        """Returns the variance of the output for white noise of variance 1 at the input."""
        size = len(self.b) ** 2
        P = np.linalg.solve(np.eye(size) - np.kron(self.A, self.A), np.kron(self.b, self.b))
        return float(np.kron(self.c, self.c) @ P) + self.d**2


@dataclass(frozen=True, eq=False)
class NoiseGains:
    """Standard deviation of the external torque per unit of white noise of the samples.

    Attributes:
        effort: (nv) per torque noise [Nm per Nm].
        momentum: (nv) per noise of the momentum M v, white and differenced combined [Nm per Nms].
    """

    effort: Vector
    momentum: Vector


def noise_gains(
    kind: str,
    sampling: str,
    gain: Vector,
    interval: float,
    differenced: Vector | float = 0.0,
    cutoff: Vector | float = 0.0,
) -> NoiseGains:
    """Returns the noise gains of an observer.

    Args:
        kind, sampling: options of the observer (``algorithms/contact/torque_observer.py``).
        gain: (nv) K [1/s].
        interval: sample interval [s].
        differenced: number or (nv), share of the momentum noise variance due to differenced
            positions, 1 where velocities are differences of encoder positions.
        cutoff: number or (nv), cutoff of the driver's low-pass filter of velocities; 0: none [Hz].
    """
    parameters = np.stack([np.broadcast_to(x, gain.shape) for x in (gain, differenced, cutoff)])
    distinct, where = np.unique(parameters, axis=1, return_inverse=True)
    gains = np.array([_gains(kind, sampling, interval, *one) for one in distinct.T.tolist()])
    effort, momentum = gains[where.ravel()].T
    return NoiseGains(effort, momentum if kind != 'static' else 0.0 * momentum)


def _gains(
    kind: str, sampling: str, interval: float, K: float, differenced: float, cutoff: float
) -> tuple[float, float]:
    """Returns torque and momentum noise gains of an observer with one joint."""
    # From the mean external torque of an interval to the estimate.
    estimate = _low_pass(kind, K * interval)
    mean = LinearFilter.weighted_sum(0.5, 0.5)
    of_effort = estimate.then(mean) if sampling == 'instant' else estimate
    difference = LinearFilter.weighted_sum(1.0 / interval, -1.0 / interval)
    of_white = estimate.then(difference)
    decay = np.exp(-2.0 * np.pi * cutoff * interval) if cutoff else 0.0
    driver = LinearFilter.after_step(np.array([[decay]]), np.array([1.0 - decay]))
    of_positions = of_white.then(LinearFilter.weighted_sum(1.0, -1.0)).then(driver)
    # The difference of two positions has twice the variance of one.
    momentum = (1.0 - differenced) * of_white.variance()
    momentum += 0.5 * differenced * of_positions.variance()
    return float(np.sqrt(of_effort.variance())), float(np.sqrt(momentum))


def _low_pass(kind: str, step: float) -> LinearFilter:
    """Returns the filter of an observer whose gain times the interval is ``step``."""
    if kind != 'momentum_third_order':
        decay = np.exp(-step)
        return LinearFilter.after_step(np.array([[decay]]), np.array([1.0 - decay]))
    columns = [third_order_step(0.0, state, 2.0 * step) for state in np.eye(3).tolist()]
    A = np.array(columns, dtype=np.float64).T
    return LinearFilter.after_step(A, np.eye(3)[0] - A[:, 0])
