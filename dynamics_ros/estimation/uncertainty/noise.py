# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gains from noise of the samples to the external torques of an observer.

An observer is a linear filter of its samples: of the efforts directly, of the momenta through their
differences. White noise with standard deviation 1 at its input gives an output deviation equal to
the root of the sum of the squared impulse response [Oppenheim]. Velocity noise is either white, or
the difference of positions with white noise. The latter is the case for encoder quantization if a
joint passes several increments per sample: errors of consecutive velocities then cancel partly, and
the observer transmits less of this noise. If the driver filters these velocities, less of their
noise remains at high frequency; its stated deviation is that before the filter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import per_entry

Vector = NDArray[np.float64]

TRUNCATION = 1e-6
"""Ratio to the first value at which an impulse response is truncated."""

UNFILTERED = 1e9
"""Bandwidth of velocities without a filter of the driver [1/s]."""

MAX_SAMPLES = 100_000
"""Maximum length of an impulse response [samples]."""


@dataclass(frozen=True, eq=False)
class NoiseGains:
    """Standard deviation of the external torque per unit of white noise of the samples.

    Attributes:
        effort: (nv) per torque noise [Nm per Nm].
        momentum: (nv) per noise of the momentum M v, white and differenced combined [Nm per Nms].
    """

    effort: Vector
    momentum: Vector


def share_of_differences(given: ArrayLike, nv: int) -> Vector:
    """Returns the share (nv) of the velocity noise variance that is due to differenced positions.

    The share is 1 where velocities are differences of encoder positions.

    Args:
        given: number or (nv).
        nv: number of velocities.

    Raises:
        InvalidArgumentError: a wrong shape, or a value outside 0 to 1.
    """
    share = per_entry('velocity_differenced', given, nv, least=0.0)
    if share.max() > 1.0:
        raise InvalidArgumentError('velocity_differenced', f'{share.tolist()}', '0 to 1')
    return share


def bandwidth_of(cutoff: ArrayLike, nv: int) -> Vector:
    """Returns the bandwidth (nv) of the driver's low-pass filter of velocities [1/s].

    Args:
        cutoff: number or (nv), its cutoff frequency; 0 without a filter [Hz].
        nv: number of velocities.

    Raises:
        InvalidArgumentError: a wrong shape, or a negative value.
    """
    given = per_entry('velocity_cutoff', cutoff, nv, least=0.0)
    return np.where(given > 0.0, 2.0 * np.pi * given, UNFILTERED)


def noise_gains(
    kind: str,
    sampling: str,
    gain: Vector,
    interval: float,
    differenced: Vector | float = 0.0,
    bandwidth: Vector | float = UNFILTERED,
) -> NoiseGains:
    """Returns the noise gains of an observer.

    Args:
        kind, sampling: options of the observer (``algorithms/contact/torque_observer.py``).
        gain: (nv) K [1/s].
        interval: sample interval [s].
        differenced: number or (nv), share of the momentum noise variance due to differenced
            positions.
        bandwidth: number or (nv), ``bandwidth_of`` the driver's filter [1/s].
    """
    parameters = np.stack([np.broadcast_to(x, gain.shape) for x in (gain, differenced, bandwidth)])
    distinct, where = np.unique(parameters, axis=1, return_inverse=True)
    found = np.array(
        [
            gains_of_response(_response(kind, K * interval), sampling, interval, share, w)
            for K, share, w in distinct.T.tolist()
        ]
    )
    effort, momentum = found[where.ravel()].T
    return NoiseGains(effort, momentum if kind != 'static' else 0.0 * momentum)


def gains_of_response(
    response: Vector, sampling: str, interval: float, differenced: float, bandwidth: float
) -> tuple[float, float]:
    """Returns torque and momentum noise gains of an observer with one joint.

    Args:
        response: samples of the response to the mean external torque of one interval.
        sampling, interval, differenced, bandwidth: see ``noise_gains``.
    """
    before = np.append(0.0, response)
    after = np.append(response, 0.0)
    averaged = 0.5 * (after + before) if sampling == 'instant' else response
    of_white = (after - before) / interval
    of_positions = _behind_filter(
        np.diff(of_white, prepend=0.0, append=0.0), np.exp(-min(bandwidth * interval, 100.0))
    )
    # The difference of two positions has twice the variance of one.
    squares = of_white @ of_white, 0.5 * (of_positions @ of_positions)
    momentum = (1.0 - differenced) * squares[0] + differenced * squares[1]
    return float(np.sqrt(averaged @ averaged)), float(np.sqrt(momentum))


def _behind_filter(response: Vector, decay: float) -> Vector:
    """Returns a response to the input of a low-pass filter, for one to its output.

    Args:
        response: samples of the response to the output.
        decay: a of the filter y_1 = a y_0 + (1 - a) x_1.
    """
    if decay < TRUNCATION:
        return response
    count = int(min(MAX_SAMPLES, np.ceil(np.log(TRUNCATION) / np.log(decay)) + 1))
    return np.convolve(response, (1.0 - decay) * decay ** np.arange(count))


def _response(kind: str, step: float) -> Vector:
    """Returns the samples of the low-pass response to the mean external torque of one interval."""
    second = kind == 'momentum_second_order'
    rate = 2.0 * step if second else step
    decay = np.exp(-rate)
    filters = 2.0 if second else 1.0
    count = int(min(MAX_SAMPLES, np.ceil(-np.log(TRUNCATION) / rate * filters) + 2))
    powers = decay ** np.arange(count)
    if not second:
        return np.asarray((1.0 - decay) * powers)
    # Samples of the step response 1 - F^n (1 + n rate); their differences: impulse response.
    n = np.arange(count + 1)
    return np.diff(1.0 - decay**n * (1.0 + n * rate))
