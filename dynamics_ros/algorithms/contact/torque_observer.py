# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of an observer of external joint torques ([Haddadin2017]).

The torque on the rigid bodies is computed from the reported effort u:

    tau = scale u + offset (+ g(q), if reported efforts exclude gravity) - friction(v, tau),

where friction may depend on the transmitted torque tau (``joint_friction``). A rotor with the
reflected inertia B adds B v to the momentum. The mean external torque e between two samples at the
distance T is computed by

- ``momentum``: the balance of the momentum p = M(q) v + B v, dp/dt = tau + beta + tau_ext, with
  beta = C^T v - g: e = (p_1 - p_0) / T - mean of (tau + beta). It needs no acceleration and no
  inverse of M.
- ``momentum_second_order``: the same balance, with the low-pass filter of second order below.
- ``kalman``: the same balance, with a Kalman filter (``disturbance_filter``) instead of the
  low-pass filter.
- ``inverse_dynamics``: the equations of motion half way between the samples, with the acceleration
  (v_1 - v_0) / T: e = M a + C v + g + B a - tau.
- ``static``: gravity alone, e = g - tau, without friction; velocities are not read.

Quantities that are known only at samples are averaged by the trapezoidal rule (error: T^2/12 times
their second derivative). An effort that was held over the interval is its mean. The estimate r is e
after a low-pass filter of unit gain. The step is the exact solution for constant e, which is stable
for every T and K:

    first order    dr/dt = K (e - r)                    r_1 = e + E (r_0 - e),  E = exp(-K T)
    second order   dy/dt = 2K (e - y), dr/dt = 2K (y - r)
                   y_1 = e + F (y_0 - e),  r_1 = e + F (r_0 - e) + 2 K T F (y_0 - e),
                   F = exp(-2 K T).

Both have the delay 1/K at low frequencies; the second one is twice as steep at high frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.configuration import integrate
from dynamics_ros.algorithms.contact.disturbance_filter import ROWS as FILTER_ROWS
from dynamics_ros.algorithms.contact.disturbance_filter import disturbance_step
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import inverse_dynamics
from dynamics_ros.algorithms.joint_friction import torque_behind_friction
from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.momentum import momentum_observer_terms
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp

Values = Sequence[Scalar]

KINDS = ('momentum', 'momentum_second_order', 'kalman', 'inverse_dynamics', 'static')

EFFORT_SAMPLINGS = ('instant', 'interval')
"""A reported effort is the torque at the stamp, or the torque held since the previous sample."""

MEMORY = 4
"""Rows of the memory of a step: the estimate, the first stage y of the filter of second order, the
momentum (or velocity), and the quantity that is known only at samples."""

SAMPLED = slice(2, MEMORY)
"""Rows of the memory that depend only on the last sample."""

KALMAN = 'kalman'

DIFFERENCED = {'instant': 0.5, 'interval': 2.0}
"""Variance of the difference of e of two intervals, per variance of the noise of efforts."""

SETTINGS = (
    *('gain', 'scale', 'offset', 'gravity_share', 'viscous', 'coulomb', 'stribeck'),
    *('friction_velocity', 'stribeck_velocity', 'load_friction', 'rotor_inertia'),
    *('effort_variance', 'velocity_variance', 'velocity_differenced'),
)
"""Rows of the settings, one value per velocity. ``gravity_share`` is 1 where reported efforts
exclude gravity compensation. Only the Kalman filter reads the last three rows: the variance of one
torque, the variance of one velocity, and the part of the latter due to differenced positions."""


def memory_rows(kind: str) -> int:
    """Number of rows of the memory of an observer of the given kind."""
    return MEMORY + len(FILTER_ROWS) if kind == KALMAN else MEMORY


