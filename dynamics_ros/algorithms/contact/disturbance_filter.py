# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a Kalman filter that estimates the momentum and the external torque of a joint.

Model of each joint, with the mean a of all other torques over an interval T [Hu2018]:

    p_1 = p_0 + T (a + tau) + w_p,    tau_1 = tau_0 + w_tau,    z_1 = p_1 + n_1 + m_1 - m_0,
    var w_p = T^2 S,    var w_tau = Q,    var n = R,    var m = D.

Here p is the momentum, tau the external torque, z the measured momentum, n and m measurement noise.
The momentum balance gives e = (z_1 - z_0) / T - a, the torque that an observer filters. With the
difference d = p^ - z between the estimated and the measured momentum, the innovation is

    z_1 - p^- + m^_0 = T (e - tau^_0) - d_0 + m^_0.

m is the noise of positions that are differenced to velocities, for example encoder quantization. It
enters two consecutive velocities with opposite signs. The noise of the last position is therefore
part of the state, as is usual for coloured measurement noise ([Simon2006], 7.2).

R + 2 D is the stated variance of the momentum at this posture, multiplied by an adaptive factor.
The values e of two consecutive intervals differ by (n_2 - 2 n_1 + n_0 + m_2 - 3 m_1 + 3 m_0 - m_-1)
/ T, independently of a constant external torque. Hence 6 R + 20 D is T^2 times the mean square of
this difference, less the part that noise of efforts causes. A squared difference is limited to
``MAX_SQUARE_RATIO`` times its expected value, so that a new contact hardly changes the factor.

A low-pass filter of the driver, y_1 = a y_0 + (1 - a) x_1, removes much of m at high frequency,
where the difference measures it, and little below the bandwidth K of the observer. Third
differences of its output have the variance c D instead of 20 D, by their autocovariances before:

    c = (1 - a) / (1 + a) (20 - 30 a + 12 a^2 - 2 a^3) = (1 - a)^2 (20 - 10 a + 2 a^2) / (1 + a).

Without this correction the factor would be too small, and the observer too fast and too noisy.

Q is chosen such that, with the stated noise, an external torque is delayed as by a low-pass filter
of gain K. If noise of efforts dominates, the filter is of first order with Q = K^2 S T^2; if noise
n of momenta dominates, of second order with Q = 4 K^4 R T^2; if noise m of positions dominates, of
third order with Q = 64 K^6 D T^4. The poles are those of a Butterworth filter at 2 K, whose delay
is 1 / K.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, where_less

Values = Sequence[Scalar]

ROWS = (
    *('torque', 'momentum_error', 'position_error', 'p_p', 'p_tau', 'tau_tau'),
    *('m_m', 'm_p', 'm_tau', 'factor', 'stated', 'before'),
)
"""Rows of the filter's memory: the estimates tau^, d and m^, their covariance (p_p to m_tau), the
adaptive factor, the stated R + 2 D, and e of the last interval."""

ADAPTATION_TIME = 1.0
"""Time constant of the adaptive factor [s]."""

MAX_SQUARE_RATIO = 16.0
"""Upper limit of a squared difference of e, as a multiple of its expected value."""

MIN_FACTOR = 1.0 / 16.0
"""Lower limit of the adaptive factor for white noise: the filter becomes at most twice as fast. For
differences of positions it is 1, because an encoder of a slow joint makes few steps, which are as
large as those of a fast joint; their mean square does not tell how large the next one is."""


def first_rows(torque: Scalar, noise: Scalar) -> list[Scalar]:
    """Initial rows of the memory, as in ``ROWS``.

    Args:
        torque: initial estimate of the external torque.
        noise: stated R + 2 D, the initial variance of the momentum.
    """
    return [torque, 0.0, 0.0, noise, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, noise, torque]


def third_difference_variance(decay: Scalar) -> Scalar:
    """Variance of third differences of white noise behind a low-pass filter, per its variance.

    Args:
        decay: a of the filter y_1 = a y_0 + (1 - a) x_1; 0 without one.
    """
    kept = 1.0 - decay
    return kept * kept * (20.0 - 10.0 * decay + 2.0 * decay * decay) / (1.0 + decay)


def torque_variance(
    interval: Scalar, gain: Scalar, effort_variance: Scalar, white: Scalar, differenced: Scalar
) -> Scalar:
    """Variance Q of the external torque's change in an interval, for the stated noise R and D."""
    K2, T2 = gain * gain, interval * interval
    return T2 * K2 * (4.0 * K2 * (white + 16.0 * K2 * T2 * differenced) + effort_variance)


def disturbance_step(
    e: Scalar,
    rows: Values,
    interval: Scalar,
    gain: Scalar,
    effort_variance: Scalar,
    noise: Scalar,
    share: Scalar,
    decay: Scalar,
    differenced: float,
) -> list[Scalar]:
    """Update the filter of one joint with the torque of an interval.

    Args:
        e: external torque of the interval by the momentum balance.
        rows: memory after the previous interval, as in ``ROWS``.
        interval: T [s].
        gain: K [1/s].
        effort_variance: S, variance of the noise of one torque.
        noise: stated R + 2 D at this posture, variance of the measured momentum.
        share: fraction 2 D / (R + 2 D) of the noise.
        decay: a, of the driver's low-pass filter of velocities; 0 without one.
        differenced: variance of the difference of two consecutive e by noise of efforts, as a
            multiple of S.

    Returns:
        The memory after the interval, as in ``ROWS``; the first value is the external torque.
    """
    tau, d, m, p_p, p_tau, tau_tau, m_m, m_p, m_tau, factor, _, previous_e = rows
    T = interval
    squared = (e - previous_e) * (e - previous_e)
    white_part = 6.0 * (1.0 - share)
    difference_part = 0.5 * share * third_difference_variance(decay)
    momentum_part = (white_part + difference_part) * noise / (T * T)
    effort_part = differenced * effort_variance
    expected = factor * momentum_part + effort_part
    squared = where_less(MAX_SQUARE_RATIO * expected, squared, MAX_SQUARE_RATIO * expected, squared)
    weight = 1.0 - exp(-(T / ADAPTATION_TIME))
    factor = factor + weight * ((squared - effort_part) / momentum_part - factor)
    least = MIN_FACTOR + share * (1.0 - MIN_FACTOR)
    factor = where_less(factor, least, least, factor)
    white_variance, position_variance = (1.0 - share) * noise, 0.5 * share * noise
    R, D = factor * white_variance, factor * position_variance
    Q = torque_variance(T, gain, effort_variance, white_variance, position_variance)
    # Predicted covariance; covariance of the innovation with p, tau and m; Kalman gains.
    pp = p_p + 2.0 * T * p_tau + T * T * (tau_tau + effort_variance)
    pt, tt = p_tau + T * tau_tau, tau_tau + Q
    mp = m_p + T * m_tau
    covariance_p, covariance_tau = pp - mp, pt - m_tau
    change = T * (e - tau) - d
    innovation = change + m
    scale = 1.0 / (covariance_p - mp + m_m + R + D)
    gain_p, gain_tau, gain_m = covariance_p * scale, covariance_tau * scale, D * scale
    return [
        tau + gain_tau * innovation,
        gain_p * innovation - change,
        gain_m * innovation,
        pp - gain_p * covariance_p,
        pt - gain_p * covariance_tau,
        tt - gain_tau * covariance_tau,
        D - gain_m * D,
        -(gain_p * D),
        -(gain_tau * D),
        factor,
        noise,
        e,
    ]
