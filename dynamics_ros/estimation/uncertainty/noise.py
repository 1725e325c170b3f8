# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How noise of the samples shows in the external torques that an observer makes of them.

An observer is a linear filter of its samples: of the efforts directly, of the momenta through
their differences. White noise of standard deviation 1 in its input gives the root of the sum of
its squared impulse response [Oppenheim].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

NEGLECTED = 1e-6
"""Part of the first response that an impulse response is followed down to."""

MAX_SAMPLES = 100_000
"""Samples that it is followed at most."""


@dataclass(frozen=True, eq=False)
class NoiseGains:
    """Standard deviation of the external torque per unit of white noise of what is sampled.

    Attributes:
        effort: (nv) per noise of a torque [Nm per Nm].
        momentum: (nv) per noise of a momentum M v [Nm per Nms].
    """

    effort: Vector
    momentum: Vector


def noise_gains(kind: str, sampling: str, gain: Vector, interval: float) -> NoiseGains:
    """The gains of an observer.

    Args:
        kind, sampling: of the observer (``algorithms/contact/torque_observer.py``).
        gain: (nv) K [1/s].
        interval: time between samples [s].
    """
    distinct, where = np.unique(gain, return_inverse=True)
    effort, momentum = np.empty_like(distinct), np.empty_like(distinct)
    for i, K in enumerate(distinct):
        response = _response(kind, float(K) * interval)
        effort[i], momentum[i] = gains_of_response(response, sampling, interval)
    if kind == 'static':
        momentum[:] = 0.0
    return NoiseGains(effort[where], momentum[where])


def gains_of_response(response: Vector, sampling: str, interval: float) -> tuple[float, float]:
    """Per noise of a torque, and of a momentum, for an observer of one joint.

    Args:
        response: to the mean external torque of one interval, sample by sample.
        sampling, interval: as above.
    """
    before = np.append(0.0, response)
    after = np.append(response, 0.0)
    averaged = 0.5 * (after + before) if sampling == 'instant' else response
    difference = (after - before) / interval
    return float(np.sqrt(averaged @ averaged)), float(np.sqrt(difference @ difference))


def _response(kind: str, step: float) -> Vector:
    """Of the low-pass to the mean external torque of one interval, sample by sample."""
    second = kind == 'momentum_second_order'
    rate = 2.0 * step if second else step
    decay = np.exp(-rate)
    count = int(min(MAX_SAMPLES, np.ceil(-np.log(NEGLECTED) / rate * (2.0 if second else 1.0)) + 2))
    powers = decay ** np.arange(count)
    if not second:
        return np.asarray((1.0 - decay) * powers)
    # The step response 1 - F^n (1 + n rate) once per sample; its differences are the impulse's.
    n = np.arange(count + 1)
    return np.diff(1.0 - decay**n * (1.0 + n * rate))