def observer_step(
    model: Model,
    kind: str,
    sampling: str,
    q: Values,
    v: Values,
    effort: Values,
    memory: Sequence[Values],
    interval: Scalar,
    settings: Sequence[Values],
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Update the observer with one sample.

    Args:
        model: the robot.
        kind: one of ``KINDS``.
        sampling: one of ``EFFORT_SAMPLINGS``.
        q, v, effort: the sample (nq), (nv), (nv); effort as reported, zero for a moving base.
        memory: (``memory_rows(kind)``, nv) after the previous sample.
        interval: T, time since the previous sample [s].
        settings: (14, nv), rows as in ``SETTINGS``.

    Returns:
        The external torques (nv), positive when the environment pushes the robot, and the memory
        for the next step.
    """
    values = dict(zip(SETTINGS, settings, strict=True))
    held = _scaled(values, effort)
    before, first, momentum_before, sampled_before, *filtered = memory
    instant = sampling == 'instant'

    def averaged(sampled: Values) -> list[Scalar]:
        return [0.5 * (a + b) for a, b in zip(sampled_before, sampled, strict=True)]

    keep: list[Scalar] = [0.0] * model.nv
    if kind == 'inverse_dynamics':
        keep = list(v)
        sampled = held
        v_mid = [0.5 * (a + b) for a, b in zip(momentum_before, v, strict=True)]
        a_mid = [(b - a) / interval for a, b in zip(momentum_before, v, strict=True)]
        q_mid = integrate(model, q, [-0.5 * interval * x for x in v_mid])
        needed = inverse_dynamics(model, q_mid, v_mid, a_mid, {})
        carried = gravity_torques(model, q_mid)
        given = _with_gravity(values, averaged(held) if instant else held, carried)
        external = [
            n + b * a - t
            for n, b, a, t in zip(
                *(needed, values['rotor_inertia'], a_mid, _behind_friction(values, given, v_mid)),
                strict=True,
            )
        ]
    else:
        carried = gravity_torques(model, q)
        given = _with_gravity(values, held, carried)
        if kind == 'static':
            sampled = [t - g for t, g in zip(given, carried, strict=True)]
        else:
            p, beta = momentum_observer_terms(model, q, v)
            keep = [x + b * w for x, b, w in zip(p, values['rotor_inertia'], v, strict=True)]
            behind = _behind_friction(values, given, v)
            sampled = [t + b for t, b in zip(behind, beta, strict=True)]
        if not instant:
            sampled = [t - h for t, h in zip(sampled, held, strict=True)]
        acting = averaged(sampled)
        if not instant:
            acting = [a + h for a, h in zip(acting, held, strict=True)]
        external = [
            (k1 - k0) / interval - a
            for k0, k1, a in zip(momentum_before, keep, acting, strict=True)
        ]

    estimate, stage = [], []
    if kind == KALMAN:
        variances, noise_of_e = values['velocity_variance'], DIFFERENCED[sampling]
        momenta = [
            dot([m * m for m in row], variances) + b * b * own
            for row, b, own in zip(
                mass_matrix(model, q), values['rotor_inertia'], variances, strict=True
            )
        ]
        steps = [
            disturbance_step(e, rows, interval, gain, efforts, momentum, share, noise_of_e)
            for e, rows, gain, efforts, momentum, share in zip(
                *(external, zip(*filtered, strict=True), values['gain']),
                *(values['effort_variance'], momenta, values['velocity_differenced']),
                strict=True,
            )
        ]
        after = [list(row) for row in zip(*steps, strict=True)]
        return after[0], [after[0], [0.0] * model.nv, keep, list(sampled), *after]
    for e, r, y, gain in zip(external, before, first, values['gain'], strict=True):
        if kind == 'momentum_second_order':
            rate = 2.0 * gain * interval
            decay = exp(-rate)
            stage.append(e + decay * (y - e))
            estimate.append(e + decay * (r - e + rate * (y - e)))
        else:
            stage.append(0.0)
            estimate.append(e + exp(-(gain * interval)) * (r - e))
    return estimate, [estimate, stage, keep, list(sampled)]


def torque_on_bodies(
    model: Model, q: Values, v: Values, effort: Values, settings: Sequence[Values]
) -> list[Scalar]:
    """Torques tau (nv) on the rigid bodies of reported efforts; arguments as of `observer_step`."""
    values = dict(zip(SETTINGS, settings, strict=True))
    given = _with_gravity(values, _scaled(values, effort), gravity_torques(model, q))
    return _behind_friction(values, given, v)


def _scaled(values: dict[str, Values], effort: Values) -> list[Scalar]:
    return [s * u + o for s, u, o in zip(values['scale'], effort, values['offset'], strict=True)]


def _with_gravity(values: dict[str, Values], held: Values, gravity: Values) -> list[Scalar]:
    """Torques before friction: held efforts plus gravity where reported efforts exclude it."""
    return [h + s * g for h, s, g in zip(held, values['gravity_share'], gravity, strict=True)]


def _behind_friction(values: dict[str, Values], given: Values, v: Values) -> list[Scalar]:
    rows = [
        values[name]
        for name in SETTINGS[SETTINGS.index('viscous') : SETTINGS.index('rotor_inertia')]
    ]
    return [torque_behind_friction(*column) for column in zip(given, v, *rows, strict=True)]
