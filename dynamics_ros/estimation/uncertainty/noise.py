# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How noise of the samples shows in the external torques that an observer makes of them.

An observer is a linear filter of its samples: of the efforts directly, of the momenta through
their differences. White noise of standard deviation 1 in its input gives the root of the sum of
its squared impulse response [Oppenheim]. Noise of velocities is white, or that of differences of
positions whose noise is white, as steps of encoders are while a joint passes some of them from one
sample to the next: what one velocity has too much the next one has too little, and an observer lets
less of it through.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import per_entry

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
        momentum: (nv) per noise of a momentum M v, white and differenced together [Nm per Nms].
    """

    effort: Vector
    momentum: Vector


def share_of_differences(given: ArrayLike, nv: int) -> Vector:
    """(nv) share of the variance of noise of velocities that differences of positions make.

    It is 1 where velocities are differences of encoder steps.

    Args:
        given: number or (nv).
        nv: number of velocities.

    Raises:
        InvalidArgumentError: a wrong shape, or it is not within 0 and 1.
    """
    share = per_entry('velocity_differenced', given, nv, least=0.0)
    if share.max() > 1.0:
        raise InvalidArgumentError('velocity_differenced', f'{share.tolist()}', '0 to 1')
    return share


def noise_gains(
    kind: str, sampling: str, gain: Vector, interval: float, differenced: Vector | float = 0.0
) -> NoiseGains:
    """The gains of an observer.

    Args:
        kind, sampling: of the observer (``algorithms/contact/torque_observer.py``).
        gain: (nv) K [1/s].
        interval: time between samples [s].
        differenced: number or (nv), share of the variance of momenta that differences make.
    """
    told = np.stack([gain, np.broadcast_to(differenced, gain.shape)])
    distinct, where = np.unique(told, axis=1, return_inverse=True)
    found = np.array(
        [
            gains_of_response(_response(kind, float(K) * interval), sampling, interval, float(x))
            for K, x in distinct.T
        ]
    )
    effort, momentum = found[where.ravel()].T
    return NoiseGains(effort, momentum if kind != 'static' else 0.0 * momentum)


def gains_of_response(
    response: Vector, sampling: str, interval: float, differenced: float
) -> tuple[float, float]:
    """Per noise of a torque, and of a momentum, for an observer of one joint.

    Args:
        response: to the mean external torque of one interval, sample by sample.
        sampling, interval, differenced: as above.
    """
    before = np.append(0.0, response)
    after = np.append(response, 0.0)
    averaged = 0.5 * (after + before) if sampling == 'instant' else response
    of_white = (after - before) / interval
    of_positions = np.diff(of_white, prepend=0.0, append=0.0)
    # The difference of two positions has twice the variance of one.
    squares = of_white @ of_white, 0.5 * (of_positions @ of_positions)
    momentum = (1.0 - differenced) * squares[0] + differenced * squares[1]
    return float(np.sqrt(averaged @ averaged)), float(np.sqrt(momentum))


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
