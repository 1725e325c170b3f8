# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stop of an arm along a decaying motion, which joint springs track, and its floating.

Torques change within their rates. Torques that resist a push go on when the push has ended, until
they have changed: a torque tau gives a joint of inertia m at most the velocity tau^2 / (2 R m) at a
rate R. Each joint therefore brakes with at most

    tau = sqrt(2 s R (p + m v_0)),    p = sum over j of |M_kj v_j|,

which becomes zero at the share s of the largest rate as the motion decays. v_0 is the velocity to
which a joint at rest may spring back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.configuration import difference, integrate
from dynamics_ros.algorithms.inverse_dynamics import coriolis_torques
from dynamics_ros.algorithms.linear_algebra.solve import dot, factorize, inverse_of
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.quantity import Input, Q, V, quantity
from dynamics_ros.algorithms.task_space import frame_rows
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import (
    clipped,
    exp,
    larger,
    magnitude,
    smaller,
    sqrt,
    where_less,
)

from .holding_back import held_back

Values = Sequence[Scalar]

RATE = 12.0
"""Rate of the critically damped joint springs [1/s]."""

LEASH = 0.1
"""Largest spring deflection of a joint [rad or m]; a clamped person can push the joint away."""

SHARE = 0.25
"""Share of the torque limit that a joint's spring has at its largest deflection.

A held load may be much heavier than the links beyond a wrist.
"""

STABLE, STABLE_ALONE = 0.5, 0.15
"""Largest share of a velocity that damping removes within one sample.

The first is for all joints together by the mass matrix, the second for each joint alone.
"""

SHARE_OF_RATE = 0.6
"""Share of the largest torque rate at which braking torques go back as the motion decays."""

RETURN = 0.5
"""Velocity to which a joint at rest may spring back [rad/s or m/s]."""

TINY = 1e-9
"""Lower bound of momenta, velocities and torques used as divisors."""


def memory_size(model: Model) -> int:
    """Number of values in the memory of a stop: a configuration, velocities, 1 once it is valid."""
    return model.nq + model.nv + 1


@quantity(
    'one step of a stop that holds the arm where it comes to rest',
    {
        'torque': 'torques in addition to those of gravity and Coriolis forces',
        'next_memory': 'for the next step; zeros start a stop',
    },
    internal=True,
)
def stop_step(
    model: Model,
    frame: Frame,
    q: Q,
    v: V,
    speeds: Annotated[Values, Input(2)],
    limits: Annotated[Sequence[Values], Input(2, 'nv')],
    largest_inertia: Scalar,
    memory: Annotated[Values, Input(memory_size)],
    interval: Scalar,
) -> tuple[list[Scalar], list[Scalar]]:
    """Compute the torques of one step that brings an arm to rest and holds it there.

    Args:
        model, frame: an arm on a fixed base, and its tool frame.
        q, v: state (nq), (nv).
        speeds: (2) of the tool, linear and angular, beyond which it is held back [m/s, rad/s].
        limits: (2, nv) largest torques and torque rates.
        largest_inertia: as for `holding_back`.
        memory: that the previous step has returned; zeros start a stop at this state.
        interval: time since the previous step [s].

    Returns:
        Torques (nv) in addition to those of gravity and Coriolis forces, and the memory for the
        next step.
    """
    largest, rates = limits
    n, started = model.nq, memory[-1]
    M = mass_matrix(model, q)
    factors = factorize(M)
    own = [1.0 / row[k] for k, row in enumerate(inverse_of(factors))]
    momenta = [p + m * RETURN for p, m in zip(_momenta(M, v), own, strict=True)]
    rate = smaller(_decay_rate(momenta, rates), 0.5 * STABLE / interval)
    q_ref = [where_less(0.5, started, x, y) for x, y in zip(memory[:n], q, strict=True)]
    v_ref = [where_less(0.5, started, x, y) for x, y in zip(memory[n:-1], v, strict=True)]
    # The motion does not press against an obstacle that stops a joint.
    forwards = [where_less(x, 0.0, -1.0, where_less(0.0, x, 1.0, 0.0)) for x in v_ref]
    v_ref = [
        s * clipped(s * x, 0.0, magnitude(y)) for s, x, y in zip(forwards, v, v_ref, strict=True)
    ]
    q_ref, v_ref = decayed(model, q_ref, v_ref, rate, interval)
    off = [clipped(x, -LEASH, LEASH) for x in difference(model, q, q_ref)]
    off = [where_less(0.0, x * s, 0.0, x) for x, s in zip(off, forwards, strict=True)]
    q_ref = integrate(model, q, off)

    lag = [x - y for x, y in zip(v_ref, v, strict=True)]
    wanted = [
        rate * rate * x + 2.0 * rate * y - rate * z for x, y, z in zip(off, lag, v_ref, strict=True)
    ]
    J, _ = frame_rows(model, q, v, frame, range(6))
    _, back = held_back(J, factors, v, speeds, rates, largest_inertia, interval)
    together = [dot(row, wanted) - x for row, x in zip(M, back, strict=True)]
    bounds = [sqrt(2.0 * SHARE_OF_RATE * x * p) for x, p in zip(rates, momenta, strict=True)]
    share: Scalar = 1.0
    for bound, x in zip(bounds, together, strict=True):
        share = smaller(bound / larger(magnitude(x), TINY), share)

    # A joint with a small share of the inertia would get almost no holding torque from M alone.
    torques: list[Scalar] = []
    columns = zip(own, v, off, lag, largest, rates, bounds, together, strict=True)
    for m, speed, x, y, most, largest_rate, bound, common in columns:
        slow = sqrt(largest_rate * m / larger(magnitude(speed), TINY))
        stable = smaller(STABLE_ALONE / interval * m, slow) / (2.0 * rate) - m
        # A spring that needs torques faster than their rate would swing on and on.
        held = smaller(SHARE * most, 2.0 * sqrt(largest_rate * m * RETURN))
        more = clipped(stable, 0.0, held / (rate * rate * LEASH))
        alone = more * (rate * rate * x + 2.0 * rate * y)
        torques.append(clipped(share * common + alone, -bound, bound))
    # Coriolis forces do no work, but a delayed compensation of them does.
    coriolis = coriolis_torques(model, q, v)
    torques = [x - c for x, c in zip(torques, coriolis, strict=True)]
    return torques, [*q_ref, *v_ref, 1.0]


