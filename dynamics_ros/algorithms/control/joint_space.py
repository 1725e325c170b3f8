# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torque control in joint space ([RD] 3.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.configuration import difference
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import inverse_dynamics
from dynamics_ros.algorithms.quantity import TORQUES, Input, Q, V, quantity
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

Values = Sequence[Scalar]

TargetQ = Annotated[Values, Input('nq', meaning='configuration that is wanted, as q')]
TargetV = Annotated[Values, Input('nv', meaning='velocity that is wanted')]


def springs_and_dampers(
    model: Model,
    q: Values,
    v: Values,
    target_q: Values,
    target_v: Values,
    stiffness: Values,
    damping: Values,
) -> list[Scalar]:
    """k_p (q* - q) + k_d (v* - v) (nv), with the difference of q on the configuration manifold."""
    error = difference(model, q, target_q)
    return [
        k * e + d * (w - x)
        for k, e, d, w, x in zip(stiffness, error, damping, target_v, v, strict=True)
    ]


@quantity(
    'torques of springs and dampers at the joints',
    {'tau': 'with gravity', 'springs': 'without'},
    internal=True,
    exported=True,
)
def joint_impedance(
    model: Model,
    q: Q,
    v: V,
    target_q: TargetQ,
    target_v: TargetV,
    stiffness: Annotated[Values, Input('nv', meaning='[N m/rad or N/m]')],
    damping: Annotated[Values, Input('nv', meaning='[N m s/rad or N s/m]')],
) -> tuple[list[Scalar], list[Scalar]]:
    """Torques of joint impedance control, with and without gravity ([RD] eq. 3.73, 3.75).

    Args:
        model, q, v: the robot and its state.
        target_q, target_v, stiffness, damping: as for `springs_and_dampers`.

    Returns:
        Torques (nv) with gravity compensation; torques (nv) of springs and dampers alone.
    """
    springs = springs_and_dampers(model, q, v, target_q, target_v, stiffness, damping)
    carried = gravity_torques(model, q)
    return [s + g for s, g in zip(springs, carried, strict=True)], springs


@quantity(
    'torques that make every joint a unit mass on a spring',
    {'result': TORQUES},
    internal=True,
    exported=True,
)
def inverse_dynamics_control(
    model: Model,
    q: Q,
    v: V,
    target_q: TargetQ,
    target_v: TargetV,
    target_a: Annotated[Values, Input('nv', meaning='acceleration that is wanted')],
    stiffness: Annotated[Values, Input('nv', meaning='[1/s^2]')],
    damping: Annotated[Values, Input('nv', meaning='[1/s]')],
) -> list[Scalar]:
    """Torques (nv) that make each joint behave as a unit mass on a spring ([RD] eq. 3.76 to 3.78).

    Args:
        model, q, v: the robot and its state.
        target_q, target_v, target_a: desired motion (nq), (nv), (nv).
        stiffness, damping: (nv) [1/s^2], (nv) [1/s].
    """
    springs = springs_and_dampers(model, q, v, target_q, target_v, stiffness, damping)
    a = [x + y for x, y in zip(target_a, springs, strict=True)]
    return inverse_dynamics(model, q, v, a)
