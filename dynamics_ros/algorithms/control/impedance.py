# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a Cartesian impedance controller: torques from a state and a target.

The tool behaves as its task inertia Lambda on a spring and a damper ([Hogan1985], [Ott2008]),

    tau = J^T (F + Lambda (w-dot* - J-dot v)) + N^T tau_0 + tau_limits + C v + g + friction,
    F = R_K (K e + D e-dot) - wrench*,     N^T = 1 - J^T Lambda J M^-1,

with pose error e and twist error e-dot in axes R_K, and torques tau_0 of springs and dampers to a
posture. The projection N^T keeps the torques that do not accelerate the tool ([Khatib1987]). Limits
are applied to the torques of this law, in this order: energy tank, rate of torques that do not move
the tool, largest torque, guard of the joint position limits, largest torque again, largest torque
rate.

Invalid inputs are handled. For a state that is not finite the controller sends the last gravity
torques; for a target or gain that is not finite it brakes. `FLAGS` report this. The torque and its
rate are within their limits in every case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.configuration import difference, neutral
from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import coriolis_torques
from dynamics_ros.algorithms.joint_friction import friction_torque
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.solve import (
    dot,
    factorize,
    inverse_of,
    solve_factorized,
)
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Matrix3, Scalar, log_matrix, transform_of_rows
from dynamics_ros.spatial.scalar import where_less

from .energy_tank import level_after, valve
from .joint_limits import braked, limit_torques
from .task_inertia import BoundedInertia, directions
from .task_space import Rows, frame_rows, turned, turned_back
from .torque_limits import largest_steps, largest_torques, limited_rates, share_beside, within
from .validity import (
    LARGEST,
    any_differs,
    at_least,
    at_most,
    between,
    excess_of,
    if_valid,
    unless_between,
    unless_rotation,
)

Values = Sequence[Scalar]

JOINT_GAINS = (
    *('posture_stiffness', 'posture_damping', 'lower', 'upper', 'margin', 'limit_stiffness'),
    *('guard_rate', 'max_torque', 'max_torque_rate', 'viscous', 'coulomb', 'stribeck'),
    *('friction_velocity', 'stribeck_velocity', 'load_friction'),
)
"""Rows of the joint gains, one value per velocity."""

FORCE_GAINS = ('selected', 'proportional', 'integral', 'integral_limit')
"""Rows of the gains of force control, along x y z and about x y z of the axes."""

SETTINGS = ('axes_of_tool', 'length', 'largest_inertia', 'energy_capacity', 'energy_horizon')
"""Other settings: whether the axes are given in the tool frame (1, else 0); [m], [kg], [J], [s]."""

FLAGS = (
    *('state', 'input', 'memory', 'singular', 'joint_limit', 'guard', 'energy', 'torque'),
    *('torque_rate', 'force_integral'),
)
"""Flags, 1.0 or 0.0 each. state, input (target, gain, interval), memory: invalid. singular: the
task inertia is damped. joint_limit: a joint is in the margin of its range. guard, energy, torque,
torque_rate: the guard, the energy tank or a limit changes the torque. force_integral: the integral
of the force error is at its limit."""

BRAKING = 10.0
"""Rate at which motion decays if a target or gain is invalid [1/s]."""

NOMINAL_INTERVAL, MAX_INTERVAL = 1e-3, 0.1
"""Replacement for an invalid interval, and the longest valid interval [s]."""

LEAST_VELOCITY, LEAST_LENGTH, LEAST_INERTIA = 1e-6, 1e-3, 1e-3
"""Lower bounds of the velocity scales of friction [rad/s or m/s], of the length scale [m] and of
the largest inertia [kg]."""

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
UNMOVED = (*IDENTITY[:3], 0.0, *IDENTITY[3:6], 0.0, *IDENTITY[6:], 0.0)


def memory_size(model: Model) -> int:
    """Number of values in the memory of a step."""
    return model.nq + 3 * model.nv + 7


