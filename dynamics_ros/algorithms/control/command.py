# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commanded torques: the torques of a control law within all limits of an arm, for all inputs.

The limits are applied in this order: rate of torques that do not move the tool, largest torque,
guard of the joint position limits, largest torque again, largest torque rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.configuration import neutral
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import coriolis_torques
from dynamics_ros.algorithms.joint_friction import friction_torque
from dynamics_ros.algorithms.linear_algebra.solve import (
    Factors,
    dot,
    factorize,
    inverse_of,
    solve_factorized,
)
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import where_less

from .joint_limits import guard_torques
from .sampled import held_for
from .torque_limits import largest_steps, largest_torques, limited_rates, share_beside, within
from .validity import (
    LARGEST,
    any_differs,
    at_least,
    between,
    excess_of,
    if_valid,
    unless_between,
)

Values = Sequence[Scalar]

BRAKING = 10.0
"""Rate at which motion decays if a target or gain is invalid [1/s]."""

NOMINAL_INTERVAL, MAX_INTERVAL = 1e-3, 0.1
"""Replacement for an invalid interval, and the longest valid interval [s]."""

NOTICEABLE = 1e-6
"""Share of all torques from which a change by the guard sets its flag: rounding errors are below,
and no drive resolves less."""

MIN_VELOCITY = 1e-6
"""Lower bound of the velocity scales of friction [rad/s or m/s]."""


def memory_size(model: Model) -> int:
    """Number of values in the memory of a step."""
    return model.nq + 3 * model.nv + 1


@dataclass(frozen=True)
class Memory:
    """Values that one step passes to the next.

    Attributes:
        q: configuration (nq) of the last valid state.
        tau: commanded torques (nv).
        working: commanded torques (nv) without gravity and friction.
        gravity: gravity torques (nv) of the last valid state.
        hold: time for which torques are held [s], as of ``sampled.held_for``.
    """

    q: list[Scalar]
    tau: list[Scalar]
    working: list[Scalar]
    gravity: list[Scalar]
    hold: Scalar

    @classmethod
    def of(cls, model: Model, values: Values) -> Memory:
        """Memory of a list of values, the inverse of `values`."""
        n = model.nq
        tau, working, gravity = (
            list(values[n + k * model.nv : n + (k + 1) * model.nv]) for k in range(3)
        )
        return cls(list(values[:n]), tau, working, gravity, values[-1])

    def values(self) -> list[Scalar]:
        """All values in one list."""
        return [*self.q, *self.tau, *self.working, *self.gravity, self.hold]


@dataclass(frozen=True)
class JointState:
    """State of one step, made valid, with the quantities of the robot that every law needs.

    Attributes:
        q, v: (nq), (nv); those of the previous step and zero if the state is invalid.
        before: memory of the previous step.
        interval: time since then [s].
        hold: time for which torques are held [s].
        bad_state, bad_memory, bad_interval: as of `excess_of`.
        gravity, coriolis: torques (nv).
        M, factors, M_inverse: mass matrix (nv, nv), its factorization and its inverse.
    """

    q: Values
    v: Values
    before: Memory
    interval: Scalar
    hold: Scalar
    bad_state: Scalar
    bad_memory: Scalar
    bad_interval: Scalar
    gravity: Values
    coriolis: Values
    M: Sequence[Values]
    factors: Factors
    M_inverse: Sequence[Values]

    @classmethod
    def of(cls, model: Model, q: Values, v: Values, memory: Values, interval: Scalar) -> JointState:
        """Check a state (nq), (nv), the memory of the previous step and the time since then [s]."""
        bad_interval = unless_between(0.0, interval, MAX_INTERVAL)
        dt = where_less(bad_interval, LARGEST, interval, NOMINAL_INTERVAL)
        bad_memory = excess_of(memory)
        initial = [*neutral(model), *[0.0] * (memory_size(model) - model.nq)]
        before = Memory.of(model, if_valid(bad_memory, memory, initial))
        bad_state = excess_of([*q, *v])
        q = if_valid(bad_state, q, before.q)
        v = if_valid(bad_state, v, [0.0] * model.nv)
        M = mass_matrix(model, q)
        factors, hold = factorize(M), held_for(dt, before.hold)
        return cls(
            *(q, v, before, dt, hold, bad_state, bad_memory, bad_interval),
            gravity_torques(model, q),
            coriolis_torques(model, q, v),
            M,
            factors,
            inverse_of(factors),
        )


