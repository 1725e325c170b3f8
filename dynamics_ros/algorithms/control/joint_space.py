# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torque control in joint space ([RD] 3.8)."""

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
    """k_p (q* - q) + k_d (v* - v) (nv), with the difference of q on the configuration manifold."""
    error = difference(model, q, target_q)
    return [
        k * e + d * (w - x)
        for k, e, d, w, x in zip(stiffness, error, damping, target_v, v, strict=True)
    ]


def joint_impedance(
    model: Model, q: Values, *feedback: Values
) -> tuple[list[Scalar], list[Scalar]]:
    """Torques of joint impedance control, with and without gravity ([RD] eq. 3.73, 3.75).

    Args:
        model, q: the robot and its configuration (nq).
        feedback: arguments of `springs_and_dampers` after q.

    Returns:
        Torques (nv) with gravity compensation; torques (nv) of springs and dampers alone.
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
    """Torques (nv) that make each joint behave as a unit mass on a spring ([RD] eq. 3.76 to 3.78).

    Args:
        model, q, v: the robot and its state.
        target_q, target_v, target_a: desired motion (nq), (nv), (nv).
        stiffness, damping: (nv) [1/s^2], (nv) [1/s].
    """
    springs = springs_and_dampers(model, q, v, target_q, target_v, stiffness, damping)
    a = [x + y for x, y in zip(target_a, springs, strict=True)]
    return inverse_dynamics(model, q, v, a)
