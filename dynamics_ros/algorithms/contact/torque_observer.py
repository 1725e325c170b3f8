# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a momentum observer of external joint torques ([DeLuca2005], [Haddadin2017]).

The torque on the rigid bodies is computed from the reported effort u:

    tau = scale u + offset (+ g(q), if reported efforts exclude gravity) - friction(v, tau),

where friction may depend on the transmitted torque tau (``joint_friction``). A rotor with the
reflected inertia B adds B v to the momentum p = M(q) v + B v, which obeys dp/dt = tau + beta +
tau_ext with beta = C^T v - g. The mean external torque e between two samples at the distance T is

    e = (p_1 - p_0) / T - mean of (tau + beta).

It needs no acceleration and no inverse of M. Quantities that are known only at samples are averaged
by the trapezoidal rule (error: T^2/12 times their second derivative). An effort that was held over
the interval is its mean. The estimate r is e after a low-pass filter of unit gain, dr/dt = K (e -
r). The step is the exact solution for constant e, which is stable for every T and K:

    r_1 = e + E (r_0 - e),    E = exp(-K T).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.joint_friction import torque_behind_friction
from dynamics_ros.algorithms.momentum import momentum_observer_terms
from dynamics_ros.algorithms.quantity import Input, PerVelocity, Q, V, quantity
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp

Values = Sequence[Scalar]

EFFORT_SAMPLINGS = ('instant', 'interval')
"""A reported effort is the torque at the stamp, or the torque held since the previous sample."""

MEMORY = 3
"""Rows of the memory of a step: the estimate, the momentum, and the quantity that is known only at
samples."""

SAMPLED = slice(1, MEMORY)
"""Rows of the memory that depend only on the last sample."""

SETTINGS = (
    *('gain', 'scale', 'offset', 'gravity_share', 'viscous', 'coulomb', 'stribeck'),
    *('friction_velocity', 'stribeck_velocity', 'load_friction', 'rotor_inertia'),
)
"""Rows of the settings, one value per velocity. ``gravity_share`` is 1 where reported efforts
exclude gravity compensation."""


@quantity(
    'one step of an observer of external torques',
    {
        'external_torque': 'of the environment on the robot, torques as tau',
        'memory': 'for the next step',
    },
    internal=True,
)
def observer_step(
    model: Model,
    sampling: str,
    q: Q,
    v: V,
    effort: PerVelocity,
    memory: Annotated[Sequence[Values], Input(MEMORY, 'nv')],
    interval: Scalar,
    settings: Annotated[Sequence[Values], Input(len(SETTINGS), 'nv')],
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Update the observer with one sample.

    Args:
        model: the robot.
        sampling: one of ``EFFORT_SAMPLINGS``.
        q, v, effort: the sample (nq), (nv), (nv); effort as reported, zero for a moving base.
        memory: (MEMORY, nv) after the previous sample.
        interval: T, time since the previous sample [s].
        settings: (11, nv), rows as in ``SETTINGS``.

    Returns:
        The external torques (nv), positive when the environment pushes the robot, and the memory
        for the next step.
    """
    values = dict(zip(SETTINGS, settings, strict=True))
    scaled_effort = _scaled(values, effort)
    estimate, momentum_before, sampled_before = memory
    instant = sampling == 'instant'

    motor_torque = _with_gravity(values, scaled_effort, gravity_torques(model, q))
    p, beta = momentum_observer_terms(model, q, v)
    momentum = [x + b * w for x, b, w in zip(p, values['rotor_inertia'], v, strict=True)]
    body_torque = _after_friction(values, motor_torque, v)
    sampled = [t + b for t, b in zip(body_torque, beta, strict=True)]
    if not instant:
        sampled = [t - h for t, h in zip(sampled, scaled_effort, strict=True)]
    mean_torque = [0.5 * (a + b) for a, b in zip(sampled_before, sampled, strict=True)]
    if not instant:
        mean_torque = [a + h for a, h in zip(mean_torque, scaled_effort, strict=True)]
    external = [
        (k1 - k0) / interval - a
        for k0, k1, a in zip(momentum_before, momentum, mean_torque, strict=True)
    ]
    estimate = [
        e + exp(-(gain * interval)) * (r - e)
        for e, r, gain in zip(external, estimate, values['gain'], strict=True)
    ]
    return estimate, [estimate, momentum, list(sampled)]


@quantity(
    'the torques of the joints on the rigid bodies that reported efforts mean',
    {'tau': 'zero for a moving base'},
    internal=True,
)
def torque_on_bodies(
    model: Model,
    q: Q,
    v: V,
    effort: PerVelocity,
    settings: Annotated[Sequence[Values], Input(len(SETTINGS), 'nv')],
) -> list[Scalar]:
    """Torques tau (nv) on the rigid bodies of reported efforts; arguments as of `observer_step`."""
    values = dict(zip(SETTINGS, settings, strict=True))
    motor_torque = _with_gravity(values, _scaled(values, effort), gravity_torques(model, q))
    return _after_friction(values, motor_torque, v)


def _scaled(values: dict[str, Values], effort: Values) -> list[Scalar]:
    return [s * u + o for s, u, o in zip(values['scale'], effort, values['offset'], strict=True)]


def _with_gravity(values: dict[str, Values], held: Values, gravity: Values) -> list[Scalar]:
    """Torques before friction: held efforts plus gravity where reported efforts exclude it."""
    return [h + s * g for h, s, g in zip(held, values['gravity_share'], gravity, strict=True)]


def _after_friction(values: dict[str, Values], given: Values, v: Values) -> list[Scalar]:
    rows = [
        values[name]
        for name in SETTINGS[SETTINGS.index('viscous') : SETTINGS.index('rotor_inertia')]
    ]
    return [torque_behind_friction(*column) for column in zip(given, v, *rows, strict=True)]
