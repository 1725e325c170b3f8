# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The recursive Newton-Euler algorithm ([SE3] 8, [Lie] table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Motion, Scalar

from .recursion import (
    BodyMotions,
    accelerations_of_bodies,
    along_joints,
    carried_by_bodies,
    motion_of_bodies,
    moving_bodies,
    upward_acceleration,
)


def inverse_dynamics(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
) -> list[Scalar]:
    """tau = M(q) a + C(q, v) v + g(q) - J^T f_ext.

    Args:
        model: the robot.
        q, v, a: configuration, velocity, acceleration.
        external: force of the environment on body i, in the frame of that body.

    Returns:
        tau, of nv scalars.
    """
    return along_joints(model, q, joint_wrenches(model, q, v, a, external))


def joint_wrenches(
    model: Model,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
    upward: Motion | None = None,
) -> dict[int, Force]:
    """F_i: what each body takes from its parent through its joint ([Lie] table 2, [RD] 3.3.2).

    In the frame of the body, about its origin; of ROOT, what the root frame takes from the ground.
    A joint's torque is the part of it along the joint, the rest is borne by its bearing.

    Args:
        model, q, v, a, external: as for `inverse_dynamics`.
        upward: acceleration of the root frame; None is that which stands for gravity.
    """
    external = external or {}
    upward = upward_acceleration(model) if upward is None else upward

    # 8.1, 8.2: outward, motions of the bodies; gravity enters as the acceleration -g of the root.
    # The force that each body needs, less what the environment gives.
    motions, needed = BodyMotions({}, {ROOT: Motion.zero()}), []
    for i, v_B, a_B in moving_bodies(model, motions, q, v, a, upward):
        f_B = model.inertias[i] @ a_B + model.inertias[i].bias_force(v_B)
        needed.append(f_B - external[i] if i in external else f_B)

    # 8.3: inward, a parent carries what its children need.
    return carried_by_bodies(model, motions.transforms, needed, Force.zero())


def body_accelerations(
    model: Model, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> dict[int, Motion]:
    """V-dot_i: spatial acceleration of each body in its frame ([Lie] table 2), without gravity."""
    motions = motion_of_bodies(model, q, v)
    return accelerations_of_bodies(model, motions, q, v, a, Motion.zero())


def nonlinear_effects(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """C(q, v) v + g(q): the torques without acceleration."""
    return inverse_dynamics(model, q, v, [0.0] * model.nv)


def coriolis_torques(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """C(q, v) v: the torques without acceleration and gravity."""
    wrenches = joint_wrenches(model, q, v, [0.0] * model.nv, upward=Motion.zero())
    return along_joints(model, q, wrenches)
