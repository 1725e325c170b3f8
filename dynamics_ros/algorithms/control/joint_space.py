# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torque control joint by joint ([RD] 3.8)."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.configuration import difference
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import inverse_dynamics
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

Values = Sequence[Scalar]


def springs_and_dampers(
    model: Model,
    q: Values,
    v: Values,
    target_q: Values,
    target_v: Values,
    stiffness: Values,
    damping: Values,
) -> list[Scalar]:
    """k_p (q* - q) + k_d (v* - v) of each velocity, the difference on the manifold."""
    error = difference(model, q, target_q)
    return [
        k * e + d * (w - x)
        for k, e, d, w, x in zip(stiffness, error, damping, target_v, v, strict=True)
    ]


def joint_impedance(
    model: Model, q: Values, *feedback: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """Torques of springs and dampers, with gravity and without ([RD] eq. 3.73, 3.75).

    Args:
        model, q: the robot and its configuration.
        feedback: what `springs_and_dampers` takes after q.
    """
    springs = springs_and_dampers(model, q, *feedback)
    carried = gravity_torques(model, q)
    return [s + g for s, g in zip(springs, carried, strict=True)], springs


def inverse_dynamics_control(
    model: Model,
    q: Values,
    v: Values,
    target_q: Values,
    target_v: Values,
    target_a: Values,
    stiffness: Values,
    damping: Values,
) -> list[Scalar]:
    """Torques that make every joint a unit mass on a spring ([RD] eq. 3.76 to 3.78).

    Args:
        model, q, v: the robot and its state.
        target_q, target_v, target_a: motion wanted.
        stiffness, damping: [1/s^2], [1/s] of each velocity.
    """
    springs = springs_and_dampers(model, q, v, target_q, target_v, stiffness, damping)
    a = [x + y for x, y in zip(target_a, springs, strict=True)]
    return inverse_dynamics(model, q, v, a)
