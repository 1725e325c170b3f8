# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a Kalman filter whose state is a momentum and the external torque that changes it.

Of each joint, with the mean a of all other torques over an interval T [Hu2018]:

    p_1 = p_0 + T (a + tau) + w_p,    tau_1 = tau_0 + w_tau,    z_1 = p_1 + n_1 + m_1 - m_0,
    var w_p = T^2 S,    var w_tau = Q,    var n = R,    var m = D.

The balance of momentum gives e = (z_1 - z_0) / T - a, the torque that an observer filters. With
d = p^ - z, how far the estimate of the momentum is from what was measured, the innovation is

    z_1 - p^- + m^_0 = T (e - tau^_0) - d_0 + m^_0.

m is noise of positions whose differences are the velocities, such as steps of encoders: what one
sample adds the next one takes away. So the noise of the last position is part of the state, as for
any noise of a measurement that hangs together in time ([Simon2006], 7.2).

R + 2 D is the stated noise of velocities at this posture, times a factor that adapts: e of two
intervals differ by (n_2 - 2 n_1 + n_0 + m_2 - 3 m_1 + 3 m_0 - m_-1) / T, whatever constant torque
acts, so that 6 R + 20 D is T^2 times what their square is beyond that of the noise of efforts. The
push that begins is one difference of many and counts no more than ``FAR`` times the mean.

Q is such that with the noise that is stated an external torque shows as late as behind a low-pass
of gain K. The filter is of first order where noise is that of efforts, with Q = K^2 S T^2; of
second order where it is that of momenta, with Q = 4 K^4 R T^2; of third order where it is that of
positions, with Q = 64 K^6 D T^4: poles of a Butterworth filter at 2 K, which is late by 1 / K.
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
"""What a step hands to the next: tau^, d, m^, the covariance of them, the factor on the stated
R + 2 D, that sum, and e."""

ADAPTED_IN = 1.0
"""s; time constant of the factor."""

FAR = 16.0
"""Times its mean that a squared difference counts at most."""

LEAST = 1.0 / 16.0
"""The factor at least: a filter becomes no more than twice as quick."""


def first_rows(torque: Scalar, noise: Scalar) -> list[Scalar]:
    """What a filter begins with: an estimate, as uncertain as one sample makes it.

    Args:
        torque: the estimate.
        noise: stated R + 2 D.
    """
    return [torque, 0.0, 0.0, noise, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, noise, torque]


def disturbance_step(
    e: Scalar,
    rows: Values,
    interval: Scalar,
    gain: Scalar,
    effort_variance: Scalar,
    noise: Scalar,
    share: Scalar,
    differenced: float,
) -> list[Scalar]:
    """Take an interval in.

    Args:
        e: external torque by the balance of momentum.
        rows: of the interval before, as in ``ROWS``.
        interval: T [s].
        gain: K [1/s].
        effort_variance: S, of the noise of one torque.
        noise: R + 2 D as stated, at this posture.
        share: 2 D of that.
        differenced: what noise of efforts adds to the squared difference of two e, in S.

    Returns:
        The rows after it; the first is the estimate.
    """
    tau, d, m, p_p, p_tau, tau_tau, m_m, m_p, m_tau, factor, _, before = rows
    T = interval
    squared = (e - before) * (e - before)
    of_momenta = (6.0 + 4.0 * share) * noise / (T * T)
    of_efforts = differenced * effort_variance
    expected = factor * of_momenta + of_efforts
    squared = where_less(FAR * expected, squared, FAR * expected, squared)
    fresh = 1.0 - exp(-(T / ADAPTED_IN))
    factor = factor + fresh * ((squared - of_efforts) / of_momenta - factor)
    factor = where_less(factor, LEAST, LEAST, factor)
    white, half = (1.0 - share) * noise, 0.5 * share * noise
    R, D = factor * white, factor * half
    K2 = gain * gain
    Q = T * T * K2 * (4.0 * K2 * (white + 16.0 * K2 * T * T * half) + effort_variance)
    # Predicted covariance; that of the innovation with momentum, torque and m; their gains.
    pp = p_p + 2.0 * T * p_tau + T * T * (tau_tau + effort_variance)
    pt, tt = p_tau + T * tau_tau, tau_tau + Q
    mp = m_p + T * m_tau
    with_p, with_tau = pp - mp, pt - m_tau
    change = T * (e - tau) - d
    innovation = change + m
    scale = 1.0 / (with_p - mp + m_m + R + D)
    of_p, of_tau, of_m = with_p * scale, with_tau * scale, D * scale
    return [
        tau + of_tau * innovation,
        of_p * innovation - change,
        of_m * innovation,
        pp - of_p * with_p,
        pt - of_p * with_tau,
        tt - of_tau * with_tau,
        D - of_m * D,
        -(of_p * D),
        -(of_tau * D),
        factor,
        noise,
        e,
    ]