@dataclass(frozen=True)
class Memory:
    """Values that one step passes to the next.

    Attributes:
        q: configuration (nq) of the last valid state.
        tau: commanded torques (nv).
        working: commanded torques (nv) without gravity and friction, whose work the tank counts.
        gravity: gravity torques (nv) of the last valid state.
        energy: level of the tank [J].
        integral: integral part of the force control (6), in the axes of the stiffness [N, Nm].
    """

    q: list[Scalar]
    tau: list[Scalar]
    working: list[Scalar]
    gravity: list[Scalar]
    energy: Scalar
    integral: list[Scalar]

    @classmethod
    def of(cls, model: Model, values: Values) -> Memory:
        """Memory of a list of values, the inverse of `values`."""
        n = model.nq
        tau, working, gravity = (
            list(values[n + k * model.nv : n + (k + 1) * model.nv]) for k in range(3)
        )
        return cls(list(values[:n]), tau, working, gravity, values[-7], list(values[-6:]))

    def values(self) -> list[Scalar]:
        """All values in one list."""
        parts = (self.q, self.tau, self.working, self.gravity, [self.energy], self.integral)
        return [x for part in parts for x in part]


def impedance_step(
    model: Model,
    frame: Frame,
    q: Values,
    v: Values,
    wrench: Values,
    target_pose: Sequence[Values],
    target_twist: Values,
    target_acceleration: Values,
    target_wrench: Values,
    posture: Values,
    stiffness: Rows,
    damping: Rows,
    axes: Sequence[Values],
    force_gains: Rows,
    joint_gains: Rows,
    settings: Values,
    memory: Values,
    interval: Scalar,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Compute the torques of one control step.

    Args:
        model, frame: an arm on a fixed base, and its tool frame.
        q, v: state (nq), (nv).
        wrench: (6) measured wrench of the environment on the tool, about the origin of the tool
            frame, in axes of the root frame.
        target_pose: (4, 4) desired pose of the tool in the root frame.
        target_twist, target_acceleration: (6) of the tool, in axes of the root frame.
        target_wrench: (6) desired wrench of the environment on the tool, expressed as ``wrench``.
        posture: (nq) desired configuration in the null space of the tool.
        stiffness, damping: (6, 6) in the axes R_K.
        axes: (3, 3) rotation of the axes R_K, in the root frame or in the tool frame.
        force_gains: (4, 6), rows as in ``FORCE_GAINS``.
        joint_gains: (15, nv), rows as in ``JOINT_GAINS``.
        settings: values as in ``SETTINGS``.
        memory: values that the previous step has returned.
        interval: time since the previous step [s].

    Returns:
        The torques (nv), the memory for the next step, and the flags as in ``FLAGS``.
    """
    matrices = (target_pose, stiffness, damping, axes, force_gains, joint_gains)
    vectors = (wrench, target_twist, target_acceleration, target_wrench, posture, settings)
    listed = [x for rows in matrices for row in rows for x in row]
    bad_interval = unless_between(0.0, interval, MAX_INTERVAL)
    bad_input = (
        excess_of([*listed, *(x for vector in vectors for x in vector)])
        + unless_rotation([row[:3] for row in target_pose[:3]])
        + unless_rotation(axes)
        + bad_interval
    )
    dt = where_less(bad_interval, LARGEST, interval, NOMINAL_INTERVAL)
    joints = dict(zip(JOINT_GAINS, joint_gains, strict=True))
    values = dict(zip(SETTINGS, settings, strict=True))

    bad_memory = excess_of(memory)
    blank = [*neutral(model), *[0.0] * (memory_size(model) - model.nq)]
    before = Memory.of(model, if_valid(bad_memory, memory, blank))
    bad_state = excess_of([*q, *v])
    q = if_valid(bad_state, q, before.q)
    v = if_valid(bad_state, v, [0.0] * model.nv)

    gravity = gravity_torques(model, q)
    coriolis = coriolis_torques(model, q, v)
    M = mass_matrix(model, q)
    factors = factorize(M)

    # The impedance law; braking where its result is not finite.
    J, bias = frame_rows(model, q, v, frame, range(6))
    pose = if_valid(bad_input, [x for row in target_pose[:3] for x in row], UNMOVED)
    X_0T = transform_of_rows([pose[:4], pose[4:8], pose[8:]])
    X_0F = frame_pose(model, q, frame)
    turn = Matrix3(_rows_of(if_valid(bad_input, [x for row in axes for x in row], IDENTITY)))
    of_tool = X_0F.rotation @ turn
    R_0K = Matrix3(
        [where_less(0.5, values['axes_of_tool'], x, y) for x, y in zip(*rows, strict=True)]
        for rows in zip(of_tool, turn, strict=True)
    )
    error = [*(X_0T.translation - X_0F.translation)]
    error += log_matrix(X_0T.rotation @ X_0F.rotation.T)
    rate = [w - dot(row, v) for w, row in zip(target_twist, J, strict=True)]
    missing = [turned_back(R_0K, x) for x in (error, rate, target_wrench, wrench)]
    force, integral, limited_integral = _force(
        missing, stiffness, damping, force_gains, before.integral, dt
    )
    force = turned(R_0K, force)
    integral = if_valid(bad_input + bad_state, integral, before.integral)
    springs = difference(model, q, posture)
    tau_0 = [
        k * e - d * w
        for k, e, d, w in zip(
            joints['posture_stiffness'], springs, joints['posture_damping'], v, strict=True
        )
    ]
    M_inverse_Jt = [solve_factorized(factors, row) for row in J]
    inertia = BoundedInertia.of(
        J,
        M_inverse_Jt,
        at_least(values['length'], LEAST_LENGTH),
        at_least(values['largest_inertia'], LEAST_INERTIA),
        directions(model, frame),
    )
    a_0 = [dot(column, tau_0) for column in M_inverse_Jt]
    wanted = [a - b - c for a, b, c in zip(target_acceleration, bias, a_0, strict=True)]
    force = [f + x for f, x in zip(force, inertia @ wanted, strict=True)]
    limits = [joints[name] for name in ('lower', 'upper', 'margin', 'limit_stiffness')]
    pushed = limit_torques(model, q, *limits)
    law = [
        dot(column, force) + posture_torque + limit + c
        for column, posture_torque, limit, c in zip(
            transposed(J), tau_0, pushed, coriolis, strict=True
        )
    ]
    braking = [c - BRAKING * dot(row, v) for c, row in zip(coriolis, M, strict=True)]
    working = if_valid(bad_input + excess_of(law), law, braking)

    # Energy tank.
    moved = difference(model, before.q, q)
    (capacity,) = if_valid(bad_input, [values['energy_capacity']], [before.energy])
    level = level_after(before.energy, capacity, before.working, moved)
    level = where_less(abs(level), LARGEST, level, 0.0)
    horizon = at_least(at_most(values['energy_horizon'], 1.0), dt)
    a = solve_factorized(factors, working)
    share = valve(level, horizon, working, v, a)
    working = [share * x for x in working]

    # Torques for gravity and friction, and the torques that the limits leave for the law.
    friction = _friction(joints, v, _sum(gravity, working))
    friction = if_valid(bad_input + excess_of(friction), friction, [0.0] * model.nv)
    carried = [g + f for g, f in zip(gravity, friction, strict=True)]
    last = if_valid(bad_memory, before.tau, if_valid(bad_state, gravity, before.gravity))
    largest = largest_torques(model, joints['max_torque'], last)
    asked = _sum(working, carried)
    # Torques that do not move the tool use the torque rate that the other torques leave; all joints
    # are scaled by the same factor.
    changed, steps = _less(asked, last), largest_steps(joints['max_torque_rate'], dt)
    free = inertia.unfelt(J, M_inverse_Jt, _less(working, before.working))
    part = share_beside(_less(changed, free), free, steps)
    (part,) = if_valid(bad_input + bad_state, [part], [1.0])
    asked = _less(asked, [(1.0 - part) * x for x in free])
    feasible = within(asked, largest)
    available = _less(feasible, carried)

    # Guard of the joint position limits.
    a = solve_factorized(factors, available)
    rates = (joints['lower'], joints['upper'], joints['guard_rate'])
    change = braked(model, q, v, a, inverse_of(factors), rates, dt)
    change = if_valid(bad_input, change, [0.0] * model.nv)
    guarding = _sum(available, change)

    # Command. For an invalid state it is the last gravity torque. If a torque limit has been
    # reduced since the last step, the limit has priority over the rate.
    tau = _sum(guarding, carried)
    # `within` maps NaN to a bound, which must not be sent, so validity is checked before.
    computed = bad_state + excess_of([*asked, *tau])
    tau = if_valid(computed, tau, before.gravity)
    carried = if_valid(computed, carried, before.gravity)
    gravity = if_valid(computed, gravity, before.gravity)
    bounded = within(tau, largest)
    near = limited_rates(bounded, last, joints['max_torque_rate'], dt)
    sent = within(near, largest)
    following = Memory(q, sent, _less(sent, carried), gravity, level, integral)
    flags = {
        'state': _is_bad(computed),
        'input': _is_bad(bad_input),
        'memory': _is_bad(bad_memory),
        'singular': inertia.damped,
        'joint_limit': any_differs(pushed, [0.0] * model.nv),
        'guard': any_differs(change, [0.0] * model.nv),
        'energy': where_less(share, 1.0, 1.0, 0.0),
        'torque': any_differs([*asked, *tau], [*feasible, *bounded]),
        'torque_rate': any_differs([*near, part], [*bounded, 1.0]),
        'force_integral': limited_integral,
    }
    return sent, following.values(), [flags[name] for name in FLAGS]


def _force(
    missing: Sequence[Values],
    stiffness: Rows,
    damping: Rows,
    gains: Rows,
    integral: Values,
    dt: Scalar,
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Force F (6), integral of the force error (6), and whether it is at its limit; in axes R_K.

    Selected directions have no spring; the measured wrench is controlled to the desired wrench.

    Args:
        missing: pose error, twist error, desired wrench and measured wrench, (6) each.
        stiffness, damping: (6, 6) as for `impedance_step`.
        gains: (4, 6), rows as in ``FORCE_GAINS``.
        integral: (6) integral part of the previous step.
        dt: interval [s].
    """
    error, rate, wanted, measured = missing
    selected, proportional, integral_gain, bound = gains
    pressed = [between(x, 0.0, 1.0) for x in selected]
    moving = [(1.0 - x) * e for x, e in zip(pressed, error, strict=True)]
    following: list[Scalar] = []
    force: list[Scalar] = []
    unbounded: list[Scalar] = []
    for i in range(6):
        lacking = wanted[i] - measured[i]
        summed = pressed[i] * (integral[i] + integral_gain[i] * lacking * dt)
        unbounded.append(summed)
        most = at_least(bound[i], 0.0)
        following.append(between(summed, -most, most))
        spring = (1.0 - pressed[i]) * dot(stiffness[i], moving)
        closed = wanted[i] + pressed[i] * proportional[i] * lacking + following[i]
        force.append(spring + dot(damping[i], rate) - closed)
    return force, following, any_differs(unbounded, following)


def _friction(joints: Mapping[str, Values], v: Values, carried: Values) -> list[Scalar]:
    """Friction torques (nv) that compensate friction at the given transmitted torques."""
    scales = [
        [at_least(x, LEAST_VELOCITY) for x in joints[name]]
        for name in ('friction_velocity', 'stribeck_velocity')
    ]
    rows = [joints[name] for name in ('viscous', 'coulomb', 'stribeck')]
    load = [between(x, 0.0, 1.0) for x in joints['load_friction']]
    columns = zip(v, *rows, *scales, load, carried, strict=True)
    return [friction_torque(*column) for column in columns]


def _is_bad(excess: Scalar) -> Scalar:
    return where_less(excess, LARGEST, 0.0, 1.0)


def _rows_of(values: Values) -> list[Values]:
    return [values[3 * i : 3 * i + 3] for i in range(3)]


def _less(a: Values, b: Values) -> list[Scalar]:
    return [x - y for x, y in zip(a, b, strict=True)]


def _sum(a: Values, b: Values) -> list[Scalar]:
    return [x + y for x, y in zip(a, b, strict=True)]
