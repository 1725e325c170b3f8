# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Regressor Y of the inertial parameters: tau = Y(q, v, a) pi ([Atkeson1986])."""

from __future__ import annotations

from typing import Annotated

from dynamics_ros.model import ROOT, Model
from dynamics_ros.spatial import Force, Matrix3, Motion, Scalar, Vector3

from .quantity import A, Input, Q, V, quantity
from .recursion import accelerations_of_bodies, motion_of_bodies, upward_acceleration

PARAMETERS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
"""Parameters of a body: mass, first moment, inertia about the origin of the body's frame."""


def parameter_count(model: Model) -> int:
    """Number of columns of the regressor."""
    return len(PARAMETERS) * len(model.joints)


@quantity(
    'Y with tau = Y pi ([Atkeson1986])',
    'rows as tau; columns for each moving body m [kg], m c [kg m], '
    'Ixx Ixy Iyy Ixz Iyz Izz [kg m^2] about the origin of its frame',
    may_overflow=True,
    notes='``inertial_parameters`` gives pi.',
)
def regressor(
    model: Model, q: Q, v: V, a: A
) -> Annotated[list[list[Scalar]], Input('nv', parameter_count)]:
    """Regressor Y (nv, 10 bodies), columns in the order of the bodies and of ``PARAMETERS``."""
    count = len(PARAMETERS)
    Y: list[list[Scalar]] = [[0.0] * (count * len(model.joints)) for _ in range(model.nv)]
    motions = motion_of_bodies(model, q, v)
    accelerations = accelerations_of_bodies(model, motions, q, v, a, upward_acceleration(model))
    columns: dict[int, list[tuple[int, Motion]]] = {ROOT: []}
    for i, joint in enumerate(model.joints):
        # Columns of the body's Jacobian in its frame: those of the parent, transformed, and its
        # own.
        X_PB = motions.transforms[i]
        moved = [(k, X_PB.inverse_act(S)) for k, S in columns[joint.parent]]
        columns[i] = [*moved, *joint.subspace(q)]
        forces = body_regressor(motions.velocities[i], accelerations[i])
        for k, S in columns[i]:
            for column, force in enumerate(forces, start=count * i):
                Y[k][column] = Y[k][column] + S.dot(force)
    return Y


def body_regressor(velocity: Motion, acceleration: Motion) -> list[Force]:
    """Forces on a body per unit of each of its ten parameters, in the frame of the body.

    With h = m c and I about the origin, f = m d + (w_dot x + w x w x) h and
    tau = h x d + I w_dot + w x I w, where d = v_dot + w x v is the acceleration of the origin.
    """
    w, w_dot = velocity.angular, acceleration.angular
    d = acceleration.linear + w.cross(velocity.linear)
    rotating = Matrix3.skew(w_dot) + Matrix3.skew(w) @ Matrix3.skew(w)
    forces = [Force(d, Vector3.zero())]
    units = (Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Vector3(0.0, 0.0, 1.0))
    forces += [Force(rotating @ unit, unit.cross(d)) for unit in units]
    for row, column in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)):
        unit_inertia = Matrix3.outer(units[row], units[column])
        if row != column:
            unit_inertia = unit_inertia + unit_inertia.T
        torque = unit_inertia @ w_dot + w.cross(unit_inertia @ w)
        forces.append(Force(Vector3.zero(), torque))
    return forces
