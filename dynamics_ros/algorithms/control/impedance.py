# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of a Cartesian impedance controller: torques from a state and a target.

The tool behaves as its task inertia Lambda on a spring and a damper ([Hogan1985], [Ott2008]),

    tau = J^T (F + Lambda (w-dot* - J-dot v)) + N^T tau_0 + tau_limits + tau* + C v + g + friction,
    F = K e + D e-dot - wrench*,     N^T = 1 - J^T Lambda J M^-1,

with pose error e and twist error e-dot in axes of the root frame, torques tau_0 of springs and
dampers to a posture, and given torques tau*. The projection N^T keeps the torques that do not
accelerate the tool ([Khatib1987]). The limits of ``command.py`` are applied to the torques of this
law.

Invalid inputs are handled. For a state that is not finite the controller sends the last gravity
torques; for a target or gain that is not finite it brakes. `FLAGS` report this. The torque and its
rate are within their limits in every case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from dynamics_ros.algorithms.configuration import difference
from dynamics_ros.algorithms.forward_kinematics import frame_pose
from dynamics_ros.algorithms.linear_algebra.matrices import transposed
from dynamics_ros.algorithms.linear_algebra.solve import dot, solve_factorized
from dynamics_ros.algorithms.quantity import Input, PerVelocity, Q, V, quantity
from dynamics_ros.algorithms.task_space import AT_TOOL, Rows, frame_rows
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar, log_matrix, transform_of_rows

from .command import JointState, added, commanded_torques, less, memory_size
from .joint_limits import limit_torques
from .sampled import (
    SHARE,
    SHARE_OF_SPRING,
    bounded_by_samples,
    bounded_posture,
    bounded_ranges,
    mobility_factor,
)
from .task_inertia import BoundedInertia, directions
from .validity import at_least, excess_of, if_valid, unless_rotation

Values = Sequence[Scalar]

JOINT_GAINS = (
    *('posture_stiffness', 'posture_damping', 'lower', 'upper', 'margin', 'limit_stiffness'),
    *('guard_rate', 'max_torque', 'max_torque_rate', 'viscous', 'coulomb', 'stribeck'),
    *('friction_velocity', 'stribeck_velocity', 'load_friction'),
)
"""Rows of the joint gains, one value per velocity."""

SETTINGS = ('length', 'largest_inertia')
"""Other settings [m], [kg]."""

FLAGS = (
    *('state', 'input', 'memory', 'singular', 'joint_limit', 'guard', 'torque', 'torque_rate'),
)
"""Flags, 1.0 or 0.0 each. state, input (target, gain, interval), memory: invalid. singular: the
task inertia is damped. joint_limit: a joint is in the margin of its range. guard, torque,
torque_rate: the guard or a limit changes the torque."""

MIN_LENGTH, MIN_INERTIA = 1e-3, 1e-3
"""Lower bounds of the length scale [m] and of the largest inertia [kg]."""

RESTING_BASE = 'a base that rests: legs have to carry one that moves'
"""What errors of robots with a moving base expect."""

