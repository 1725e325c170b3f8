# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The recursive Newton-Euler algorithm ([SE3] 8, [Lie] table 2)."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Motion, Scalar

from .quantity import TORQUES, A, External, Q, V, quantity
from .recursion import (
    BodyMotions,
    accelerate,
    accelerations_of_bodies,
    carried_by_bodies,
    motion_of_bodies,
    move,
    torques_of_joints,
    upward_acceleration,
)


@quantity(
    'torques of a motion, by recursive Newton-Euler: M a + C v + g - J^T wrenches ([SE3] 8)',
    TORQUES,
    may_overflow=True,
)
def inverse_dynamics(
    model: Model,
    q: Q,
    v: V,
    a: A,
    external: External = None,
) -> list[Scalar]:
    """Torques tau = M(q) a + C(q, v) v + g(q) - J^T f_ext (nv).

    Args:
        model: the robot.
        q, v, a: configuration (nq), velocity (nv), acceleration (nv).
        external: force of the environment on body i, in the frame of that body.
    """
    return torques_of_joints(model, q, joint_wrenches(model, q, v, a, external))


@quantity(
    'wrench that each moving body receives from its parent through its joint',
    'rows of bodies: force [N], torque [N m] about its origin, in the frame of the body',
    may_overflow=True,
    notes="""Its component along the joint is the motor torque, the others are the bearing load
([Lie] table 2, [RD] 3.3.2). With a from ``forward_dynamics`` or ``hybrid_dynamics`` it is the
wrench of the motion that these give ([Lie] tables 3, 4).""",
)
def joint_wrenches(
    model: Model,
    q: Q,
    v: V,
    a: A,
    external: External = None,
    upward: Motion | None = None,
) -> dict[int, Force]:
    """Wrenches F_i on each body from its parent, through its joint ([Lie] table 2, [RD] 3.3.2).

    A wrench is expressed in the frame of the body, about its origin. The wrench of ROOT is that of
    the ground on the root frame. The torque of a joint is the component of the wrench along its
    axes; its bearing transmits the other components.

    Args:
        model, q, v, a, external: as for `inverse_dynamics`.
        upward: acceleration of the root frame; None for -g, which represents gravity.
    """
    external = external or {}
    upward = upward_acceleration(model) if upward is None else upward

    # 8.1, 8.2: outward, motions of the bodies; gravity enters as the acceleration -g of the root.
    # Force on each body from its joints: inertial force minus the force of the environment.
    # Each body at once, so that compiled code has few live values.
    motions, needed = BodyMotions({}, {ROOT: Motion.zero()}), []
    accelerations = {ROOT: upward}
    for i, Y in enumerate(model.inertias):
        move(model, motions, i, q, v)
        accelerate(model, motions, accelerations, i, q, v, a)
        f_B = Y @ accelerations[i] + Y.bias_force(motions.velocities[i])
        needed.append(f_B - external[i] if i in external else f_B)

    # 8.3: inward, the wrench of a joint is the sum over its subtree.
    return carried_by_bodies(model, motions.transforms, needed, Force.zero())


@quantity(
    'spatial accelerations of the moving bodies, without gravity ([Lie] table 2)',
    'rows of bodies: linear part [m/s^2], angular part [rad/s^2], in the frame of the body',
    may_overflow=True,
    notes='The time derivative of the components of the twist in the moving frame.',
)
def body_accelerations(model: Model, q: Q, v: V, a: A) -> dict[int, Motion]:
    """Spatial acceleration V-dot_i of each body in its frame ([Lie] table 2), without gravity."""
    motions = motion_of_bodies(model, q, v)
    return accelerations_of_bodies(model, motions, q, v, a, Motion.zero())


@quantity('torques without acceleration: C v + g', TORQUES, may_overflow=True)
def nonlinear_effects(model: Model, q: Q, v: V) -> list[Scalar]:
    """Nonlinear effects C(q, v) v + g(q) (nv): torques at zero acceleration."""
    return inverse_dynamics(model, q, v, [0.0] * model.nv)


def coriolis_torques(model: Model, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """Coriolis and centrifugal torques C(q, v) v (nv)."""
    wrenches = joint_wrenches(model, q, v, [0.0] * model.nv, upward=Motion.zero())
    return torques_of_joints(model, q, wrenches)