@quantity(
    'one step of a stop without a sample',
    {
        'next_q': 'predicted',
        'next_v': 'predicted',
        'torque': 'torques in addition to those of gravity and Coriolis forces',
    },
    internal=True,
)
def blind_stop_step(
    model: Model,
    limits: Annotated[Sequence[Values], Input(2, 'nv')],
    memory: Annotated[Values, Input(memory_size)],
    interval: Scalar,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Predict a stop without a sample.

    Args:
        model: the robot.
        limits, memory, interval: as for `stop_step`; the memory contains the last state.

    Returns:
        The predicted state (nq), (nv), and torques (nv) in addition to those of gravity and
        Coriolis forces.
    """
    q, v = list(memory[: model.nq]), list(memory[model.nq : -1])
    M = mass_matrix(model, q)
    rate = _decay_rate(_momenta(M, v), limits[1])
    q, v = decayed(model, q, v, rate, interval)
    return q, v, [-rate * dot(row, v) for row in M]


def decayed(
    model: Model, q: Values, v: Values, rate: Scalar, age: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """State (nq), (nv) of a motion that has decayed at a rate [1/s] for some time [s]."""
    decay = exp(-rate * age)
    moved = [(1.0 - decay) / rate * x for x in v]
    return integrate(model, q, moved), [decay * x for x in v]


def _momenta(M: Sequence[Values], v: Values) -> list[Scalar]:
    """Sum over j of |M_kj v_j| of each joint k."""
    speeds = [magnitude(x) for x in v]
    return [dot([magnitude(x) for x in row], speeds) for row in M]


def _decay_rate(momenta: Values, rates: Values) -> Scalar:
    """Decay rate of the motion [1/s]: a torque d M v that decays with d changes by d^2 M v."""
    square: Scalar = RATE * RATE
    for momentum, largest in zip(momenta, rates, strict=True):
        square = smaller(larger(largest, TINY) / larger(momentum, TINY), square)
    return sqrt(square)


@quantity(
    'torques that let the motion of a floating robot decay',
    'torques in addition to those of gravity and Coriolis forces',
    internal=True,
)
def floating_torques(model: Model, q: Q, v: V, rate: Scalar, interval: Scalar) -> list[Scalar]:
    """Torques (nv) tau = - rate M v, in addition to those of gravity and Coriolis forces.

    Args:
        model: the robot.
        q, v: state (nq), (nv).
        rate: decay rate of the velocity [1/s]; bounded by ``STABLE``.
        interval: time since the previous sample [s].
    """
    rate = smaller(rate, STABLE / interval)
    decay = [-rate * x for x in v]
    return [dot(row, decay) for row in mass_matrix(model, q)]