IDENTITY_POSE = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@quantity(
    'one step of a Cartesian impedance controller',
    {
        'tau': 'torques, within their limits and rates whatever the inputs are',
        'next_memory': 'for the next step',
        'flags': f'1 or 0 each: {", ".join(FLAGS)}',
    },
    internal=True,
    exported=True,
)
def impedance_step(
    model: Model,
    frame: Frame,
    q: Q,
    v: V,
    target_pose: Annotated[Sequence[Values], Input(4, 4, meaning='in the root frame')],
    target_twist: Annotated[Values, Input(6, meaning=AT_TOOL)],
    target_acceleration: Annotated[Values, Input(6, meaning=AT_TOOL)],
    target_wrench: Annotated[
        Values, Input(6, meaning=f'that the environment shall exert, {AT_TOOL} [N], [N m]')
    ],
    posture: Annotated[Values, Input('nq', meaning='for the freedom that the frame leaves, as q')],
    stiffness: Annotated[Rows, Input(6, 6, meaning='in root axes [N/m], [N m/rad]')],
    damping: Annotated[Rows, Input(6, 6, meaning='in root axes [N s/m], [N m s/rad]')],
    joint_gains: Annotated[
        Rows, Input(len(JOINT_GAINS), 'nv', meaning=f'rows: {", ".join(JOINT_GAINS)}')
    ],
    settings: Annotated[Values, Input(len(SETTINGS), meaning=', '.join(SETTINGS))],
    torque: Annotated[Values, Input('nv', meaning='in addition to those of springs and dampers')],
    memory: Annotated[
        Values, Input(memory_size, meaning='next_memory of the step before; NaN before the first')
    ],
    interval: Annotated[Scalar, Input(meaning='since the step before [s]')],
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Compute the torques of one control step.

    Args:
        model, frame: an arm on a fixed base, and its tool frame.
        q, v: state (nq), (nv).
        target_pose: (4, 4) desired pose of the tool in the root frame.
        target_twist, target_acceleration: (6) of the tool, in axes of the root frame.
        target_wrench: (6) desired wrench of the environment on the tool, about the origin of the
            tool frame, in axes of the root frame.
        posture: (nq) desired configuration in the null space of the tool.
        stiffness, damping: (6, 6) in axes of the root frame.
        joint_gains: (15, nv), rows as in ``JOINT_GAINS``.
        settings: values as in ``SETTINGS``.
        torque: (nv) in addition to those of springs and dampers, within the limits.
        memory: values that the previous step has returned.
        interval: time since the previous step [s].

    Returns:
        The torques (nv), the memory for the next step, and the flags as in ``FLAGS``.
    """
    if model.root_joint != 'fixed':
        raise InvalidArgumentError('robot', f'its base is {model.root_joint}', RESTING_BASE)
    matrices = (target_pose, stiffness, damping, joint_gains)
    vectors = (target_twist, target_acceleration, target_wrench, posture, torque, settings)
    matrix_entries = [x for rows in matrices for row in rows for x in row]
    state = JointState.of(model, q, v, memory, interval)
    q, v = state.q, state.v
    bad_input = (
        excess_of([*matrix_entries, *(x for vector in vectors for x in vector)])
        + unless_rotation([row[:3] for row in target_pose[:3]])
        + state.bad_interval
    )
    joints = dict(zip(JOINT_GAINS, joint_gains, strict=True))
    values = dict(zip(SETTINGS, settings, strict=True))

    # The impedance law; braking where its result is not finite.
    J, bias = frame_rows(model, q, v, frame, range(6))
    pose = if_valid(bad_input, [x for row in target_pose[:3] for x in row], IDENTITY_POSE)
    X_0T = transform_of_rows([pose[:4], pose[4:8], pose[8:]])
    X_0F = frame_pose(model, q, frame)
    error = [*(X_0T.translation - X_0F.translation)]
    error += log_matrix(X_0T.rotation @ X_0F.rotation.T)
    rate = [w - dot(row, v) for w, row in zip(target_twist, J, strict=True)]
    M_inverse_Jt = [solve_factorized(state.factors, row) for row in J]
    hold = state.hold
    factor = mobility_factor(J, M_inverse_Jt)
    spring, damper = ([dot(row, x) for row in B] for B, x in ((stiffness, error), (damping, rate)))
    spring = bounded_by_samples(stiffness, factor, hold * hold / SHARE_OF_SPRING, spring)
    damper = bounded_by_samples(damping, factor, hold / SHARE, damper)
    force = added(spring, damper)
    inertia = BoundedInertia.of(
        J,
        M_inverse_Jt,
        at_least(values['length'], MIN_LENGTH),
        at_least(values['largest_inertia'], MIN_INERTIA),
        directions(model, frame),
    )
    posture_gains = joints['posture_stiffness'], joints['posture_damping']
    free = inertia.null_space_mobilities(M_inverse_Jt, state.M_inverse)
    tau_0 = [
        share * (k * e - d * w)
        for share, e, w, k, d in zip(
            bounded_posture(*posture_gains, free, hold),
            *(difference(model, q, posture), v, *posture_gains),
            strict=True,
        )
    ]
    a_0 = [dot(column, tau_0) for column in M_inverse_Jt]
    wanted = [a - b - c for a, b, c in zip(target_acceleration, bias, a_0, strict=True)]
    force = added(less(force, target_wrench), inertia @ wanted)
    limit_torque = _limit_torques(model, state, joints)
    law = [
        dot(column, force) + sum(torques)
        for column, *torques in zip(
            transposed(J), tau_0, limit_torque, torque, state.coriolis, strict=True
        )
    ]
    sent, following, flags = commanded_torques(
        *(model, state, law, limit_torque, joints, bad_input),
        lambda tau: inertia.null_space_torques(J, M_inverse_Jt, tau),
    )
    flags['singular'] = inertia.damped
    return sent, following.values(), [flags[name] for name in FLAGS]


@quantity(
    'one step of given torques within the limits of an impedance controller',
    {
        'tau': 'torques, within their limits and rates whatever the inputs are',
        'next_memory': 'for the next step, as of impedance_step',
        'flags': f'1 or 0 each: {", ".join(FLAGS)}',
    },
    internal=True,
)
def torque_step(
    model: Model,
    q: Q,
    v: V,
    torque: PerVelocity,
    joint_gains: Annotated[Rows, Input(len(JOINT_GAINS), 'nv')],
    memory: Annotated[Values, Input(memory_size)],
    interval: Scalar,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Compute the torques of one step that exerts given torques instead of springs.

    Args:
        torque: (nv) in addition to those of gravity, Coriolis forces and friction.
        model, q, v, joint_gains, memory, interval: as for `impedance_step`; gains of the posture
            are not read.

    Returns:
        As for `impedance_step`.
    """
    state = JointState.of(model, q, v, memory, interval)
    entries = [*torque, *(x for row in joint_gains for x in row)]
    bad_input = excess_of(entries) + state.bad_interval
    joints = dict(zip(JOINT_GAINS, joint_gains, strict=True))
    limit_torque = _limit_torques(model, state, joints)
    law = added(added(torque, limit_torque), state.coriolis)
    sent, following, flags = commanded_torques(model, state, law, limit_torque, joints, bad_input)
    return sent, following.values(), [flags.get(name, 0.0) for name in FLAGS]


def _limit_torques(model: Model, state: JointState, joints: Mapping[str, Values]) -> list[Scalar]:
    """Torques (nv) of the potential within the margins of the joint ranges."""
    lower, upper, margin = (joints[name] for name in ('lower', 'upper', 'margin'))
    springs = bounded_ranges(joints['limit_stiffness'], state.M_inverse, state.hold)
    return limit_torques(model, state.q, lower, upper, margin, springs)