def commanded_torques(
    model: Model,
    state: JointState,
    law: Values,
    limit_torque: Values,
    joints: Mapping[str, Values],
    bad_input: Scalar,
    null_space: Callable[[Values], list[Scalar]] | None = None,
) -> tuple[list[Scalar], Memory, dict[str, Scalar]]:
    """Torques of a law within all limits, the memory for the next step, and flags by name.

    Args:
        model: the robot.
        state: of this step.
        law: torques (nv) in addition to those of gravity and friction.
        limit_torque: (nv) of the potential at the position limits, contained in ``law``.
        joints: gains by name.
        bad_input: as of `excess_of`; the arm brakes if a target or a gain is invalid.
        null_space: projects torques (nv) to those that do not move the tool; their rate is limited
            together, by what the other torques leave. None limits the rate of each joint alone.
    """
    before, gravity, dt = state.before, state.gravity, state.interval
    bad_state, v = state.bad_state, state.v
    braking = [c - BRAKING * dot(row, v) for c, row in zip(state.coriolis, state.M, strict=True)]
    working = if_valid(bad_input + excess_of(law), law, braking)

    # Torques for gravity and friction, and the torques that the limits leave for the law.
    friction = _friction(joints, v, added(gravity, working))
    friction = if_valid(bad_input + excess_of(friction), friction, [0.0] * model.nv)
    compensation = [g + f for g, f in zip(gravity, friction, strict=True)]
    last = if_valid(state.bad_memory, before.tau, if_valid(bad_state, gravity, before.gravity))
    largest = largest_torques(model, joints['max_torque'], last)
    desired = added(working, compensation)
    rates = joints['max_torque_rate']
    free_share: Scalar = 1.0
    if null_space is not None:
        # Torques that do not move the tool use the torque rate that the other torques leave; all
        # joints are scaled by the same factor.
        step, steps = less(desired, last), largest_steps(rates, dt)
        free = null_space(less(working, before.working))
        free_share = share_beside(less(step, free), free, steps)
        (free_share,) = if_valid(bad_input + bad_state, [free_share], [1.0])
        desired = less(desired, [(1.0 - free_share) * x for x in free])
    feasible = within(desired, largest)
    available = less(feasible, compensation)

    # Guard of the joint position limits.
    a = solve_factorized(state.factors, available)
    ranges = (joints['lower'], joints['upper'], joints['guard_rate'])
    change = guard_torques(model, state.q, v, a, state.M_inverse, ranges, dt)
    change = if_valid(bad_input, change, [0.0] * model.nv)
    guarded = added(available, change)

    # Command. For an invalid state it is the last gravity torque. If a torque limit has been
    # reduced since the last step, the limit has priority over the rate.
    tau = added(guarded, compensation)
    # `within` maps NaN to a bound, which must not be sent, so validity is checked before.
    computed = bad_state + excess_of([*desired, *tau])
    tau = if_valid(computed, tau, before.gravity)
    compensation = if_valid(computed, compensation, before.gravity)
    gravity = if_valid(computed, gravity, before.gravity)
    bounded = within(tau, largest)
    rate_limited = limited_rates(bounded, last, rates, dt)
    sent = within(rate_limited, largest)
    following = Memory(list(state.q), sent, less(sent, compensation), list(gravity), state.hold)
    changed = excess_of(change)
    flags = {
        'state': is_bad(computed),
        'input': is_bad(bad_input),
        'memory': is_bad(state.bad_memory),
        'joint_limit': any_differs(limit_torque, [0.0] * model.nv),
        'guard': where_less(NOTICEABLE * excess_of([*available, *compensation]), changed, 1.0, 0.0),
        'torque': any_differs([*desired, *tau], [*feasible, *bounded]),
        'torque_rate': any_differs([*rate_limited, free_share], [*bounded, 1.0]),
    }
    return sent, following, flags


def _friction(joints: Mapping[str, Values], v: Values, carried: Values) -> list[Scalar]:
    """Friction torques (nv) that compensate friction at the given transmitted torques."""
    scales = [
        [at_least(x, MIN_VELOCITY) for x in joints[name]]
        for name in ('friction_velocity', 'stribeck_velocity')
    ]
    rows = [joints[name] for name in ('viscous', 'coulomb', 'stribeck')]
    load = [between(x, 0.0, 1.0) for x in joints['load_friction']]
    columns = zip(v, *rows, *scales, load, carried, strict=True)
    return [friction_torque(*column) for column in columns]


def is_bad(excess: Scalar) -> Scalar:
    """1.0 if an `excess_of` is not below ``LARGEST``, else 0.0."""
    return where_less(excess, LARGEST, 0.0, 1.0)


def less(a: Values, b: Values) -> list[Scalar]:
    """Differences of two lists of numbers."""
    return [x - y for x, y in zip(a, b, strict=True)]


def added(a: Values, b: Values) -> list[Scalar]:
    """Sums of two lists of numbers."""
    return [x + y for x, y in zip(a, b, strict=True)]
