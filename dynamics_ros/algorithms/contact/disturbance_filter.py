# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a Kalman filter whose state is a momentum and the external torque that changes it.

Of each joint, with the mean a of all other torques over an interval T [Hu2018]:

    p_1 = p_0 + T (a + tau) + w_p,    tau_1 = tau_0 + w_tau,    z = p + n,
    var w_p = T^2 S,    var w_tau = Q,    var n = R.

The balance of momentum gives e = (z_1 - z_0) / T - a, the torque that an observer filters. With
d = p^ - z, how far the estimate of the momentum is from what was measured, the innovation is

    z_1 - p^- = T (e - tau^_0) - d_0.

R is that of the stated noise of velocities at this posture, times a factor that adapts: e of two
intervals differ by (n_2 - 2 n_1 + n_0) / T, whatever constant torque acts, so that R is T^2 / 6 of
what their square is beyond that of the noise of efforts. The push that begins is one difference of
many and counts no more than ``FAR`` times the mean.

Q is such that with the noise that is stated an external torque shows as late as behind a low-pass
of gain K: the filter is of second order where noise is that of momenta, with Q = 4 K^4 R T^2, and
of first order where it is that of efforts, with Q = K^2 S T^2.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, where_less

Values = Sequence[Scalar]

ROWS = ('torque', 'momentum_error', 'p_p', 'p_tau', 'tau_tau', 'factor', 'stated', 'before')
"""What a step hands to the next: tau^, d, the covariance of both, the factor on the stated R, that
R, and e."""

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
        noise: stated R.
    """
    return [torque, 0.0, noise, 0.0, 0.0, 1.0, noise, torque]


def disturbance_step(
    e: Scalar,
    rows: Values,
    interval: Scalar,
    gain: Scalar,
    effort_variance: Scalar,
    noise: Scalar,
    differenced: float,
) -> list[Scalar]:
    """Take an interval in.

    Args:
        e: external torque by the balance of momentum.
        rows: of the interval before, as in ``ROWS``.
        interval: T [s].
        gain: K [1/s].
        effort_variance: S, of the noise of one torque.
        noise: R as stated, at this posture.
        differenced: what noise of efforts adds to the squared difference of two e, in S.

    Returns:
        The rows after it; the first is the estimate.
    """
    tau, d, p_p, p_tau, tau_tau, factor, _, before = rows
    T = interval
    squared = (e - before) * (e - before)
    of_momenta, of_efforts = 6.0 * noise / (T * T), differenced * effort_variance
    expected = factor * of_momenta + of_efforts
    squared = where_less(FAR * expected, squared, FAR * expected, squared)
    share = 1.0 - exp(-(T / ADAPTED_IN))
    factor = factor + share * ((squared - of_efforts) / of_momenta - factor)
    factor = where_less(factor, LEAST, LEAST, factor)
    R = factor * noise
    K2 = gain * gain
    Q = T * T * K2 * (4.0 * K2 * noise + effort_variance)
    # Predicted covariance, then the gains of momentum and torque.
    pp = p_p + 2.0 * T * p_tau + T * T * (tau_tau + effort_variance)
    pt, tt = p_tau + T * tau_tau, tau_tau + Q
    innovation = T * (e - tau) - d
    scale = 1.0 / (pp + R)
    of_p, of_tau = pp * scale, pt * scale
    return [
        tau + of_tau * innovation,
        (of_p - 1.0) * innovation,
        R * of_p,
        R * of_tau,
        tt - of_tau * pt,
        factor,
        noise,
        e,
    ]
