# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of an observer of external joint torques, from one sample to the next.

Reported effort u means the torque on the rigid bodies ([Haddadin2017] for the observers)

    tau = scale u + offset (+ g(q), where the report leaves it out) - friction(v, tau),

where friction may grow with what is left behind it (``joint_friction``), and a rotor of inertia B,
reflected to its joint, adds B v to the momentum. Between two samples, a
time T apart, the mean of the external torque follows

- ``momentum``: from the balance of p = M(q) v + B v, dp/dt = tau + beta + tau_ext, with
  beta = C^T v - g: e = (p_1 - p_0) / T - mean of (tau + beta). No derivative, no inverse.
- ``kalman``: from the same balance, behind a Kalman filter (``disturbance_filter``) in place of the
  low-pass.
- ``inverse_dynamics``: from the equations of motion half way between the samples, with the
  acceleration (v_1 - v_0) / T: e = M a + C v + g + B a - tau.
- ``static``: from gravity alone, e = g - tau, without friction: velocities are not read.

What is known at samples only is averaged by the trapezoid (error T^2/12 of its second derivative);
an effort that was held over the interval is its own mean. The estimate is e behind a low-pass of
unit gain, for a constant e its exact solution, which is stable for every T and K:

    first order    dr/dt = K (e - r)                    r_1 = e + E (r_0 - e),  E = exp(-K T)
    second order   dy/dt = 2K (e - y), dr/dt = 2K (y - r)
                   y_1 = e + F (y_0 - e),  r_1 = e + F (r_0 - e) + 2 K T F (y_0 - e),
                   F = exp(-2 K T): at low frequencies as late, 1/K, and twice as steep beyond.
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
"""Effort is the torque at the stamp, or the one that was held since the sample before."""

MEMORY = 4
"""Rows of what a step hands to the next: estimate, first stage of the second order, momentum (or
velocity), what is known at samples."""

SAMPLED = slice(2, MEMORY)
"""Rows of the memory that are of the sample alone."""

KALMAN = 'kalman'

DIFFERENCED = {'instant': 0.5, 'interval': 2.0}
"""Variance that noise of efforts gives to the difference of e of two intervals, for each of it."""

SETTINGS = (
    *('gain', 'scale', 'offset', 'gravity_share', 'viscous', 'coulomb', 'stribeck'),
    *('friction_velocity', 'stribeck_velocity', 'load_friction', 'rotor_inertia'),
    *('effort_variance', 'velocity_variance', 'velocity_differenced'),
)
"""Rows of the settings, one value a velocity each; gravity_share is 1 where reported efforts leave
out what carries the weight; only a Kalman filter reads the variances of one torque and of one
velocity, and the share of the latter that differences of positions make."""


def memory_rows(kind: str) -> int:
    """How many rows a step of a kind hands to the next."""
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
    """Take one sample in.

    Args:
        model: the robot.
        kind: one of ``KINDS``.
        sampling: one of ``EFFORT_SAMPLINGS``.
        q, v, effort: the sample; effort as reported, zero for a moving base.
        memory: (``memory_rows(kind)``, nv) of the sample before.
        interval: T, time since the sample before [s].
        settings: (14, nv), rows as in ``SETTINGS``.

    Returns:
        The external torques (nv), environment on robot positive, and the memory for the next step.
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
    """tau (nv) of reported efforts: what a dynamics algorithm takes; arguments as above."""
    values = dict(zip(SETTINGS, settings, strict=True))
    given = _with_gravity(values, _scaled(values, effort), gravity_torques(model, q))
    return _behind_friction(values, given, v)


def _scaled(values: dict[str, Values], effort: Values) -> list[Scalar]:
    return [s * u + o for s, u, o in zip(values['scale'], effort, values['offset'], strict=True)]


def _with_gravity(values: dict[str, Values], held: Values, gravity: Values) -> list[Scalar]:
    """What motors give: with what carries the weight, where the report leaves it out."""
    return [h + s * g for h, s, g in zip(held, values['gravity_share'], gravity, strict=True)]


def _behind_friction(values: dict[str, Values], given: Values, v: Values) -> list[Scalar]:
    rows = [
        values[name]
        for name in SETTINGS[SETTINGS.index('viscous') : SETTINGS.index('rotor_inertia')]
    ]
    return [torque_behind_friction(*column) for column in zip(given, v, *rows, strict=True)]
